"""The contract of a runtime: whoever answers, the service sees numbered events and a turn's model messages (R49).

Life of a run: :meth:`Runtime.generate` (or :meth:`Runtime.resume` after a break) yields :class:`EventFrame` in order of
``seq``, at most one :class:`TurnFrame` before the terminal event, and ends behind the terminal event. It may raise
:class:`~..protocol.errors.BridgeLost` at any time: the run itself goes on as long as its backend lives, and ``resume`` with
the last number takes it up again without a hole or a double.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol, TypeAlias

from msgspec import Struct

from ..protocol.bridge import Inventory, RunRequest
from ..protocol.events import Choice, KnownEvent, Unknown
from ..protocol.records import Turn


class EventFrame(Struct, frozen=True):
    event: KnownEvent | Unknown


class TurnFrame(Struct, frozen=True):
    turn: Turn


class GapFrame(Struct, frozen=True):
    """Numbers below *first* were confirmed and dropped; they are in the journal of whoever confirmed them."""

    first: int


Frame: TypeAlias = EventFrame | TurnFrame | GapFrame


class Runtime(Protocol):
    """Every call raises :class:`~..protocol.errors.BridgeUnavailable` where the backend cannot be reached or started."""

    def generate(self, request: RunRequest) -> AsyncGenerator[Frame, None]:
        """Starts the run and yields its frames. ``SessionBusy`` where the backend still runs one for this session."""
        ...

    def resume(self, run_id: str, after: int) -> AsyncGenerator[Frame, None]:
        """Frames behind *after*. ``RunNotFound`` where the backend does not know the run (any more)."""
        ...

    async def confirm(self, run_id: str, seq: int) -> None:
        """Everything up to *seq* is on disk; the backend may drop it."""
        ...

    async def stop(self, run_id: str, *, force: bool = False) -> bool:
        """Waits at most 3 s for the run to have ended; true if it has (R25). ``RunNotFound`` where it is unknown."""
        ...

    async def answer(self, run_id: str, clarify_id: str, answer: str, by: str) -> None:
        """``PauseNotFound``, ``AlreadyAnswered`` (R37)."""
        ...

    async def approve(self, run_id: str, approval_id: str, choice: Choice, by: str) -> None: ...

    async def inventory(self) -> Inventory: ...

    async def alive(self) -> bool:
        """False only when the backend is certainly gone (its lock is free), so that an unfinished run may be ended for it."""
        ...

    async def health(self) -> dict[str, object]: ...

    async def close(self) -> None:
        """Closes connections. Never ends a run (R24)."""
        ...
