"""Which worker serves which chat session: one each, and one warm spare (design §2, R47).

A worker holds nothing that cannot be lost, since every run brings its whole context. So an idle one may go at any time, least
recently used first; one that runs is never taken. The pool knows sessions and workers, not runs: whoever takes a worker gives
it back, or kills it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

from msgspec import Struct

from ..protocol.errors import HermesChatError
from .process import WorkerProcess

MAX_IDLE = 8
"""Idle workers that are kept (R47); one costs about 100 MB."""

REFILL_SECONDS = 2.0
"""A new spare waits so long, since it would compete with the first turn of the session that took the last one."""

log = logging.getLogger(__name__)


class Setting(Struct, frozen=True):
    """What a worker is started with and cannot change later; two equal ones may share a spare.

    ``hermes_home`` ``None`` leaves it to Hermes. ``tour_url`` is the scripted endpoint, ``None`` for a real model.
    """

    interpreter: Path
    hermes_home: str | None
    tour_url: str | None

    @property
    def tour(self) -> bool:
        return self.tour_url is not None


class _Held(Struct):
    worker: WorkerProcess
    setting: Setting
    busy: bool = False


class Pool:
    """*start* makes a worker of a setting, a warm one where it is to wait as a spare. All methods belong to one event loop."""

    def __init__(self, start: Callable[[Setting, bool], Awaitable[WorkerProcess]], max_idle: int = MAX_IDLE) -> None:
        self._start = start
        self._max_idle = max_idle
        self._sessions: dict[str, _Held] = {}
        self._spare: _Held | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._refill: asyncio.TimerHandle | None = None
        self._closed = False

    @property
    def workers(self) -> int:
        self._prune()
        return len(self._sessions)

    @property
    def spares(self) -> int:
        """Those that are ready."""
        self._prune()
        return int(self._spare is not None and self._spare.worker.ready)

    async def take(self, session_id: str, setting: Setting) -> WorkerProcess:
        """The session's worker, the spare, or a new one. ``OSError`` or :class:`HermesChatError` where it cannot be started."""
        self._prune()
        held = self._sessions.pop(session_id, None)
        if held is not None and held.setting != setting:
            self._background(held.worker.quit())
            held = None
        if held is None and self._spare is not None and self._spare.setting == setting:
            held, self._spare = self._spare, None
        if held is None:
            held = _Held(await self._start(setting, False), setting)
        held.busy = True
        self._sessions[session_id] = held
        self.want_spare(setting, REFILL_SECONDS)
        self._evict()
        return held.worker

    def give_back(self, session_id: str) -> None:
        """The session's run has ended; its worker may now be taken for others' sake."""
        held = self._sessions.pop(session_id, None)
        if held is not None:
            held.busy = False
            self._sessions[session_id] = held  # to the end: the order is that of last use
            self._evict()

    def forget(self, session_id: str) -> None:
        """Ends the session's worker; the next run starts another."""
        if (held := self._sessions.pop(session_id, None)) is not None:
            self._background(held.worker.quit())

    def want_spare(self, setting: Setting, delay: float = 0.0) -> None:
        """Has a spare of *setting* ready in some seconds, and no other."""
        if self._refill is not None:
            self._refill.cancel()
        self._refill = asyncio.get_running_loop().call_later(delay, lambda: self._background(self._fill(setting)))

    async def close(self) -> None:
        """Ends every worker: idle ones are asked, running ones are killed with what they started."""
        self._closed = True
        if self._refill is not None:
            self._refill.cancel()
        held = [*self._sessions.values(), *([self._spare] if self._spare else [])]
        self._sessions.clear()
        self._spare = None
        await asyncio.gather(*(h.worker.kill() if h.busy else h.worker.quit() for h in held), *self._tasks)

    async def _fill(self, setting: Setting) -> None:
        self._prune()
        if self._closed or (self._spare is not None and self._spare.setting == setting):
            return
        if self._spare is not None:
            self._background(self._spare.worker.quit())
            self._spare = None
        try:
            worker = await self._start(setting, True)
        except (OSError, HermesChatError) as error:
            log.warning("no spare worker: %s", error)  # a run will meet the same and say so
            return
        if self._closed:
            await worker.quit()
        else:
            self._spare = _Held(worker, setting)

    def _evict(self) -> None:
        idle = [session_id for session_id, held in self._sessions.items() if not held.busy]
        for session_id in idle[: max(0, len(idle) - self._max_idle)]:
            self.forget(session_id)

    def _prune(self) -> None:
        for session_id in [s for s, held in self._sessions.items() if held.worker.ended.is_set()]:
            del self._sessions[session_id]
        if self._spare is not None and self._spare.worker.ended.is_set():
            self._spare = None

    def _background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
