"""A headless Jupyter server of this kernel's own, for where none is in reach: plain IPython, papermill, nbval (R59).

It is the ordinary server with the ordinary extension, on loopback, with a random port and token; a kernel in the same data
folder finds it like any other. It ends with the process that started it, or after :data:`IDLE_SECONDS` without activity when
that process was killed. The Bridge and its runs outlive it, as they outlive every server.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec
from jupyter_core.paths import jupyter_runtime_dir

from ..protocol.errors import ServerNotFound
from ..protocol.server_file import ServerFile, file_name
from .discovery import find_server

IDLE_SECONDS = 600
START_SECONDS = 30.0


def find_or_start() -> ServerFile:
    """The server of this kernel, started where there is none. Raises :class:`ServerNotFound` where it does not start."""
    try:
        return find_server()
    except ServerNotFound:
        return start_service()


def start_service() -> ServerFile:
    folder = Path(jupyter_runtime_dir())
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    log_path = folder / f"hermes-chat-service-{os.getpid()}.log"
    log_path.touch(mode=0o600)  # Jupyter writes its address with its token into what it says
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyter_server", *_options()],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    server = _wait(process, folder / file_name(process.pid), log_path)
    atexit.register(_end, process, log_path)
    return server


def _options() -> list[str]:
    options = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": 0,
        "ServerApp.open_browser": False,
        "ServerApp.allow_root": True,
        "ServerApp.root_dir": Path.cwd(),
        "ServerApp.shutdown_no_activity_timeout": IDLE_SECONDS,
        "ServerApp.jpserver_extensions": {"jupyter_hermes_chat": True},
    }
    return [f"--{name}={value}" for name, value in options.items()]


def _wait(process: subprocess.Popen[bytes], file: Path, log_path: Path) -> ServerFile:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            return msgspec.json.decode(file.read_bytes(), type=ServerFile)
        except (FileNotFoundError, msgspec.DecodeError):
            time.sleep(0.05)
    _end(process, None)
    raise ServerNotFound(f"No Jupyter server is running, and one could not be started: see {log_path} for what it said.")


def _end(process: subprocess.Popen[bytes], log_path: Path | None) -> None:
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if log_path is not None:
        log_path.unlink(missing_ok=True)
