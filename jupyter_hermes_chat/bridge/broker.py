"""Starts runs, carries what people say to them, stops them, and says when the Bridge has nothing left to do (R16, R23, R25).

Kept true here: one unfinished run per session; a run that was accepted ends with a terminal event, whatever happens to its
worker; a run is kept until its events were confirmed, or an hour after its end. The broker knows nothing of HTTP.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from ..protocol.bridge import Approve, BridgeRun, Clarify, RunRequest
from ..protocol.errors import BadRequest, BridgeUnavailable, Conflict, HermesChatError, RunEnded, RunNotFound, SessionBusy
from .environment import administrator_folder, worker_command, worker_environment, write_managed_config
from .inventory import InventoryReader
from .pool import Pool, Setting
from .process import WorkerLog, WorkerProcess
from .run_log import RunLog
from .workspace import private_folder

GRACE_SECONDS = 3.0
"""How long a stop waits for the run to have ended (R25)."""

log = logging.getLogger(__name__)


class _Run:
    def __init__(self, request: RunRequest) -> None:
        self.log = RunLog(request.run_id, request.session_id, request.user_message)
        self.request = request
        self.worker: WorkerProcess | None = None
        self.killed = False


class Broker:
    def __init__(self, inventory: InventoryReader, managed_dir: Path, worker_log: WorkerLog) -> None:
        self._inventory = inventory
        self._managed_dir = managed_dir
        self._worker_log = worker_log
        self.pool = Pool(self._start_worker)
        self._runs: dict[str, _Run] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._active_at = time.monotonic()
        self.draining = False

    # ---- runs ----------------------------------------------------------------------------------------------------------

    def start(self, request: RunRequest) -> RunLog:
        """Accepts a run; its log tells everything else, also that it could not begin. A known run id gives that run's log.

        ``SessionBusy`` while the session has an unfinished run, ``BridgeUnavailable`` while this Bridge drains.
        """
        if (known := self._runs.get(request.run_id)) is not None:
            return known.log
        if self.draining:
            raise BridgeUnavailable("This Bridge takes no new runs, since a newer version replaces it. Try again.")
        if self._unfinished(request.session_id) is not None:
            raise SessionBusy("This session's last run has not ended yet.", sessionId=request.session_id)
        run = self._runs[request.run_id] = _Run(request)
        self.touch()
        task = asyncio.create_task(self._begin(run))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return run.log

    def log(self, run_id: str) -> RunLog:
        return self._run(run_id).log

    def confirm(self, run_id: str, seq: int) -> None:
        run = self._run(run_id)
        run.log.confirm(seq)
        if run.log.confirmed:
            del self._runs[run_id]

    async def interrupt(self, run_id: str, *, force: bool) -> bool:
        """Whether the run has ended, after at most :data:`GRACE_SECONDS`. *force* kills the worker with all it started."""
        run = self._run(run_id)
        self.touch()
        if not run.log.ended:
            if run.worker is None:
                run.log.stopped(cleaned=True)
            elif force or not run.worker.ready:  # one that is not ready has not begun, and would read the wish much later
                run.killed = True
                await run.worker.kill()
            else:
                run.worker.send("interrupt", {"runId": run_id})
        deadline = time.monotonic() + GRACE_SECONDS
        while not run.log.ended and (left := deadline - time.monotonic()) > 0:
            await asyncio.wait([run.log.changed()], timeout=left)
        return run.log.ended

    def clarify(self, run_id: str, body: Clarify) -> None:
        run = self._run(run_id)
        self.touch()
        run.log.answer(body.clarify_id, body.answer, body.by)
        self._tell(run, "clarify", clarifyId=body.clarify_id, answer=body.answer)

    def approve(self, run_id: str, body: Approve) -> None:
        run = self._run(run_id)
        self.touch()
        run.log.approve(body.approval_id, body.choice, body.by)
        self._tell(run, "approve", approvalId=body.approval_id, choice=body.choice)

    def steer(self, run_id: str, text: str) -> None:
        run = self._run(run_id)
        self.touch()
        if run.log.ended:
            raise RunEnded("The run is over, so it cannot be steered. Send a message instead.")
        if run.worker is None:
            raise Conflict("The run is only just starting. Try again in a moment.")
        self._tell(run, "steer", text=text)

    def reset(self, session_id: str) -> None:
        """Forgets the session's worker. ``SessionBusy`` while it runs."""
        if self._unfinished(session_id) is not None:
            raise SessionBusy("This session's last run has not ended yet.", sessionId=session_id)
        self.pool.forget(session_id)

    # ---- the whole -----------------------------------------------------------------------------------------------------

    def runs(self) -> list[BridgeRun]:
        return [
            BridgeRun(
                run_id=run_id,
                session_id=run.log.session_id,
                last_seq=run.log.last_seq,
                ended=run.log.ended,
                waiting=run.log.waiting,
            )
            for run_id, run in self._runs.items()
        ]

    async def warm_up(self) -> None:
        """Has a spare worker ready for what an empty wish would run with."""
        try:
            self.pool.want_spare(await self._inventory.setting(None, None))
        except HermesChatError as error:
            log.warning("no spare worker: %s", error.message)

    def touch(self) -> None:
        """Somebody wanted something: the time until the idle end starts again."""
        self._active_at = time.monotonic()

    def sweep(self) -> float:
        """Forgets what is confirmed or too old; the seconds for which nothing was to do. Unconfirmed events are work."""
        for run_id in [i for i, run in self._runs.items() if run.log.forgettable()]:
            del self._runs[run_id]
        self._worker_log.trim()
        if self._runs:
            self.touch()
        return time.monotonic() - self._active_at

    @property
    def drained(self) -> bool:
        return self.draining and not self._runs

    async def close(self) -> None:
        """Ends every worker; runs that go on end as stopped, so that whoever still reads them learns it."""
        self.draining = True
        for run in self._runs.values():
            run.killed = True
            if run.worker is None and not run.log.ended:
                run.log.stopped(cleaned=True)
        await self.pool.close()

    # ---- inside --------------------------------------------------------------------------------------------------------

    def _run(self, run_id: str) -> _Run:
        if (run := self._runs.get(run_id)) is None:
            raise RunNotFound("The Bridge does not know this run (any more).", runId=run_id)
        return run

    def _unfinished(self, session_id: str) -> _Run | None:
        return next((r for r in self._runs.values() if r.request.session_id == session_id and not r.log.ended), None)

    def _tell(self, run: _Run, op: str, **fields: Any) -> None:
        assert run.worker is not None
        run.worker.send(op, {"runId": run.log.run_id, **fields})

    async def _start_worker(self, setting: Setting, warm: bool) -> WorkerProcess:
        environment = worker_environment(
            os.environ,
            hermes_home=setting.hermes_home,
            managed_dir=write_managed_config(self._managed_dir, administrator_folder(os.environ)),
            working_dir=None,
            tour=setting.tour,
        )
        command = worker_command(setting.interpreter, warm=warm)
        return await WorkerProcess.start(command, environment, self._managed_dir, self._worker_log)

    async def _begin(self, run: _Run) -> None:
        request = run.request
        try:
            setting = await self._inventory.setting(request.model_config.provider, request.hermes_home)
            fields = msgspec.to_builtins(request) | {"workingDir": os.fspath(self._working_folder(request, setting))}
            if run.log.ended:  # stopped before it began
                return
            worker = await self.pool.take(request.session_id, setting)
        except HermesChatError as error:
            run.log.fail(error.code, error.message)
            return
        except OSError as error:
            run.log.fail("hermes_not_found", f"The agent's process could not be started: {error.strerror or error}.")
            return
        if run.log.ended:
            self.pool.give_back(request.session_id)
            return
        run.worker = worker
        worker.on_line = partial(self._line, run)
        worker.on_exit = partial(self._exit, run)
        worker.send("run", fields)
        if worker.ended.is_set():
            self._exit(run)

    def _working_folder(self, request: RunRequest, setting: Setting) -> Path:
        """The tour's commands act in a temporary folder only, whatever was asked."""
        if request.working_dir is None or setting.tour:
            return private_folder(request.session_id)
        folder = Path(request.working_dir)
        if not folder.is_absolute() or not folder.is_dir():
            raise BadRequest(f"The working folder {folder} does not exist. Choose another for this session.", field="workingDir")
        return folder

    def _line(self, run: _Run, line: dict[str, Any] | None) -> None:
        if line is None:
            run.log.complain("a line that is not JSON")
        elif line.get("runId") != run.log.run_id:
            log.warning("worker line of another run: %s", line.get("type"))
        elif line.get("type") == "event" and isinstance(line.get("event"), dict):
            run.log.add(line["event"])
        elif line.get("type") == "turn_end":
            run.log.end_turn(line)
            self.touch()
            self.pool.give_back(run.log.session_id)
        else:
            run.log.complain(f"a line of type {line.get('type')!r}")

    def _exit(self, run: _Run) -> None:
        """The worker is gone. Its run has ended before, or ends now."""
        worker = run.worker
        assert worker is not None
        self.touch()
        if run.log.ended:
            return
        if run.killed:
            run.log.stopped(cleaned=not worker.ready)
        elif worker.fatal is not None:
            run.log.fail(*worker.fatal)
        elif not worker.ready:
            message = "The agent's process did not start. `jupyter hermes-chat doctor` tells why."
            run.log.fail("worker_lost", message)
        else:
            message = "The agent's process ended unexpectedly. What it had answered is kept; send your message again to go on."
            run.log.fail("worker_lost", message)
