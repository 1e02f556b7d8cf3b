"""A Bridge's place: the runtime folder that it alone serves, and the file that says how to reach it (design §2).

The lock is held on a kept descriptor, so it dies with the process and with nothing else: who finds it free knows that the
Bridge is gone. ``bridge.json`` (mode 0600) holds the token and is written whole. Giving the place up moves both files into a
folder beside, where the lock is still held.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

import msgspec

from ..protocol.bridge import BRIDGE_FILE, BRIDGE_LOCK, BridgeFile
from ..protocol.errors import LocksUnsupported

TAKE_SECONDS = 1.0
"""Whoever looks whether the lock is free holds it for a moment; a Bridge that holds it announces itself soon."""


class Place:
    def __init__(self, folder: Path, descriptor: int) -> None:
        self.folder = folder
        self._descriptor = descriptor

    @classmethod
    def take(cls, folder: Path) -> Place | None:
        """The place, or ``None`` where another Bridge has it. :class:`LocksUnsupported` on a file system without locks."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        lock = folder / BRIDGE_LOCK
        deadline = time.monotonic() + TAKE_SECONDS
        while True:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                if (folder / BRIDGE_FILE).exists() or time.monotonic() > deadline:
                    return None
                time.sleep(0.05)
                continue
            except OSError as error:
                os.close(descriptor)
                raise LocksUnsupported(f"{folder} has no file locks. Set JUPYTER_RUNTIME_DIR to a local folder.") from error
            try:
                current = lock.stat()
            except FileNotFoundError:
                current = None
            if current is not None and os.path.samestat(os.fstat(descriptor), current):
                (folder / BRIDGE_FILE).unlink(missing_ok=True)  # of one that was killed; nobody shall take it for ours
                return cls(folder, descriptor)
            os.close(descriptor)  # a draining Bridge has moved this one away meanwhile

    def announce(self, file: BridgeFile) -> None:
        beside = self.folder / f"{BRIDGE_FILE}.new"
        beside.unlink(missing_ok=True)
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as out:
            out.write(msgspec.json.encode(file))
        beside.rename(self.folder / BRIDGE_FILE)

    def give_up(self) -> None:
        """Makes room for a newer Bridge; this one is found in ``draining-<pid>`` from now on."""
        beside = self.folder / f"draining-{os.getpid()}"
        beside.mkdir(mode=0o700, exist_ok=True)
        (self.folder / BRIDGE_FILE).rename(beside / BRIDGE_FILE)
        (self.folder / BRIDGE_LOCK).rename(beside / BRIDGE_LOCK)
        self.folder = beside

    def leave(self) -> None:
        """Takes the announcement back. The lock goes with the process, after everything else."""
        (self.folder / BRIDGE_FILE).unlink(missing_ok=True)
        if self.folder.name.startswith("draining-"):
            (self.folder / BRIDGE_LOCK).unlink(missing_ok=True)
            self.folder.rmdir()
