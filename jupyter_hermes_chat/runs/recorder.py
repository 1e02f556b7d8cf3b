"""One run's frames → journal and channel: who records is who tells (R20, R23; design §3).

What is kept true:

* events reach the channel at once and in order, the journal in batches (50 rows or 200 ms, adjacent text merged);
* the terminal event is told only when it, every row before it and the turn's context are on disk, and the message's own row
  says how the run ended;
* what the runtime was told to forget (``confirm``) was synced before;
* a run that cannot go on ends here with a ``run_error`` that carries the next number and the text so far.

Life: made with an open journal, :meth:`record` once, then the journal is closed. Cancelling :meth:`record` (the server stops)
writes what waits and leaves the run to whoever comes next. Disk work happens in threads.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from logging import Logger
from typing import Any

import msgspec

from ..protocol.bridge import RunRequest
from ..protocol.errors import BridgeError, BridgeLost, HermesChatError, RunNotFound, StorageFull
from ..protocol.events import (
    Answer,
    ApprovalRequest,
    ApprovalResolved,
    ClarifyRequest,
    ClarifyResolved,
    Event,
    RunComplete,
    RunError,
    RunStarted,
    RunStopped,
    Terminal,
    Thinking,
    is_terminal,
    merge,
)
from ..protocol.records import ErrorBody, Pause, PauseKind, PauseStatus, Turn, split_message_id
from ..reduce import GapError, apply, initial
from ..runtimes.base import Runtime, TurnFrame
from ..store.base import RunJournal, SessionHandle
from .channel import Channel, RunEvent
from .limits import Place
from .source import frames

FLUSH_ROWS, FLUSH_SECONDS = 50, 0.2
SYNC_SECONDS = 0.25
CONFIRM_SECONDS = 1.0
FULL_DISK_PAUSE = 1.0

PauseEvent = ClarifyRequest | ClarifyResolved | ApprovalRequest | ApprovalResolved
_ENVELOPE = frozenset(Event.__struct_fields__)


class Recorder:
    """*changed* is called after every write to the session's tree, *active* with every batch of rows; both on the event loop."""

    def __init__(
        self,
        handle: SessionHandle,
        journal: RunJournal,
        channel: Channel,
        place: Place,
        runtime: Runtime,
        user_message: str,
        *,
        changed: Callable[[], None],
        active: Callable[[], None],
        log: Logger,
    ) -> None:
        self.run_id = channel.run_id
        self._handle, self._journal, self._channel, self._place = handle, journal, channel, place
        self._runtime, self._user_message = runtime, user_message
        self._changed, self._active, self._log = changed, active, log
        self._started: RunStarted | None = None
        self._last_seq = journal.last_seq
        self._last_t = 0
        self._ended_seq: int | None = None
        self._waiting: list[RunEvent] = []
        self._rows = 0
        self._something, self._enough = asyncio.Event(), asyncio.Event()
        self._closing = self._leaving = False
        self._synced_at = self._confirmed_at = time.monotonic()
        self._pending: set[str] = set()
        self._answered = asyncio.Event()

    async def record(self, request: RunRequest | None) -> None:
        """Until the run has ended and everybody may know it. *request* starts the run, None takes it up again.

        Raises :class:`HermesChatError` where the end itself cannot be written.
        """
        flushing = asyncio.create_task(self._flushing(), name=f"flush {self.run_id}")
        try:
            await self._begin_again()
            ending = await self._follow(request, flushing)
            if not isinstance(ending, HermesChatError):
                self._waiting.append(ending)
            await self._close(flushing)
            if isinstance(ending, HermesChatError):
                ending = await asyncio.to_thread(self._failed, ending)
                await self._to_disk([ending], sync=True)
            await asyncio.to_thread(self._finish, ending)
            self._ended_seq = ending.last_seq
            self._channel.publish(ending)
            self._changed()
        finally:
            self._leaving = True
            try:
                await self._close(flushing)
            finally:
                self._journal.close()

    async def confirm_end(self) -> None:
        """The runtime may forget the run. Not a part of :meth:`record`: a run whose end was told is over, and nobody waits."""
        if self._ended_seq is not None:
            await self._confirm(self._ended_seq)

    async def _follow(self, request: RunRequest | None, flushing: asyncio.Task[None]) -> Terminal | HermesChatError:
        """Takes events until the run's end; the error where it cannot go on."""
        try:
            async with aclosing(frames(self._runtime, self.run_id, request, lambda: self._last_seq)) as source:
                async for frame in source:
                    if flushing.done():
                        flushing.result()
                    if isinstance(frame, TurnFrame):
                        await asyncio.to_thread(self._handle.write_turn, self.run_id, frame.turn)
                    elif isinstance(frame.event, RunComplete | RunStopped | RunError):
                        return frame.event
                    else:
                        await self._take(frame.event)
        except HermesChatError as error:
            return error
        raise AssertionError("a source ends with the terminal event, or raises")

    async def answered(self, pause_id: str, seconds: float) -> None:
        """Until the pause is resolved in the store, or *seconds* have passed."""
        try:
            async with asyncio.timeout(seconds):
                while pause_id in self._pending:
                    await self._answered.wait()
        except TimeoutError:
            return

    async def _begin_again(self) -> None:
        """What an earlier recorder of this run knew: who waits."""
        if self._last_seq:
            pauses = await asyncio.to_thread(self._handle.pauses, self.run_id)
            self._pending = {pause.id for pause in pauses if pause.status == "PENDING"}
            self._tell_waiting()

    async def _take(self, event: RunEvent) -> None:
        if isinstance(event, RunStarted):
            self._started = event
        if isinstance(event, PauseEvent):
            await self._pause(event)
        previous = self._waiting[-1] if self._waiting else None
        self._waiting.append(event)
        self._last_seq = event.last_seq
        if isinstance(event, Event):
            self._last_t = event.last_t
        self._channel.publish(event)
        if not (isinstance(event, Thinking | Answer) and type(event) is type(previous)):
            self._rows += 1
        self._something.set()
        if self._rows >= FLUSH_ROWS:
            self._enough.set()

    # ---- to disk ----------------------------------------------------------------------------------------------------

    async def _flushing(self) -> None:
        while not self._closing:
            await self._something.wait()
            try:
                async with asyncio.timeout(FLUSH_SECONDS):
                    await self._enough.wait()
            except TimeoutError:
                pass  # the batch is as old as it may get
            await self._flush()
        await self._flush()

    async def _close(self, flushing: asyncio.Task[None]) -> None:
        """The last flush, with a sync. It is never cancelled half way, or two would write at once."""
        self._closing = True
        self._something.set()
        self._enough.set()
        await flushing

    async def _flush(self) -> None:
        rows, self._waiting, self._rows = merge(self._waiting), [], 0
        self._something.clear()
        self._enough.clear()
        if not rows:
            return
        self._active()
        now = time.monotonic()
        sync = self._closing or now - self._synced_at >= SYNC_SECONDS
        await self._to_disk(rows, sync=sync)
        self._channel.settle([row for row in rows if not is_terminal(row)])
        if sync:
            self._synced_at = now
        if sync and not self._closing and now - self._confirmed_at >= CONFIRM_SECONDS:
            self._confirmed_at = now
            await self._confirm(rows[-1].last_seq)

    async def _to_disk(self, rows: list[RunEvent], *, sync: bool) -> None:
        """A full disk delays the run until there is room; nothing that was told is lost (R20)."""
        while True:
            try:
                return await asyncio.to_thread(self._write, rows, sync)
            except StorageFull:
                if self._leaving:
                    raise
                self._log.warning("The disk is full: the rows of run %s wait in memory until there is room.", self.run_id)
                await asyncio.sleep(FULL_DISK_PAUSE)

    def _write(self, rows: list[RunEvent], sync: bool) -> None:
        self._journal.append(rows)
        if sync:
            self._journal.sync()

    async def _confirm(self, seq: int) -> None:
        """Housekeeping of the runtime: where it does not hear, it keeps the events an hour longer."""
        try:
            await self._runtime.confirm(self.run_id, seq)
        except (BridgeError, RunNotFound) as error:
            self._log.debug("Run %s: confirming %d failed: %s", self.run_id, seq, error)

    # ---- pauses -----------------------------------------------------------------------------------------------------

    async def _pause(self, event: PauseEvent) -> None:
        """On disk before anybody is asked, so that an answer always finds its pause (R37)."""
        await asyncio.to_thread(_store_pause, self._handle, self.run_id, event)
        if isinstance(event, ClarifyRequest | ApprovalRequest):
            self._pending.add(_pause_id(event))
        else:
            self._pending.discard(_pause_id(event))
            self._answered.set()
            self._answered = asyncio.Event()
        self._tell_waiting()
        self._changed()

    def _tell_waiting(self) -> None:
        self._channel.waiting = self._place.waiting = bool(self._pending)

    # ---- the end ----------------------------------------------------------------------------------------------------

    def _finish(self, ending: Terminal) -> None:
        started = self._started or run_started(self._handle.events(self.run_id))
        finish(self._handle, self.run_id, ending, started)

    def _failed(self, error: HermesChatError) -> RunError:
        """The ending of a run that got none; its turn is closed too, so that the next one knows what was asked and answered."""
        text = text_so_far(self.run_id, self._handle.events(self.run_id))
        if not self._handle.context([self.run_id]):
            answer = text or f"[no answer: {error.message}]"
            rows = [{"role": "user", "content": self._user_message}, {"role": "assistant", "content": answer}]
            self._handle.write_turn(self.run_id, Turn(mode="add", messages=rows))
        return run_error(error, self.run_id, seq=self._last_seq + 1, t=self._last_t, text=text)


def run_error(error: HermesChatError, run_id: str, *, seq: int, t: int = 0, text: str = "") -> RunError:
    """The terminal event that this server writes itself."""
    session_id, _ = split_message_id(run_id)
    return RunError(
        seq=seq, run_id=run_id, session_id=session_id, message_id=run_id, t=t, code=error.code, message=error.message, text=text
    )


def text_so_far(run_id: str, events: Sequence[RunEvent]) -> str:
    """What was answered, also where the log has a hole: then up to the hole."""
    state = initial(run_id)
    try:
        for event in merge(list(events)):
            state = apply(state, event)
    except GapError:
        pass  # what stands before the hole is still an answer
    return state.text


def run_started(events: Sequence[RunEvent]) -> RunStarted | None:
    return next((event for event in events if isinstance(event, RunStarted)), None)


def finish(handle: SessionHandle, run_id: str, terminal: Terminal, started: RunStarted | None) -> None:
    """The message's row says how its run ended, and nothing of it waits any more. One transaction; blocking."""
    lost = isinstance(terminal, RunError) and terminal.code == BridgeLost.code
    changes: dict[str, Any] = {"content": terminal.text, "completed_at": now_ms()}
    match terminal:
        case RunComplete():
            changes |= {"status": "SUCCESS", "usage": terminal.usage}
        case RunStopped():
            changes |= {"status": "STOPPED", "usage": terminal.usage}
        case RunError():
            reason = terminal.guardrails_failure_reason
            details = {} if reason is None else {"guardrailsFailureReason": reason}
            changes |= {"status": "FAILED", "error": ErrorBody(terminal.code, terminal.message, details)}
    if started is not None and started.model is not None:
        changes["model_id"] = f"{started.provider}/{started.model}" if started.provider else started.model
    open_pauses = [pause for pause in handle.pauses(run_id) if pause.status == "PENDING"]
    with handle.transaction() as writer:
        for pause in open_pauses:
            writer.put_pause(_resolved(pause, "EXPIRED" if lost else "INTERRUPTED", None, None))
        writer.update_message(run_id, **changes)


def _store_pause(handle: SessionHandle, run_id: str, event: PauseEvent) -> None:
    pause_id = _pause_id(event)
    match event:
        case ClarifyRequest() | ApprovalRequest():
            own = (f for f in msgspec.structs.fields(event) if f.name not in _ENVELOPE)
            payload = {f.encode_name: getattr(event, f.name) for f in own}
            kind: PauseKind = "clarify" if isinstance(event, ClarifyRequest) else "approval"
            pause = Pause(id=pause_id, run_id=run_id, kind=kind, payload=payload, created_at=now_ms())
        case _:
            old = next((p for p in handle.pauses(run_id) if p.id == pause_id), None)
            if old is None:
                return
            if isinstance(event, ApprovalResolved):
                # Where nobody said it, the refusal is how a stop or the run's end resolves what was asked.
                pause = _resolved(old, "ANSWERED" if event.by else "INTERRUPTED", event.choice, event.by)
            else:
                status: PauseStatus = {"answered": "ANSWERED", "interrupted": "INTERRUPTED", "expired": "EXPIRED"}[event.status]  # type: ignore[assignment]
                pause = _resolved(old, status, event.answer, event.by)
    with handle.transaction() as writer:
        writer.put_pause(pause)


def _pause_id(event: PauseEvent) -> str:
    return event.clarify_id if isinstance(event, ClarifyRequest | ClarifyResolved) else event.approval_id


def _resolved(pause: Pause, status: PauseStatus, answer: str | None, by: str | None) -> Pause:
    return msgspec.structs.replace(pause, status=status, answer=answer, by=by, resolved_at=now_ms())


def now_ms() -> int:
    return time.time_ns() // 1_000_000
