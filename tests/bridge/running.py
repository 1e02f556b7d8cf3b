"""A Bridge process of a test's own, in folders of its own, and what a test asks of it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import httpx
import psutil
from httpx_sse import connect_sse

from tests.conftest import private_environment

FAULTY = Path(__file__).with_name("faulty_hermes.py")


T = TypeVar("T")


class Frame(NamedTuple):
    name: str
    id: str
    data: dict[str, Any]

    @property
    def kind(self) -> str:
        return str(self.data.get("kind", self.name))


def wait_for(what: Callable[[], T], seconds: float = 20.0) -> T:
    """The first true value of *what*; fails when there is none in time."""
    deadline = time.monotonic() + seconds
    while not (value := what()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
    return value


def session_id() -> str:
    return str(uuid.uuid4())


def faulty_interpreter(folder: Path) -> Path:
    """An executable that the Bridge takes for Hermes' Python."""
    script = folder / "python-of-a-faulty-hermes"
    script.write_text(f"#!{sys.executable} -P\n" + FAULTY.read_text(encoding="utf-8"), encoding="utf-8")
    script.chmod(0o755)
    return script


class RunningBridge:
    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.runtime = folder / "runtime"
        (folder / "tmp").mkdir(parents=True, exist_ok=True)
        self.environment = private_environment(folder, TMPDIR=str(folder / "tmp"), **environment)
        self.process = self.launch()
        self.file: dict[str, Any] = wait_for(self._announced)
        headers = {"Authorization": f"Bearer {self.file['token']}"}
        self.client = httpx.Client(base_url=self.file["url"], headers=headers, trust_env=False, timeout=30)

    def launch(self) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-P", "-m", "jupyter_hermes_chat.bridge", "--runtime-dir", str(self.runtime)]
        with (self.folder / "output").open("ab") as output:
            return subprocess.Popen(
                [*argv, "--data-dir", str(self.folder / "data")],
                env=self.environment,
                stdout=output,
                stderr=output,
                cwd=self.folder,
            )

    def _announced(self) -> dict[str, Any] | None:
        assert self.process.poll() is None, (self.folder / "output").read_text(encoding="utf-8")
        file = self.runtime / "bridge.json"
        return json.loads(file.read_bytes()) if file.exists() else None

    def request(self, message: str, session: str | None = None, **fields: Any) -> dict[str, Any]:
        session = session or session_id()
        own = {"runId": f"{session}.{uuid.uuid4().int % 10**8 + 1}", "sessionId": session, "hermesSession": f"chat-{session}"}
        return {**own, "userMessage": message, **fields}

    @contextmanager
    def stream(self, method: str, path: str, **how: Any) -> Iterator[Iterator[Frame]]:
        with connect_sse(self.client, method, path, **how) as source:
            assert source.response.status_code == 200, source.response.read()
            yield (Frame(s.event, s.id, json.loads(s.data)) for s in source.iter_sse())

    def run(self, message: str, session: str | None = None, **fields: Any) -> list[Frame]:
        with self.stream("POST", "/hermes/run", json=self.request(message, session, **fields)) as frames:
            return list(frames)

    @contextmanager
    def started(self, message: str, until: str, session: str | None = None) -> Iterator[tuple[str, Frame]]:
        """A run that goes on: its id, and its first event of kind *until*."""
        request = self.request(message, session)
        with self.stream("POST", "/hermes/run", json=request) as frames:
            yield request["runId"], next(f for f in frames if f.kind == until)

    def events(self, run_id: str, after: int = 0) -> list[Frame]:
        with self.stream("GET", f"/hermes/runs/{run_id}/events?after={after}") as frames:
            return list(frames)

    def post(self, path: str, body: Any = None) -> httpx.Response:
        return self.client.post(path, json=body)

    def processes(self) -> list[psutil.Process]:
        """The Bridge's descendants."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def workers(self) -> list[psutil.Process]:
        return [p for p in self.processes() if any("worker" in word for word in p.cmdline())]

    def shut_down(self) -> None:
        if self.process.poll() is None:
            self.post("/hermes/shutdown")
            self.process.wait(15)

    def close(self) -> None:
        try:
            self.shut_down()
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self.client.close()
            shutil.rmtree(self.folder / "tmp", ignore_errors=True)


def gone(processes: list[psutil.Process]) -> bool:
    return not any(_runs(p) for p in processes)


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:  # it ended between the two questions
        return False


def is_sleep(process: psutil.Process) -> bool:
    try:
        return process.name() == "sleep"
    except psutil.NoSuchProcess:
        return False
