"""Wire between the Jupyter server and the Bridge (R45, R46, design §2, §6).

``POST /hermes/run`` and ``GET /hermes/runs/{id}/events?after=N`` answer ``text/event-stream``: numbered run events as
``id: <seq>`` frames; before the terminal event one unnumbered ``event: turn`` frame with a :class:`~.records.Turn` (what the
turn adds to the model context), sent again with the terminal event until the run is confirmed; ``event: gap`` with
``{"first": n}`` where older numbers were confirmed and dropped.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from .records import ErrorBody, ModelItem, SkillItem

PROTOCOL = 1
"""Raised when the wire changes; a server that meets an older Bridge lets it drain and starts a new one."""

BRIDGE_FILE = "bridge.json"
BRIDGE_LOCK = "bridge.lock"
"""Names in the runtime folder: who serves there (:class:`BridgeFile`), and the lock that it holds as long as it lives. A Bridge
that drains for a newer one moves both into ``draining-<pid>/`` and goes on holding the lock."""

WORKER_LINE_LIMIT = 64 * 1024 * 1024
"""Bytes of one JSON line on a worker's pipe; whole histories and results travel in one."""


class Wire(Struct, rename="camel", kw_only=True, frozen=True):
    """Base of the Bridge's bodies."""


class BridgeFile(Wire, kw_only=True, frozen=True):
    """``bridge.json`` (mode 0600) in the runtime folder."""

    url: str
    token: str
    pid: int
    protocol: int
    version: str


class ModelConfig(Wire, kw_only=True, frozen=True):
    """Which model; empty means Hermes' default. Keys never travel: they stay in Hermes' home."""

    provider: str | None = None
    model: str | None = None


class RunRequest(Wire, kw_only=True, frozen=True):
    """``POST /hermes/run``. ``session_id`` is ours, ``hermes_session`` is Hermes' own (R3); ``history`` is the exact context (R14).

    ``user_message`` is what the person typed; ``context`` is the wrapped notebook context that the model sees in front of it.
    """

    run_id: str
    session_id: str
    hermes_session: str
    user_message: str
    user_message_id: str | None = None
    system_prompt: str | None = None
    history: list[dict[str, Any]] = []
    max_iterations: int = 100
    working_dir: str | None = None
    hermes_home: str | None = None
    model_config: ModelConfig = ModelConfig()
    skill: str | None = None
    context: str = ""
    actions: list[dict[str, Any]] = []
    toolsets: list[str] | None = None


class Ack(Wire, kw_only=True, frozen=True):
    seq: int


class Interrupt(Wire, kw_only=True, frozen=True):
    force: bool = False


class Clarify(Wire, kw_only=True, frozen=True):
    clarify_id: str
    answer: str
    by: str | None = None


class Approve(Wire, kw_only=True, frozen=True):
    approval_id: str
    choice: Literal["once", "session", "always", "deny"]
    by: str | None = None


class Steer(Wire, kw_only=True, frozen=True):
    text: str


class BridgeRun(Wire, kw_only=True, frozen=True):
    run_id: str
    session_id: str
    last_seq: int
    ended: bool
    waiting: bool


class BridgeRuns(Wire, kw_only=True, frozen=True):
    runs: list[BridgeRun]


class Inventory(Wire, kw_only=True, frozen=True):
    """``GET /hermes/models`` and ``/hermes/skills`` are the two halves of this; the probe fills it (design §2)."""

    configured: bool
    tour: bool
    default: ModelConfig
    models: list[ModelItem]
    skills: list[SkillItem]
    hermes: str | None
    problem: ErrorBody | None = None


class BridgeHealth(Wire, kw_only=True, frozen=True):
    version: str
    protocol: int
    pid: int
    interpreter: str | None
    hermes: str | None
    tour: bool | None
    workers: int
    spares: int
    runs: int
    problem: ErrorBody | None = None
