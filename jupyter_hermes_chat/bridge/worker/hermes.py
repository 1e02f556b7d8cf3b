"""What we use of Hermes: found by name in the places where it has lived, asked instead of assumed (reference §9).

:func:`load` is the only thing that imports Hermes. A required name that is nowhere is :class:`Incompatible`, and its message
says which; an optional one is ``None`` and costs a capability. The interface offers what :func:`capabilities` names.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

REQUIRED: Mapping[str, tuple[str, ...]] = {
    "AIAgent": ("run_agent:AIAgent",),
    "SessionDB": ("hermes_state:SessionDB",),
    "load_config": ("hermes_cli.config:load_config",),
    "any_provider_configured": ("hermes_cli.main:_has_any_provider_configured",),
    "resolve_runtime_provider": ("hermes_cli.runtime_provider:resolve_runtime_provider",),
    "platform_tools": ("hermes_cli.tools_config:_get_platform_tools",),
    "set_session_vars": ("gateway.session_context:set_session_vars",),
    "register_task_env_overrides": ("tools.terminal_tool:register_task_env_overrides",),
    "TodoStore": ("tools.todo_tool:TodoStore",),
    "reset_file_dedup": ("tools.file_tools:reset_file_dedup", "tools.file_tools_read_tracking:reset_file_dedup"),
    # Approvals fail open unless all of these are bound (design §6), so none of them is optional.
    "approval": ("tools.approval:",),
    "set_current_session_key": ("tools.approval:set_current_session_key", "tools.approval_context:set_current_session_key"),
    "register_gateway_notify": ("tools.approval:register_gateway_notify",),
    "unregister_gateway_notify": ("tools.approval:unregister_gateway_notify",),
    "approval_bypassed": ("tools.approval:is_approval_bypass_active",),
    "approval_queues": ("tools.approval:_gateway_queues",),
    "approval_lock": ("tools.approval:_lock",),
}
OPTIONAL: Mapping[str, tuple[str, ...]] = {
    "fallback_chain": ("hermes_cli.fallback_config:get_fallback_chain",),
    "reasoning_config": ("hermes_constants:resolve_reasoning_config",),
    "tool_preview": ("agent.display:build_tool_preview",),
    "tool_failed": ("agent.display:_detect_tool_failure",),
    "sync_skills": ("tools.skills_sync:sync_skills",),
    "skills_manifest": ("tools.skills_sync:MANIFEST_FILE",),
    "start_mcp_discovery": ("hermes_cli.mcp_startup:start_background_mcp_discovery",),
    "wait_for_mcp_discovery": ("hermes_cli.mcp_startup:wait_for_mcp_discovery",),
    "shutdown_environments": ("tools.terminal_tool:cleanup_all_environments",),
    "version": ("hermes_cli:__version__",),
}
PARAMETERS = (
    "model", "base_url", "api_key", "provider", "session_id", "session_db", "platform", "quiet_mode", "enabled_toolsets",
    "stream_delta_callback", "reasoning_callback", "tool_start_callback", "tool_complete_callback", "clarify_callback",
)  # fmt: skip
"""Constructor parameters of ``AIAgent`` without which there is no turn."""

METHODS = ("run_conversation", "interrupt", "clear_interrupt", "reset_session_state")

FIRST_TURN = (
    "agent.conversation_loop",
    "agent.chat_completion_helpers",
    "agent.turn_finalizer",
    "openai.resources",
    "openai.lib.streaming.chat",
)
"""Modules that Hermes imports in the middle of its first turn: 0.5 s that a spare has time for. Any may be missing."""


class Incompatible(Exception):
    """This Hermes lacks what a turn needs; the text is a sentence for a person."""


def load() -> SimpleNamespace:
    """Every name of :data:`REQUIRED` and :data:`OPTIONAL`, and ``parameters``: what ``AIAgent`` can be built with."""
    names: dict[str, Any] = {name: _find(places) for name, places in {**REQUIRED, **OPTIONAL}.items()}
    missing = [" or ".join(REQUIRED[name]) for name in REQUIRED if names[name] is None]
    if not missing:
        parameters = inspect.signature(names["AIAgent"].__init__).parameters
        names["parameters"] = frozenset(parameters)
        missing += [f"AIAgent({p}=)" for p in PARAMETERS if p not in parameters]
        missing += [f"AIAgent.{m}" for m in METHODS if not callable(getattr(names["AIAgent"], m, None))]
    version = names["version"] or _installed_version()
    if missing:
        raise Incompatible(
            f"Hermes Agent {version or 'of an unknown version'} does not offer what this extension needs: {', '.join(missing)}. "
            "Install a version that works with `jupyter hermes-chat setup`."
        )
    names["version"] = version or "unknown"
    return SimpleNamespace(**names)


def prepare() -> None:
    for name in FIRST_TURN:
        _find((name + ":",))


def capabilities(hermes: SimpleNamespace) -> list[str]:
    found = {
        "approvals": True,
        "clarify": True,
        "interrupt": True,
        "steer": callable(getattr(hermes.AIAgent, "steer", None)),
        "compaction_events": "event_callback" in hermes.parameters,
        "subagents": "tool_progress_callback" in hermes.parameters,
    }
    return [name for name, there in found.items() if there]


def _find(places: tuple[str, ...]) -> Any:
    """The first of the *places* (``module:attribute``, or ``module:``) that exists, else ``None``.

    Only a module that is not there is passed over: one that fails while it is imported says why by itself.
    """
    for place in places:
        module_name, _, attribute = place.partition(":")
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name is not None and (module_name == error.name or module_name.startswith(error.name + ".")):
                continue
            raise
        if not attribute:
            return module
        if hasattr(module, attribute):
            return getattr(module, attribute)
    return None


def _installed_version() -> str | None:
    try:
        return importlib.metadata.version("hermes-agent")
    except importlib.metadata.PackageNotFoundError:
        return None
