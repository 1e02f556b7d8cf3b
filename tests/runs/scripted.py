"""A runtime in memory whose every move a test decides: for races, broken connections and figures, which no real agent makes on
demand. Routes and answers are tested with the real Bridge."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from logging import getLogger
from pathlib import Path

from msgspec.structs import replace

from jupyter_hermes_chat.protocol.bridge import Inventory, ModelConfig, RunRequest
from jupyter_hermes_chat.protocol.errors import (
    AlreadyAnswered,
    BridgeLost,
    BridgeUnavailable,
    HermesChatError,
    PauseNotFound,
    RunNotFound,
    SessionBusy,
)
from jupyter_hermes_chat.protocol.events import (
    Answer,
    ApprovalRequest,
    ApprovalResolved,
    Choice,
    ClarifyRequest,
    ClarifyResolved,
    Event,
    RunComplete,
    RunStarted,
    RunStopped,
    is_terminal,
)
from jupyter_hermes_chat.protocol.records import Turn
from jupyter_hermes_chat.runs.service import Service
from jupyter_hermes_chat.runtimes.base import EventFrame, Frame, GapFrame, TurnFrame
from jupyter_hermes_chat.store.tinydb_store import TinyDBStore

OWNER = "ann"


class ScriptedRun:
    """What the backend has of one run. A test adds events; ``say`` and ``end`` are the usual ones."""

    def __init__(self, request: RunRequest) -> None:
        self.request = request
        self.events: list[Event] = []
        self.turn: Turn | None = None
        self.first = 1
        self.confirmed = 0
        self.stops: list[bool] = []
        self.text = ""
        self.changed = asyncio.Event()

    def add(self, event: Event) -> None:
        """The envelope is the backend's: number, run and time are filled in here."""
        seq = self.first + len(self.events)
        self.events.append(replace(event, seq=seq, run_id=self.request.run_id, t=seq * 10))
        self.wake()

    def say(self, *texts: str) -> None:
        for text in texts:
            self.add(Answer(seq=0, run_id="", t=0, segment=0, offset=len(self.text), text=text))
            self.text += text

    def end(self, event: Event | None = None) -> None:
        rows = [{"role": "user", "content": self.request.user_message}, {"role": "assistant", "content": self.text}]
        self.turn = Turn(mode="add", messages=rows)
        self.add(event or RunComplete(seq=0, run_id="", t=0, text=self.text, duration_ms=5))

    def forget(self, seq: int) -> None:
        del self.events[: seq - self.first + 1]
        self.first = seq + 1

    @property
    def ended(self) -> bool:
        return bool(self.events) and is_terminal(self.events[-1])

    def wake(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


class ScriptedRuntime:
    def __init__(self) -> None:
        self.runs: dict[str, ScriptedRun] = {}
        self.up = True
        self.gone = False
        self.refuse: HermesChatError | None = None
        self.cut = 0
        self.auto: Callable[[ScriptedRun], None] = lambda run: run.add(
            RunStarted(seq=0, run_id="", t=0, provider="scripted", model="one")
        )

    def break_connections(self) -> None:
        """Every open stream ends with an error; the runs go on."""
        self.cut += 1
        for run in self.runs.values():
            run.wake()

    def die(self) -> None:
        """The backend is gone for certain, and its runs with it."""
        self.gone, self.up = True, False
        self.runs, old = {}, self.runs
        self.cut += 1
        for run in old.values():
            run.wake()

    async def generate(self, request: RunRequest) -> AsyncGenerator[Frame, None]:
        if self.refuse is not None:
            raise self.refuse
        if any(r.request.session_id == request.session_id and not r.ended for r in self.runs.values()):
            raise SessionBusy("busy")
        run = self.runs[request.run_id] = ScriptedRun(request)
        self.auto(run)
        async for frame in self._stream(run, 0):
            yield frame

    async def resume(self, run_id: str, after: int) -> AsyncGenerator[Frame, None]:
        if not self.up:
            raise BridgeUnavailable("down")
        if run_id not in self.runs:
            raise RunNotFound("unknown")
        async for frame in self._stream(self.runs[run_id], after):
            yield frame

    async def _stream(self, run: ScriptedRun, after: int) -> AsyncGenerator[Frame, None]:
        cut = self.cut
        if after + 1 < run.first:
            yield GapFrame(run.first)
            after = run.first - 1
        while True:
            if self.cut != cut:
                raise BridgeLost("cut")
            while after + 1 - run.first < len(run.events):
                event = run.events[after + 1 - run.first]
                if is_terminal(event) and run.turn is not None:
                    yield TurnFrame(run.turn)
                yield EventFrame(event)  # type: ignore[arg-type]
                after = event.seq
                if is_terminal(event):
                    return
            await run.changed.wait()

    async def confirm(self, run_id: str, seq: int) -> None:
        self._run(run_id).confirmed = seq

    async def stop(self, run_id: str, *, force: bool = False) -> bool:
        run = self._run(run_id)
        run.stops.append(force)
        if not run.ended:
            run.end(RunStopped(seq=0, run_id="", t=0, text=run.text, cleaned=not force))
        return True

    async def answer(self, run_id: str, clarify_id: str, answer: str, by: str) -> None:
        run = self._run(run_id)
        self._check(run, clarify_id, ClarifyRequest, ClarifyResolved, "clarify_id")
        run.add(ClarifyResolved(seq=0, run_id="", t=0, clarify_id=clarify_id, status="answered", answer=answer, by=by))

    async def approve(self, run_id: str, approval_id: str, choice: Choice, by: str) -> None:
        run = self._run(run_id)
        self._check(run, approval_id, ApprovalRequest, ApprovalResolved, "approval_id")
        run.add(ApprovalResolved(seq=0, run_id="", t=0, approval_id=approval_id, choice=choice, by=by))

    async def inventory(self) -> Inventory:
        return Inventory(configured=False, tour=True, default=ModelConfig(), models=[], skills=[], hermes=None)

    async def alive(self) -> bool:
        return not self.gone

    async def health(self) -> dict[str, object]:
        return {"hermes": "scripted", "tour": True}

    async def close(self) -> None:
        self.break_connections()

    def _run(self, run_id: str) -> ScriptedRun:
        if not self.up:
            raise BridgeUnavailable("down")
        if run_id not in self.runs:
            raise RunNotFound("unknown")
        return self.runs[run_id]

    @staticmethod
    def _check(run: ScriptedRun, pause_id: str, asked: type[Event], resolved: type[Event], name: str) -> None:
        if not any(isinstance(e, asked) and getattr(e, name) == pause_id for e in run.events):
            raise PauseNotFound("unknown")
        if any(isinstance(e, resolved) and getattr(e, name) == pause_id for e in run.events):
            raise AlreadyAnswered("twice")


def make_service(folder: Path, runtime: ScriptedRuntime, **limits: int) -> Service:
    return Service(TinyDBStore(folder), runtime, getLogger("test"), **limits)  # type: ignore[arg-type]


async def until(condition: Callable[[], bool] | Callable[[], Awaitable[bool]], seconds: float = 5) -> None:
    """Waits for *condition*; fails after *seconds*."""
    async with asyncio.timeout(seconds):
        while True:
            found = condition()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0.005)
