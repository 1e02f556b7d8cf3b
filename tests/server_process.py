"""A Jupyter server in a process of its own, reached as a kernel reaches it: through its server file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec

from jupyter_hermes_chat.protocol.server_file import ServerFile, file_name
from tests.conftest import private_environment

REPOSITORY = Path(__file__).parent.parent
START_SECONDS = 40.0


class Server:
    def __init__(self, process: subprocess.Popen[bytes], file_path: Path, log: Path) -> None:
        self.process, self.file_path, self.log = process, file_path, log
        self.file = self._wait()
        transport = httpx.HTTPTransport(uds=self.file.socket) if self.file.socket else None
        self.http = httpx.Client(
            base_url=self.file.url,
            headers={"Authorization": f"Bearer {self.file.token}"},
            trust_env=False,
            timeout=60,
            transport=transport,
        )

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """JSON of one of our routes. Raises ``httpx.HTTPStatusError``."""
        answer = self.http.request(method, f"hermes/api/chat/{path}", json=body)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def kill(self) -> None:
        """As a machine kills: nothing is written any more, and nothing is told."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.http.close()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()
        self.http.close()

    def _wait(self) -> ServerFile:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                return msgspec.json.decode(self.file_path.read_bytes(), type=ServerFile)
            except (FileNotFoundError, msgspec.DecodeError):
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise AssertionError(f"the server did not start: {self.log.read_text()[-3000:]}") from None
                time.sleep(0.05)


def start_server(folder: Path, *options: str, **environment: str) -> Server:
    """Over the same folders whenever *folder* is the same. Whoever starts it stops it."""
    # Without configuration no other extension is loaded, which takes most of a server's start.
    env = private_environment(folder, PYTHONPATH=str(REPOSITORY), JUPYTER_NO_CONFIG="1", **environment)
    root = folder / "root"
    root.mkdir(exist_ok=True)
    command = [
        *(sys.executable, "-m", "jupyter_server", "--allow-root", "--no-browser"),
        *(() if any("ServerApp.sock" in option for option in options) else ("--ServerApp.port=0",)),
        *("--ServerApp.jpserver_extensions={'jupyter_hermes_chat': True}", f"--ServerApp.root_dir={root}", *options),
    ]
    log = folder / "server.log"
    with log.open("ab") as output:
        process = subprocess.Popen(command, env=env, cwd=root, stdout=output, stderr=output)
    try:
        return Server(process, Path(env["JUPYTER_RUNTIME_DIR"]) / file_name(process.pid), log)
    except BaseException:
        process.kill()
        process.wait()
        raise


def stop_bridges(folder: Path) -> None:
    """Ends the Bridges that servers over *folder* started, and waits until their locks are free."""
    from jupyter_hermes_chat.protocol.bridge import BridgeFile
    from jupyter_hermes_chat.runtimes.launch import is_locked

    for path in (folder / "jupyter-runtime" / "hermes-chat").glob("*/bridge.json"):
        bridge = msgspec.json.decode(path.read_bytes(), type=BridgeFile)
        if is_locked(path.parent):
            httpx.post(
                f"{bridge.url}/hermes/shutdown", headers={"Authorization": f"Bearer {bridge.token}"}, trust_env=False, timeout=20
            )
        deadline = time.monotonic() + 20
        while is_locked(path.parent) and time.monotonic() < deadline:
            time.sleep(0.05)
        if is_locked(path.parent):
            os.kill(bridge.pid, signal.SIGKILL)


@contextmanager
def running_server(folder: Path, *options: str, **environment: str) -> Iterator[Server]:
    server = start_server(folder, *options, **environment)
    try:
        yield server
    finally:
        server.stop()
        stop_bridges(folder)
