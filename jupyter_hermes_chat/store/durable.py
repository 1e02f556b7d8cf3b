"""What is asked of a file system, in one place: locks, whole writes, atomic replacement, private modes, typed errors.

Everything here is for files that only the user may read (files 0600, directories 0700, design §4).
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from ..protocol.errors import LocksUnsupported, StorageFull, StoreError

try:
    import fcntl
except ImportError:  # native Windows
    fcntl = None  # type: ignore[assignment]

_NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}
_FULL = {errno.ENOSPC, errno.EDQUOT}

datasync = getattr(os, "fdatasync", os.fsync)
"""``fdatasync``, which macOS lacks."""


def lock_file(fd: int, path: str, *, wait: bool = True) -> bool:
    """Takes the exclusive lock of an open file; it ends with the descriptor, so with the process at the latest.

    False where *wait* is false and another descriptor holds it. Raises :class:`LocksUnsupported`.
    """
    if fcntl is None:
        raise LocksUnsupported(
            "This platform has no file locks: native Windows cannot keep chats. Use WSL2, or set bridge_url to a server elsewhere."
        )
    try:
        fcntl.flock(fd, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in _NO_LOCKS:
            raise LocksUnsupported(
                f"The file system of {path} has no locks ({error.strerror}). Set c.HermesChatApp.data_dir to a local folder."
            ) from error
        raise
    return True


def unlock_file(fd: int) -> None:
    fcntl.flock(fd, fcntl.LOCK_UN)


class FileLock:
    """Keeps out other threads and other processes; re-entrant. The descriptor is kept: a lock costs 1 µs."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        self.threads = threading.RLock()
        self._depth = 0
        self._fd = -1

    def __enter__(self) -> None:
        self.threads.acquire()
        try:
            if self._depth == 0:
                if self._fd < 0:
                    self._fd = self._open()
                lock_file(self._fd, self._path)
        except BaseException:
            self.threads.release()
            raise
        self._depth += 1

    def _open(self) -> int:
        """Raises ``FileNotFoundError`` where its folder is gone, which means something to whoever locks."""
        try:
            return os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise_typed(error, self._path)

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            unlock_file(self._fd)
        self.threads.release()

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def append_whole(fd: int, end: int, line: bytes, path: str) -> None:
    """Appends *line* with one write, or nothing: what a full disk took of it is cut off again at *end* (bytes).

    Raises :class:`StorageFull`, :class:`StoreError`.
    """
    try:
        if os.write(fd, line) != len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except OSError as error:
        with typed(path):
            os.ftruncate(fd, end)
        raise_typed(error, path)


def replace_file(path: Path, content: bytes) -> None:
    """Writes a new file beside *path*, then renames it over: a reader sees the old or the new one, also after a power cut."""
    new = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}.new")
    try:
        write_new(new, content)
        new.replace(path)
    except OSError as error:
        raise_typed(error, str(path))
    finally:
        new.unlink(missing_ok=True)
    sync_folder(path.parent)


def write_new(path: Path, content: bytes) -> None:
    """A private file with *content*, fsynced."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(fd, view) :]
        os.fsync(fd)
    finally:
        os.close(fd)


def append_synced(path: Path, content: bytes) -> None:
    """Adds *content* to a file that is there, and fsyncs it."""
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(fd, view) :]
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_folder(folder: Path) -> None:
    """So that a file's appearance, too, survives a power cut."""
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def cut_torn(fd: int, end: int, path: Path, tail: bytes) -> None:
    """Cuts the unfinished *tail* behind *end* off the open file at *path*; it stays readable in ``<path>.torn``."""
    torn = path.with_name(f"{path.name}.torn")
    with typed(str(path)):
        torn.touch(mode=0o600)
        append_synced(torn, tail + b"\n")
        os.ftruncate(fd, end)
        os.fsync(fd)


def private_folder(folder: Path, *, parents: bool = False) -> Path:
    """Makes *folder*, which only the user may enter; with *parents* what is missing above it is made as usual."""
    with typed(str(folder)):
        folder.mkdir(mode=0o700, parents=parents, exist_ok=True)
    return folder


@contextlib.contextmanager
def typed(path: str) -> Iterator[None]:
    """Turns an ``OSError`` inside into one of ours."""
    try:
        yield
    except OSError as error:
        raise_typed(error, path)


def raise_typed(error: OSError, path: str) -> NoReturn:
    if error.errno in _FULL:
        raise StorageFull(f"No space left for {path}. Free some space; nothing that was saved is lost.", path=path) from error
    raise StoreError(f"{path} cannot be used: {error.strerror or error}.", path=path) from error
