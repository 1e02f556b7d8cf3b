"""One ``AIAgent``, built as the person's Hermes is configured, with our callbacks.

Keys are resolved here, inside the worker, from Hermes' home: the Bridge only names ``{provider, model}`` (design §2). A change
of model builds a new agent (0.12 s): Hermes' own ``switch_model`` forgets ``model.context_length``.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from .context import canonical, plain

PLATFORM = "jupyter"
CLI = "cli"
"""The platform whose tools a session gets: what the person switched on with ``hermes tools`` (R2)."""


class NotConfigured(Exception):
    """Hermes has no model."""


@dataclass(frozen=True)
class Choice:
    """What an agent is built from; a difference means another agent."""

    provider: str | None
    model: str | None
    toolsets: tuple[str, ...] | None

    @classmethod
    def of(cls, request: Mapping[str, Any]) -> Choice:
        asked = request.get("modelConfig") or {}
        toolsets = request.get("toolsets")
        return cls(asked.get("provider") or None, asked.get("model") or None, None if toolsets is None else tuple(toolsets))


@dataclass(frozen=True)
class Runtime:
    """A resolved choice: what is told (*provider*, *model*) and what ``AIAgent`` is built with, keys included."""

    provider: str
    model: str
    keywords: Mapping[str, Any]


def resolve(hermes: SimpleNamespace, choice: Choice) -> Runtime:
    """Raises :class:`NotConfigured`, or what Hermes raises where the provider has no key."""
    if not hermes.any_provider_configured():
        # Without this question `resolve_runtime_provider` installs packages and asks the cloud's metadata address.
        raise NotConfigured
    config = hermes.load_config()
    default = config.get("model")
    default = default if isinstance(default, dict) else {"default": default or ""}
    model = choice.model or default.get("default") or default.get("model") or ""
    provider = choice.provider or default.get("provider") or None
    found = hermes.resolve_runtime_provider(requested=provider, target_model=model or None)
    keys = ("provider", "base_url", "api_key", "api_mode", "credential_pool", "command", "args", "request_overrides")
    keywords = {"model": model or found.get("model") or "", **{k: found[k] for k in keys if found.get(k)}}
    if hermes.reasoning_config is not None:
        keywords["reasoning_config"] = hermes.reasoning_config(config, model)
    if hermes.fallback_chain is not None:
        keywords["fallback_model"] = hermes.fallback_chain(config) or None
    return Runtime(str(provider or found.get("provider") or ""), str(keywords["model"]), keywords)


def toolsets(hermes: SimpleNamespace, choice: Choice) -> list[str]:
    """The person's own selection for Hermes' command line, which is its full default set where they never made one."""
    if choice.toolsets is not None:
        return list(choice.toolsets)
    if hermes.start_mcp_discovery is not None and hermes.wait_for_mcp_discovery is not None:
        import logging

        hermes.start_mcp_discovery(logger=logging.getLogger(__name__), thread_name="mcp-discovery")
        hermes.wait_for_mcp_discovery()
    return sorted(hermes.platform_tools(hermes.load_config(), CLI))


def build(
    hermes: SimpleNamespace, runtime: Runtime, chosen_toolsets: Sequence[str], callbacks: Mapping[str, Any], **identity: Any
) -> Any:
    """An ``AIAgent`` that prints nothing on our pipe, waits for nothing between tools and reviews nothing behind our back."""
    wanted = {
        **runtime.keywords,
        **callbacks,
        **identity,
        "platform": PLATFORM,
        "quiet_mode": True,
        "tool_delay": 0,
        "enabled_toolsets": list(chosen_toolsets),
        "skip_background_review": True,
    }
    agent = hermes.AIAgent(**{k: v for k, v in wanted.items() if k in hermes.parameters and v is not None})
    agent._print_fn = _log  # retries and interrupts are printed even when quiet
    agent._memory_nudge_interval = agent._skill_nudge_interval = 0  # reviews spend tokens: off (design §6)
    return agent


def _log(*words: Any, **_: Any) -> None:
    sys.stderr.write(" ".join(map(str, words)) + "\n")


def observe_compaction(engine: Any) -> dict[str, Any]:
    """What the context engine did last: ``{"summary", "count"}``, filled in by each call of its ``compress``.

    The event that Hermes sends carries neither, and both are gone from the context when the turn ends.
    """
    seen: dict[str, Any] = {"summary": "", "count": 0}
    compress = engine.compress

    def observed(messages: list[dict[str, Any]], *args: Any, **kwargs: Any) -> Any:
        before = Counter(map(canonical, plain(messages)))
        result = compress(messages, *args, **kwargs)
        gone = before - Counter(map(canonical, plain(result)))
        marked = next((m.get("content") for m in result if m.get("_compressed_summary")), None)
        seen["summary"] = str(getattr(engine, "_previous_summary", None) or marked or "")
        seen["count"] = gone.total()
        return result

    engine.compress = observed
    return seen
