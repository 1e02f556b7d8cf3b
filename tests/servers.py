"""A real Jupyter server with the extension, for tests of what stands in front of it: clients, kernels, notebooks.

It is a process of its own with folders of its own, and ends with the Bridge that it started.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import httpx
import msgspec
import psutil

from jupyter_hermes_chat.protocol.server_file import ServerFile, file_name
from tests.conftest import private_environment

REPOSITORY = Path(__file__).parent.parent
T = TypeVar("T")


@dataclass(frozen=True)
class Running:
    """``root`` is the folder that the server shows; a process in it, with this environment, finds the server."""

    file: ServerFile
    root: Path
    environment: dict[str, str]


def wait_for(look: Callable[[], T | None], seconds: float = 40) -> T:
    deadline = time.monotonic() + seconds
    while (found := look()) is None:
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
    return found


def environment_for(folder: Path, hermes_python: Path | None) -> dict[str, str]:
    more = {"PYTHONPATH": str(REPOSITORY)}
    if hermes_python is not None:
        more["HERMES_PYTHON"] = str(hermes_python)
    return private_environment(folder, **more)


@contextmanager
def running_server(folder: Path, hermes_python: Path | None, *options: str) -> Iterator[Running]:
    environment = environment_for(folder, hermes_python)
    root = folder / "root"
    root.mkdir()
    wanted = {"jupyter_hermes_chat": True, "jupyterlab": False, "notebook": False, "jupyter_lsp": False}
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "jupyter_server", "--ServerApp.open_browser=False", "--ServerApp.allow_root=True"),
                *(f"--ServerApp.root_dir={root}", f"--ServerApp.jpserver_extensions={wanted}"),
                *(options or ("--ServerApp.port=0",)),
            ],
            env=environment,
            stdout=log,
            stderr=log,
        )
    written = Path(environment["JUPYTER_RUNTIME_DIR"]) / file_name(process.pid)

    def announced() -> ServerFile | None:
        assert process.poll() is None, (folder / "server.log").read_text()
        try:
            return msgspec.json.decode(written.read_bytes(), type=ServerFile)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    try:
        yield Running(wait_for(announced), root, environment)
    finally:
        process.terminate()
        process.wait(20)
        end_bridges(Path(environment["JUPYTER_RUNTIME_DIR"]))


def end_bridges(runtime_dir: Path) -> None:
    """Every Bridge of this runtime folder, and when they are gone, returns."""
    for file in runtime_dir.glob("hermes-chat/*/bridge.json"):
        bridge = json.loads(file.read_bytes())
        httpx.post(
            bridge["url"].rstrip("/") + "/hermes/shutdown",
            headers={"Authorization": f"Bearer {bridge['token']}"},
            json={},
            trust_env=False,
            timeout=20,
        ).raise_for_status()
        wait_for(lambda pid=bridge["pid"]: None if psutil.pid_exists(pid) else True)
