"""The service: what may happen to sessions and runs, and in which order (R16, R17, R22–R25, R37).

What is kept true:

* a run starts only where its session is free; the rows of its turn are written in one transaction, before the first event;
* every run that the store calls ``RUNNING`` is recorded by somebody, or ended: after a restart this server takes them up again;
* a run's failure is an event of the run, never the answer of the route that started it;
* views and connections are nobody's business here: closing them ends nothing (R24).

Everything public is called on the event loop; work on files happens in threads. A session's lock is held from the rows of a
run until its recorder stands, so that nobody takes a run up that is only just beginning.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from logging import Logger
from typing import Any
from weakref import WeakValueDictionary

from msgspec import UNSET, Struct

from ..protocol.bridge import RunRequest
from ..protocol.errors import (
    AlreadyAnswered,
    BadRequest,
    BridgeError,
    HermesChatError,
    MessageNotFound,
    MessageTooLarge,
    PauseNotFound,
    RecordedElsewhere,
    RunEnded,
    RunNotFound,
    SessionNotFound,
    StorageFull,
)
from ..protocol.events import Choice
from ..protocol.records import (
    CreateSession,
    Message,
    PauseKind,
    RunStartedBody,
    Session,
    StartRun,
    StopResult,
    split_message_id,
)
from ..runtimes.base import Runtime
from ..store.base import SessionHandle, Store
from .channel import Channels
from .context import model_config, system_prompt, wrap
from .limits import Limits, Place
from .recorder import Recorder, finish, now_ms, run_error
from .turn import TurnRows, end_from_journal, session_busy, write_rows

MESSAGE_BYTES = 1_000_000
STOP_SECONDS = 3.0
ANSWER_SECONDS = 2.0
"""How long an answer to a pause waits until the store knows of it, so that the state it returns says so."""


class Live(Struct, eq=False):
    """A run that this server records."""

    recorder: Recorder
    task: asyncio.Task[None]


class Service:
    """*on_activity* is called whenever a run moves: an agent at work keeps its server alive."""

    def __init__(
        self,
        store: Store,
        runtime: Runtime,
        log: Logger,
        *,
        max_active_runs: int = 5,
        max_waiting_runs: int = 20,
        hermes_home: str | None = None,
        on_activity: Callable[[], None] = lambda: None,
    ) -> None:
        self.store = store
        self.runtime = runtime
        self.channels = Channels()
        self._log = log
        self._limits = Limits(max_active_runs, max_waiting_runs)
        self._hermes_home = hermes_home
        self._on_activity = on_activity
        self._live: dict[str, Live] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._tasks: set[asyncio.Task[None]] = set()

    # ---- life -------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Takes unfinished runs up again, in the background: the server's start never waits for it (R23)."""
        self._spawn(self._take_all_up())
        self._spawn(self._purge())

    async def close(self) -> None:
        """Writes what waits and lets go. Runs go on in the Bridge, and the next server takes them up."""
        self.channels.close()
        tasks = [*self._tasks, *(live.task for live in self._live.values())]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.runtime.close()
        await asyncio.to_thread(self.store.close)

    # ---- sessions ---------------------------------------------------------------------------------------------------

    async def create_session(self, owner: str, body: CreateSession) -> Session:
        model_config(body.model_id)
        session = await asyncio.to_thread(
            self.store.create_session,
            owner,
            title=body.title or "",
            model_id=body.model_id,
            skill_folder=body.skill_folder,
            working_dir=body.working_dir,
        )
        self.channels.session_changed(owner, session.id, session.revision)
        return session

    async def delete_session(self, session_id: str, owner: str) -> None:
        handle = await self.open(session_id, owner)
        async with self._lock(session_id):
            if (busy := await asyncio.to_thread(handle.running)) is not None:
                raise session_busy(busy)
            await asyncio.to_thread(self.store.delete_session, session_id, owner)
        self.channels.session_changed(owner, session_id, 0)
        self._spawn(self._purge())

    async def open(self, session_id: str, owner: str) -> SessionHandle:
        return await asyncio.to_thread(self.store.open_session, session_id, owner)

    async def find(self, message_id: str, owner: str) -> tuple[SessionHandle, Message]:
        """A message by its id alone. Raises :class:`MessageNotFound`, also where its session is another's or gone."""
        try:
            session_id, _ = split_message_id(message_id)
            handle = await self.open(session_id, owner)
        except (ValueError, SessionNotFound) as error:
            raise MessageNotFound("There is no such message.") from error
        return handle, await asyncio.to_thread(handle.message, message_id)

    async def find_run(self, run_id: str, owner: str) -> tuple[SessionHandle, Message]:
        """A run's message. Raises :class:`RunNotFound`. A run that nobody records any more is taken up again."""
        try:
            handle, message = await self.find(run_id, owner)
        except MessageNotFound as error:
            raise RunNotFound("There is no such run.") from error
        if message.run_id != run_id:
            raise RunNotFound("There is no such run.")
        if message.status == "RUNNING" and run_id not in self._live:
            await self._take_up(run_id, owner)
            message = await asyncio.to_thread(handle.message, run_id)
        return handle, message

    # ---- runs -------------------------------------------------------------------------------------------------------

    async def start_run(self, session_id: str, owner: str, body: StartRun) -> RunStartedBody:
        """Writes the turn's rows and starts its recorder (R17). What fails from then on ends the run, with a sentence."""
        _check(body)
        handle = await self.open(session_id, owner)
        async with self._lock(session_id):
            if (busy := self._recorded(session_id)) is not None:
                raise session_busy(busy)
            place = self._limits.take(owner)
            try:
                turn = await asyncio.to_thread(write_rows, handle, owner, body)
            except BaseException:
                self._limits.leave(place)
                raise
            try:
                history = await asyncio.to_thread(handle.context, turn.earlier)
                await self._record(handle, turn.user, turn.reply, owner, place, self._request(turn, history, body))
            except HermesChatError as error:
                self._limits.leave(place)
                await asyncio.to_thread(self._give_up, handle, turn.reply.id, error)
                self._tell(handle, owner)
        return RunStartedBody(run_id=turn.reply.id, message_id=turn.reply.id, user_message_id=turn.user.id)

    async def answer(self, run_id: str, owner: str, clarify_id: str, answer: str) -> None:
        await self._check_pause(run_id, owner, clarify_id, "clarify")
        await self.runtime.answer(run_id, clarify_id, answer, owner)
        await self._answered(run_id, clarify_id)

    async def approve(self, run_id: str, owner: str, approval_id: str, choice: Choice) -> None:
        await self._check_pause(run_id, owner, approval_id, "approval")
        await self.runtime.approve(run_id, approval_id, choice, owner)
        await self._answered(run_id, approval_id)

    async def stop(self, run_id: str, owner: str, *, force: bool = False) -> StopResult:
        """At most three seconds; ``cleaned`` is true where the run has really ended by then (R25). A second stop is harmless."""
        _, message = await self.find_run(run_id, owner)
        live = self._live.get(run_id)
        if live is None:
            ended = message.status != "RUNNING" or await self.runtime.stop(run_id, force=force)
            return StopResult(success=True, cleaned=ended)
        self._spawn(self._interrupt(live, force))
        await asyncio.wait({live.task}, timeout=STOP_SECONDS)
        return StopResult(success=True, cleaned=live.task.done())

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _lock(self, session_id: str) -> asyncio.Lock:
        lock = self._locks.get(session_id)
        if lock is None:
            lock = self._locks[session_id] = asyncio.Lock()
        return lock

    def _recorded(self, session_id: str) -> str | None:
        return next((c.run_id for c in self.channels.active() if c.session_id == session_id), None)

    def _request(self, turn: TurnRows, history: list[dict[str, Any]], body: StartRun) -> RunRequest:
        session, user, reply = turn.session, turn.user, turn.reply
        return RunRequest(
            run_id=reply.id,
            session_id=session.id,
            hermes_session=session.hermes_session,
            user_message=user.content,
            user_message_id=user.id,
            system_prompt=system_prompt(reply.skill_folder),
            history=history,
            max_iterations=body.max_iterations,
            working_dir=session.working_dir,
            hermes_home=self._hermes_home,
            model_config=model_config(reply.model_id),
            skill=reply.skill_folder,
            context=wrap(body.context),
        )

    async def _record(
        self, handle: SessionHandle, user: Message, reply: Message, owner: str, place: Place, request: RunRequest | None
    ) -> None:
        """Starts the recorder of a run that stands in the store. Raises what :meth:`SessionHandle.journal` raises."""
        journal = await asyncio.to_thread(handle.journal, reply.id)
        channel = self.channels.open(reply.id, reply.session_id, owner, journal.last_seq + 1)
        recorder = Recorder(
            handle, journal, channel, place, self.runtime, user.content,
            changed=lambda: self._tell(handle, owner), active=self._on_activity, log=self._log,
        )  # fmt: skip

        async def run() -> None:
            try:
                try:
                    await recorder.record(request)
                except (HermesChatError, OSError) as error:
                    self._log.error("Recording run %s failed: %s", reply.id, error)
                    await self._abandon(handle, reply.id, error)
                    channel.publish(_own_end(error, reply.id, channel.last_seq + 1))
                    self._tell(handle, owner)
                finally:  # whoever was told the end may send the next message at once
                    self.channels.end(channel)
                    self._limits.leave(place)
                await recorder.confirm_end()
            finally:
                del self._live[reply.id]

        self._live[reply.id] = Live(recorder, asyncio.create_task(run(), name=f"record {reply.id}"))
        self._tell(handle, owner)

    async def _abandon(self, handle: SessionHandle, run_id: str, error: Exception) -> None:
        """A run that cannot be recorded ends: in its row, and in the runtime, where an agent would act unseen."""
        await asyncio.to_thread(self._give_up, handle, run_id, error)
        self._spawn(self._stop_unseen(run_id))

    async def _stop_unseen(self, run_id: str) -> None:
        try:
            await self.runtime.stop(run_id)
        except HermesChatError as error:
            self._log.debug("Run %s was not stopped: %s", run_id, error)

    def _give_up(self, handle: SessionHandle, run_id: str, error: Exception) -> None:
        """The run cannot be recorded: the message's row says so, if at least that can be written."""
        try:
            finish(handle, run_id, _own_end(error, run_id, 1), None)
        except (HermesChatError, OSError) as second:
            self._log.error("Run %s could not be ended: %s", run_id, second)

    def _tell(self, handle: SessionHandle, owner: str) -> None:
        """A session's tree changed."""
        self._on_activity()
        try:
            session = handle.session()
        except HermesChatError as error:
            self._log.warning("A change of a session is not told: %s", error)
            return
        self.channels.session_changed(owner, session.id, session.revision)

    async def _interrupt(self, live: Live, force: bool) -> None:
        """Asks until the runtime heard it: a stop may come before the Bridge knows of the run, or while it cannot be reached."""
        while not live.task.done():
            try:
                await self.runtime.stop(live.recorder.run_id, force=force)
                return
            except (RunNotFound, BridgeError):
                await asyncio.wait({live.task}, timeout=0.1)

    async def _check_pause(self, run_id: str, owner: str, pause_id: str, kind: PauseKind) -> None:
        handle, message = await self.find_run(run_id, owner)
        pauses = await asyncio.to_thread(handle.pauses, run_id)
        pause = next((p for p in pauses if p.id == pause_id and p.kind == kind), None)
        if pause is None:
            raise PauseNotFound("This run asked nothing of that id.")
        if pause.status == "ANSWERED":
            raise AlreadyAnswered("This was answered already; the first answer counts.", answer=pause.answer, by=pause.by)
        if message.status != "RUNNING" or pause.status != "PENDING":
            raise RunEnded("Nobody waits for this answer any more. Send it as a message.")

    async def _answered(self, run_id: str, pause_id: str) -> None:
        if live := self._live.get(run_id):
            await live.recorder.answered(pause_id, ANSWER_SECONDS)

    async def _purge(self) -> None:
        """Sessions that were deleted more than ten minutes ago go for good (R13)."""
        await asyncio.to_thread(self.store.purge_deleted, now_ms())

    async def _take_all_up(self) -> None:
        for owner, run_id in await asyncio.to_thread(self.store.unfinished_runs):
            await self._take_up(run_id, owner)

    async def _take_up(self, run_id: str, owner: str) -> None:
        """An unfinished run goes on being recorded here, unless another server does so already. One whose journal cannot be
        used ends, or its session would be busy for good."""
        session_id, _ = split_message_id(run_id)
        async with self._lock(session_id):
            if run_id in self._live:
                return
            try:
                handle = await self.open(session_id, owner)
                reply = await asyncio.to_thread(handle.message, run_id)
                if reply.status != "RUNNING":
                    return
                user = await asyncio.to_thread(handle.message, reply.parent_id or "")
            except HermesChatError as error:
                self._log.error("Run %s could not be taken up again: %s", run_id, error)
                return
            try:
                if await asyncio.to_thread(end_from_journal, handle, run_id):
                    return
                place = self._limits.enter(owner)
                try:
                    await self._record(handle, user, reply, owner, place, None)
                except BaseException:
                    self._limits.leave(place)
                    raise
            except RecordedElsewhere:
                self._log.info("Run %s is recorded by another server.", run_id)
            except StorageFull as error:
                self._log.error("Run %s is not taken up again before there is room: %s", run_id, error)
            except HermesChatError as error:
                self._log.error("Run %s cannot be recorded any more: %s", run_id, error)
                await self._abandon(handle, run_id, error)
                self._tell(handle, owner)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _check(body: StartRun) -> None:
    """What the schema cannot say. Raises :class:`BadRequest` that names the field."""
    if body.message is None and body.parent_message_id is None:
        raise BadRequest("A run needs a message, or the user message that it answers.", field="$.message")
    if body.message is not None:
        if not body.message.strip():
            raise BadRequest("The message is empty; write what you want to say.", field="$.message")
        if len(body.message.encode()) > MESSAGE_BYTES:
            raise MessageTooLarge("A message may have 1 MB at most. Put the text into a file and name its path.", field="$.message")
    if not 1 <= body.max_iterations <= 1000:
        raise BadRequest("maxIterations is a whole number from 1 to 1000.", field="$.maxIterations")
    if body.model_id is not UNSET:
        model_config(body.model_id)


def _own_end(error: Exception, run_id: str, seq: int) -> Any:
    own = error if isinstance(error, HermesChatError) else HermesChatError(f"The reply could not be stored: {error}.")
    return run_error(own, run_id, seq=seq)
