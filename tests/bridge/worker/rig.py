"""A worker on its pipes and a tour behind it, for the tests of the worker: the real Hermes Agent, no Bridge."""

from __future__ import annotations

import itertools
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jupyter_hermes_chat.bridge.environment import worker_command, worker_environment, write_managed_config, write_tour_home

SECONDS = 40.0
Line = dict[str, Any]


class Tour:
    """The scripted model as a process of its own, and what it was asked."""

    def __init__(self, folder: Path) -> None:
        self._record = folder / "requests.jsonl"
        port_file = folder / "port"
        command = [sys.executable, "-m", "jupyter_hermes_chat.tour", "--port-file", str(port_file), "--record", str(self._record)]
        self._process = subprocess.Popen(command, env={**os.environ, "HERMES_CHAT_TOUR_PACE": "0"})
        until(port_file.exists)
        self.url = f"http://127.0.0.1:{int(port_file.read_text())}/v1"

    def requests(self) -> list[dict[str, Any]]:
        """Bodies of all calls of the model so far, Hermes' own (without tools) left out."""
        lines = self._record.read_text(encoding="utf-8").splitlines() if self._record.exists() else []
        return [body for body in map(json.loads, lines) if body.get("tools")]

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(10)


@dataclass
class Ended:
    """A run that is over: its events, and its ``turn_end``."""

    events: list[Line]
    end: Line

    @property
    def kinds(self) -> list[str]:
        return [e["kind"] for e in self.events]

    def of(self, kind: str) -> list[Line]:
        return [e for e in self.events if e["kind"] == kind]

    def text(self, kind: str) -> str:
        """All text of *kind*, checked against the offsets."""
        segments: dict[int, str] = {}
        for event in self.of(kind):
            before = segments.setdefault(event["segment"], "")
            assert event["offset"] == len(before)
            segments[event["segment"]] = before + event["text"]
        return "\n".join(segments.values())

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.end["turn"]["messages"])

    def after(self, history: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The context for the next run on this branch."""
        return self.messages if self.end["turn"]["mode"] == "replace" else [*history, *self.messages]


@dataclass
class Worker:
    """One worker process. *hook* sees every event while a run goes on, and may answer."""

    environment: Mapping[str, str]
    interpreter: Path
    folder: Path
    warm: bool = False
    ready: Line = field(init=False)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1), repr=False)

    def __post_init__(self) -> None:
        self.working_dir = self.folder / "work"
        self.working_dir.mkdir(parents=True, exist_ok=True)
        self.log = self.folder / "worker.log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                worker_command(self.interpreter, warm=self.warm),
                env=dict(self.environment), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, cwd=self.folder,
            )  # fmt: skip
        self._lines: queue.Queue[Line | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.ready = self.line()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(json.loads(line))
        self._lines.put(None)

    def line(self) -> Line:
        found = self._lines.get(timeout=SECONDS)
        assert found is not None, f"the worker ended: {self.log.read_text()[-2000:]}"
        return found

    def send(self, op: str, **fields: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write((json.dumps({"op": op, **fields}) + "\n").encode())
        self.process.stdin.flush()

    def start(self, message: str, history: list[dict[str, Any]] | None = None, **fields: Any) -> str:
        """Begins a run and returns its id. A chat of its own unless ``hermesSession`` says which."""
        run = f"run.{next(self._numbers)}"
        fields.setdefault("hermesSession", f"chat-{os.getpid()}-{time.monotonic_ns()}")
        fields.setdefault("workingDir", str(self.working_dir))
        self.send("run", runId=run, sessionId="session", userMessage=message, history=history or [], **fields)
        return run

    def finish(self, hook: Callable[[Line], None] | None = None) -> Ended:
        events: list[Line] = []
        while (line := self.line())["type"] == "event":
            events.append(line["event"])
            if hook is not None:
                hook({**line["event"], "runId": line["runId"]})
        assert line["type"] == "turn_end"
        return Ended(events, line)

    def run(self, message: str, history: list[dict[str, Any]] | None = None, **fields: Any) -> Ended:
        hook = fields.pop("hook", None)
        self.start(message, history, **fields)
        return self.finish(hook)

    def close(self) -> int:
        if self.process.poll() is None:
            self.send("quit")
        code = self.process.wait(10)
        self._reader.join(10)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        return code


def until(condition: Callable[[], object], seconds: float = SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition was not met in time"
        time.sleep(0.01)


def tour_environment(folder: Path, url: str, home: Path | None = None) -> dict[str, str]:
    """As the Bridge makes it for a tour: a Hermes home that knows the scripted model, and our managed configuration."""
    home = home or write_tour_home(folder / "hermes-home", url)
    managed = write_managed_config(folder / "managed", administrator=folder / "none")
    own = {**os.environ, "HOME": str(folder)}
    return worker_environment(own, hermes_home=home, managed_dir=managed, working_dir=None, tour=True)
