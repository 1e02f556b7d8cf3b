"""Finds the Bridge of a data folder, and starts it where there is none (design §2).

A Bridge runs exactly as long as its lock is held; ``bridge.json`` beside the lock says how to reach it. The folder of both
names host and boot, since a home that two hosts share must not send one to the other's loopback. An older version that is met
there drains: it frees the place at once, takes no new runs, and is found in ``draining-<pid>`` until its runs are over and
confirmed. So an upgrade needs no stop and loses no run.

This knows the command line of the Bridge, its files and ``POST /hermes/drain``; it imports nothing of it.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import msgspec
import psutil
from jupyter_core.paths import jupyter_runtime_dir

from .._version import __version__
from ..protocol.bridge import BRIDGE_FILE, BRIDGE_LOCK, PROTOCOL, BridgeFile
from ..protocol.errors import BridgeUnavailable, LocksUnsupported

START_SECONDS = 20.0
_PLACE_TAKEN = 3
_LOG_LIMIT = 1_000_000


def boot_id() -> str:
    """The same for every process until the machine starts again."""
    linux = Path("/proc/sys/kernel/random/boot_id")
    if linux.exists():
        return linux.read_text(encoding="ascii").strip()
    if sys.platform == "darwin":
        done = subprocess.run(["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.strip()
    return str(int(psutil.boot_time()))


def runtime_folder(data_folder: Path, runtime_dir: Path | None = None) -> Path:
    """Where the Bridge of *data_folder* has its place on this host, since this boot."""
    host = re.sub(r"[^A-Za-z0-9.-]", "_", socket.gethostname()) or "host"
    digest = hashlib.sha256(os.fsencode(data_folder.resolve())).hexdigest()[:12]
    return (runtime_dir or Path(jupyter_runtime_dir())) / "hermes-chat" / f"{host}-{boot_id()}-{digest}"


def is_locked(folder: Path) -> bool:
    """Whether a Bridge lives there. :class:`LocksUnsupported` on a file system without locks."""
    import fcntl  # missing on Windows, where BridgeUnavailable was raised before

    try:
        descriptor = os.open(folder / BRIDGE_LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError as error:
        raise LocksUnsupported(f"{folder} has no file locks. Set JUPYTER_RUNTIME_DIR to a local folder.") from error
    finally:
        os.close(descriptor)
    return False


def read_place(folder: Path) -> BridgeFile | None:
    """The Bridge that lives in *folder* and can be reached; ``None`` without one, or while it starts or ends."""
    if not is_locked(folder):
        return None
    try:
        file = msgspec.json.decode((folder / BRIDGE_FILE).read_bytes(), type=BridgeFile)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
    # A killed Bridge leaves its file, and the next one has the lock a moment before it takes that away.
    return file if psutil.pid_exists(file.pid) else None


def _release(version: str) -> list[int]:
    return [int(n) for n in re.findall(r"\d+", version)]


class LocalBridges:
    """The Bridges of one data folder on this host: the current one, and older ones that drain."""

    def __init__(self, data_folder: Path, *, hermes_python: str | None = None, hermes_home: str | None = None) -> None:
        self._data_folder = data_folder
        self._arguments = [
            *(["--hermes-python", hermes_python] if hermes_python else []),
            *(["--hermes-home", hermes_home] if hermes_home else []),
        ]
        self._lock = asyncio.Lock()

    @property
    def folder(self) -> Path:
        return runtime_folder(self._data_folder)

    def known(self) -> list[BridgeFile]:
        """Those that can be reached now, the current one first. Starts none."""
        if sys.platform == "win32":
            return []
        places = [self.folder, *sorted(self.folder.glob("draining-*"))]
        return [file for file in map(read_place, places) if file is not None]

    async def alive(self) -> bool:
        """False only when no Bridge of this data folder lives: their locks are free."""
        if sys.platform == "win32":
            return False
        return any(map(is_locked, [self.folder, *self.folder.glob("draining-*")]))

    async def ensure(self) -> BridgeFile:
        """The current Bridge, started where there is none. :class:`BridgeUnavailable` says why it is not to be had."""
        if sys.platform == "win32":
            raise BridgeUnavailable(
                "Hermes Agent does not run on native Windows. Set c.HermesChatApp.bridge_url to a Bridge on another machine,"
                " or use WSL2."
            )
        async with self._lock:
            return await self._find_or_start()

    async def _find_or_start(self) -> BridgeFile:
        folder = self.folder
        deadline = time.monotonic() + START_SECONDS
        process: subprocess.Popen[bytes] | None = None
        while True:
            file = read_place(folder)
            if file is not None and file.protocol > PROTOCOL:
                raise BridgeUnavailable(
                    f"A newer Hermes Bridge ({file.version}) is running. Restart Jupyter with that version,"
                    " or end it with `jupyter hermes-chat stop`."
                )
            if file is not None and (file.protocol, _release(file.version)) >= (PROTOCOL, _release(__version__)):
                if process is not None and process.pid != file.pid:
                    process.terminate()  # somebody else's was faster; ours shall not wait for its place
                return file
            if file is not None:
                await _drain(file)
            elif process is None or process.poll() == _PLACE_TAKEN:
                if process is None or not is_locked(folder):
                    process = await asyncio.to_thread(self._start, folder)
            elif process.poll() is not None:
                raise BridgeUnavailable(f"The Hermes Bridge did not start. {folder / 'bridge.log'} tells why.")
            if time.monotonic() > deadline:
                raise BridgeUnavailable(
                    f"The Hermes Bridge was not ready within {START_SECONDS:.0f} s. {folder / 'bridge.log'} may tell why."
                )
            await asyncio.sleep(0.02)

    def _start(self, folder: Path) -> subprocess.Popen[bytes]:
        """Detached: in a session of its own, without our terminal, in its own folder."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        log = folder / "bridge.log"
        if log.exists() and log.stat().st_size > _LOG_LIMIT:
            log.replace(folder / "bridge.log.1")
        argv = [sys.executable, "-P", "-m", "jupyter_hermes_chat.bridge", "--runtime-dir", os.fspath(folder)]
        argv += ["--data-dir", os.fspath(self._data_folder.absolute()), *self._arguments]
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=folder, start_new_session=True
            )
        finally:
            os.close(output)
        # It may outlive us; while it does not, its end is noticed, so that no zombie is left.
        threading.Thread(target=process.wait, name="hermes-bridge-end", daemon=True).start()
        return process


async def _drain(file: BridgeFile) -> None:
    headers = {"Authorization": f"Bearer {file.token}"}
    try:
        async with httpx.AsyncClient(base_url=file.url, headers=headers, trust_env=False, timeout=5) as client:
            response = await client.post("/hermes/drain")
    except httpx.TransportError:
        return  # it ended meanwhile; its lock will tell
    if response.status_code != 200:
        raise BridgeUnavailable(
            f"An older Hermes Bridge ({file.version}) is running and does not make room. End it with `jupyter hermes-chat stop`."
        )
