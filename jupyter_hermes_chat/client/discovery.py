"""Which Jupyter server is this kernel's (design §7, "Kernel → server").

Servers tell about themselves in files of the Jupyter runtime folder (`protocol/server_file.py`). Of those that live, the one
that started this kernel is taken, else one whose root holds the working directory (the deepest), else the newest.
``HERMES_CHAT_URL`` with ``HERMES_CHAT_TOKEN`` overrides all of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
import psutil
from jupyter_core.paths import jupyter_runtime_dir

from ..protocol.errors import ServerNotFound
from ..protocol.server_file import GLOB, ServerFile

CLOCK_SLACK = 2.0
"""Seconds by which a process may seem younger than the file that it wrote (boot time is rounded)."""


def find_server(
    environ: Mapping[str, str] | None = None, *, runtime_dir: Path | None = None, cwd: Path | None = None
) -> ServerFile:
    """The server of this kernel. Raises :class:`ServerNotFound`."""
    environ = os.environ if environ is None else environ
    if url := environ.get("HERMES_CHAT_URL"):
        return override(url, environ.get("HERMES_CHAT_TOKEN", ""))
    folder = runtime_dir or Path(jupyter_runtime_dir())
    parents = {int(p) for p in (environ.get("JPY_PARENT_PID", ""), str(os.getppid())) if p.isdigit()}
    found = choose(living(folder), parents=parents, cwd=cwd or Path.cwd())
    if found is None:
        raise ServerNotFound(
            "No Jupyter server with Hermes Chat is running. Start JupyterLab in the environment where jupyter_hermes_chat "
            "is installed (jupyter lab), or set HERMES_CHAT_URL and HERMES_CHAT_TOKEN."
        )
    return found


def override(url: str, token: str) -> ServerFile:
    """A server that somebody named; nothing but its address is known."""
    return ServerFile(url=url.rstrip("/") + "/", token=token, data_folder="", pid=0, version="", root="")


def living(folder: Path) -> list[ServerFile]:
    """The servers of *folder* whose process is the one that wrote the file, newest first."""
    found: list[tuple[float, ServerFile]] = []
    for path in folder.glob(GLOB):
        try:
            written = path.stat().st_mtime
            server = msgspec.json.decode(path.read_bytes(), type=ServerFile)
        except (FileNotFoundError, msgspec.DecodeError):
            continue  # it is being removed, or another version wrote it
        if is_alive(server, written):
            found.append((written, server))
    return [server for _, server in sorted(found, key=lambda pair: pair[0], reverse=True)]


def is_alive(server: ServerFile, written: float) -> bool:
    """Whether the process that wrote the file lives; *written* is in seconds since the epoch. Its number may belong to
    another by now, which is then younger than the file."""
    try:
        process = psutil.Process(server.pid)
        return bool(process.status() != psutil.STATUS_ZOMBIE and process.create_time() <= written + CLOCK_SLACK)
    except psutil.NoSuchProcess:
        return False


def choose(servers: Iterable[ServerFile], *, parents: set[int], cwd: Path) -> ServerFile | None:
    """The server for a kernel with these *parents* in *cwd*, of *servers* in order of preference."""
    servers = list(servers)
    for server in servers:
        if server.pid in parents:
            return server
    around = [s for s in servers if s.root and cwd.is_relative_to(s.root)]
    if around:
        return max(around, key=lambda s: len(Path(s.root).parts))
    return servers[0] if servers else None
