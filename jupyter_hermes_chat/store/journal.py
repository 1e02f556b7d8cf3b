"""The journal of a run on disk: who holds its lock records, and anybody may read while it grows (design §2, R20, R23).

The journal is never renamed, so the lock sits on the file itself and ends with its process; whoever takes it then repairs an
unfinished end and goes on behind the last number. What an appended line says is what was published: nothing here changes an
event.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ..protocol.errors import RecordedElsewhere, StoreDamaged, StoreNewer
from ..protocol.events import KnownEvent, Unknown, is_terminal
from ..protocol.journal import VERSION, Damage, Header, Lines, encode_events, encode_header
from . import durable


class Journal:
    """Opened for recording. See :class:`.base.RunJournal`."""

    def __init__(self, path: Path, run_id: str) -> None:
        """Raises :class:`RecordedElsewhere`, :class:`StoreDamaged`, :class:`StoreNewer`."""
        durable.private_folder(path.parent)
        self._path, self._name = path, str(path)
        self._new = not path.exists()
        with durable.typed(self._name):
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            if not durable.lock_file(self._fd, self._name, wait=False):
                raise RecordedElsewhere("Another server records this run; it can be watched here.")
            self._take_over(run_id)
        except BaseException:
            self.close()
            raise

    def _take_over(self, run_id: str) -> None:
        with durable.typed(self._name):
            raw = os.pread(self._fd, os.fstat(self._fd).st_size, 0)
        lines = Lines(raw)
        if lines.whole < len(raw):
            durable.cut_torn(self._fd, lines.whole, self._path, raw[lines.whole :])
        self._end = lines.whole
        try:
            header, last = lines.header(), lines.last()
        except Damage as damage:
            raise damaged(self._path, damage) from damage
        if header is None:
            self._write(encode_header(run_id))
        else:
            check_header(self._path, header, run_id)
        self._last_seq = 0 if last is None else last.last_seq
        self._ended = last is not None and is_terminal(last)

    @property
    def last_seq(self) -> int:
        return self._last_seq

    @property
    def ended(self) -> bool:
        return self._ended

    def append(self, events: Sequence[KnownEvent | Unknown]) -> None:
        """``ValueError`` for a hole, and for an event behind the terminal one. On :class:`~..protocol.errors.StorageFull`
        nothing of *events* is in the file, and the same call may be made again."""
        fresh = [event for event in events if event.last_seq > self._last_seq]
        last = self._last_seq
        ended = self._ended
        for event in fresh:
            if ended or event.seq > last + 1:
                raise ValueError(f"event {event.seq} cannot follow {last}{' and the end of the run' if ended else ''}")
            last, ended = event.last_seq, is_terminal(event)
        if fresh:
            self._write(encode_events(fresh))
            self._last_seq, self._ended = last, ended

    def _write(self, raw: bytes) -> None:
        durable.append_whole(self._fd, self._end, raw, self._name)
        self._end += len(raw)

    def sync(self) -> None:
        durable.datasync(self._fd)
        if self._new:
            durable.sync_folder(self._path.parent)
            self._new = False

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def read_events(path: Path, run_id: str, after: int = 0) -> list[KnownEvent | Unknown]:
    """Events behind number *after* that are on disk; an unfinished last line is not yet one. Empty where nothing was recorded.

    Raises :class:`StoreDamaged`, :class:`StoreNewer`.
    """
    try:
        lines = Lines(path.read_bytes())
    except FileNotFoundError:
        return []
    except OSError as error:
        durable.raise_typed(error, str(path))
    try:
        header = lines.header()
        if header is not None:
            check_header(path, header, run_id)
        return lines.events(after)
    except Damage as damage:
        raise damaged(path, damage) from damage


def check_header(path: Path, header: Header, run_id: str) -> None:
    if header.journal > VERSION:
        raise StoreNewer(f"{path} was written by a newer version. Upgrade jupyter_hermes_chat.", file=str(path))
    if header.run != run_id:
        raise damaged(path, Damage(1, f"this is the journal of run {header.run}"))


def damaged(path: Path, damage: Damage) -> StoreDamaged:
    return StoreDamaged(f"{path}, {damage}. Restore the file from a backup.", file=str(path), line=damage.line)
