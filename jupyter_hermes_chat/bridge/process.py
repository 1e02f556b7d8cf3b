"""One worker process: its pipes, its start, its end.

A worker is started with an argument list and an environment, tells ``ready`` or ``fatal`` on its first line, and ends by
itself when its standard input closes; so no worker outlives a Bridge that was killed. This module knows lines and processes,
not runs: whoever owns the worker gets every line and the end, each exactly once, the end last.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import psutil

from ..protocol.bridge import WORKER_LINE_LIMIT

READY_SECONDS = 120.0
"""A worker that says nothing for so long after its start is taken for broken (measured: 1.3–2.3 s, cold discs a few more)."""

QUIT_SECONDS = 5.0
"""How long a worker that was asked to quit may take before it is killed."""

log = logging.getLogger(__name__)


class WorkerLog:
    """The file (mode 0600) that workers print to. It is emptied when it has grown beyond *limit* bytes.

    Workers write to it themselves, so that nothing waits for a reader and a child that keeps it open holds up nobody.
    """

    def __init__(self, path: Path, limit: int = 2_000_000) -> None:
        self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._limit = limit

    def trim(self) -> None:
        if os.fstat(self.fd).st_size > self._limit:
            os.ftruncate(self.fd, 0)

    def close(self) -> None:
        os.close(self.fd)


class WorkerProcess:
    """A started worker. ``on_line`` gets each decoded line (``None`` for one that is no JSON object), ``on_exit`` the end."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.pid = process.pid
        self.on_line: Callable[[dict[str, Any] | None], None] = lambda line: None
        self.on_exit: Callable[[], None] = lambda: None
        self.ready = False
        self.fatal: tuple[str, str] | None = None
        self.used_at = time.monotonic()
        self.ended = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = {asyncio.create_task(self._read())}
        self._watchdog = asyncio.get_running_loop().call_later(READY_SECONDS, self._not_ready)

    @classmethod
    async def start(cls, argv: Sequence[str], env: Mapping[str, str], cwd: Path, stderr: WorkerLog) -> WorkerProcess:
        """Raises ``OSError`` where the program cannot be run."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=pipe,
            stdout=pipe,
            stderr=stderr.fd,
            limit=WORKER_LINE_LIMIT,
            start_new_session=True,
            env=dict(env),
            cwd=cwd,
        )
        return cls(process)

    def send(self, op: str, fields: Mapping[str, Any] | None = None) -> None:
        """One line to the worker. A worker that has just ended takes no notice; its end is told by ``on_exit``."""
        stdin = self._process.stdin
        assert stdin is not None
        if not stdin.is_closing():
            stdin.write(msgspec.json.encode({"op": op, **(fields or {})}) + b"\n")

    async def quit(self) -> None:
        """Asks the worker to end, waits for it, and kills it and what it has started where it does not.

        One that is not ready reads nothing yet and has nothing to tidy up, so it is killed at once.
        """
        if not self.ready:
            await self.kill()
            return
        self.send("quit")
        stdin = self._process.stdin
        assert stdin is not None
        stdin.close()
        try:
            await asyncio.wait_for(self.ended.wait(), QUIT_SECONDS)
        except TimeoutError:
            log.warning("worker %d did not quit in %.0f s", self.pid, QUIT_SECONDS)
            await self.kill()

    async def kill(self) -> None:
        """Kills the worker and all its descendants, and waits until the worker is gone.

        Hermes starts each command in a session of its own, so neither a signal to the group nor the worker's death ends them.
        """
        await asyncio.to_thread(kill_tree, self.pid)
        await self.ended.wait()

    def _not_ready(self) -> None:
        if not self.ready and not self.ended.is_set():
            log.warning("worker %d was not ready after %.0f s", self.pid, READY_SECONDS)
            task = asyncio.create_task(self.kill())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _read(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        while True:
            try:
                raw = await stdout.readline()
            except ValueError:
                # What was lost may have been the end of the turn, so nobody could rely on this worker any more.
                log.warning("worker %d wrote a line of more than %d bytes", self.pid, WORKER_LINE_LIMIT)
                await asyncio.to_thread(kill_tree, self.pid)
                break
            if not raw:
                break
            self._handle(raw)
        stdin = self._process.stdin
        assert stdin is not None
        stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), QUIT_SECONDS)
        except TimeoutError:
            log.warning("worker %d closed its output and went on", self.pid)
            await asyncio.to_thread(kill_tree, self.pid)
            await self._process.wait()
        self._watchdog.cancel()
        self.ended.set()
        self.on_exit()

    def _handle(self, raw: bytes) -> None:
        try:
            line = msgspec.json.decode(raw)
        except msgspec.DecodeError:
            line = None
        if not isinstance(line, dict):
            self.on_line(None)
        elif line.get("type") == "ready":
            self.ready = True
            self._watchdog.cancel()
        elif line.get("type") == "fatal":
            self.fatal = (str(line.get("code") or "worker_lost"), str(line.get("message") or "The agent cannot work."))
        else:
            self.on_line(line)


def kill_tree(pid: int) -> None:
    """SIGKILL to *pid* and every descendant. All are collected, and held still, before the first one dies."""
    try:
        root = psutil.Process(pid)
    except psutil.NoSuchProcess:
        return
    held: dict[int, psutil.Process] = {}
    found = [root]
    while found:  # a process may fork between being seen and being stopped, so look again until nothing is new
        for process in found:
            held[process.pid] = process
            with contextlib.suppress(psutil.Error):
                process.suspend()
        try:
            found = [p for p in root.children(recursive=True) if p.pid not in held]
        except psutil.NoSuchProcess:
            break
    for process in held.values():
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
