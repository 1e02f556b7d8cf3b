"""TinyDB on an append-only log: an operation appends one line that holds only what changed (design §4).

The first line is ``{"log":1,"crc":…}``, every other one a transaction ``{"ops":[…],"crc":"8 hex"}`` (:class:`Op`). What it
keeps true:

* a transaction is one line, so it is there as a whole or not at all; memory changes with it;
* whoever writes holds ``<log>.lock`` (a file of its own: the log is replaced by rename), has read what others wrote, and adds
  its line with one write;
* whoever only reads takes no file lock: it consumes whole, checksummed lines and leaves an unfinished last one alone. A writer
  cuts that one off and keeps it as ``<log>.torn``; damage anywhere else is :class:`StoreDamaged`, never an empty table;
* the descriptor stays open, so its inode cannot come again: another inode at the path means "compacted by someone, load anew";
* rows stay in memory as the JSON that is in the file and are decoded for whoever asks. So a row that is handed out is the
  caller's own in depth, and loading a log costs a third of decoding it.

Threads: rows are read under ``reading()`` and written under ``transaction()``; the table beside (``log_table.py``) takes the
transaction of a single operation itself.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec import Raw, Struct
from tinydb.storages import Storage

from ..protocol.errors import StoreDamaged, StoreGone, StoreNewer
from . import durable

VERSION = 1
COMPACT_BYTES = 1024 * 1024
COMPACT_RATIO = 4
"""A log is due for compaction when it is larger than this and holds four times as many written rows as living ones."""

encode_row = msgspec.json.Encoder().encode
decode_row = msgspec.json.Decoder().decode


class Op(Struct, omit_defaults=True, gc=False):
    """What becomes of one table, in this order: it is dropped or emptied, rows go, rows are set."""

    t: str
    drop: bool = False
    clear: bool = False
    gone: tuple[str, ...] = msgspec.field(default=(), name="del")
    set: dict[str, Raw] = {}


class Line(Struct, omit_defaults=True, gc=False):
    """The header has a version, every other line has operations. What stands before ``,"crc"`` is what the checksum covers."""

    log: int | None = None
    ops: list[Op] = []


_decode_line = msgspec.json.Decoder(Line).decode


def seal(line: Line) -> bytes:
    body = encode_row(line)[:-1]
    return b'%s,"crc":"%08x"}\n' % (body, zlib.crc32(body))


def unseal(raw: bytes) -> Line:
    """*raw* has no newline. ``ValueError`` where the checksum is missing or wrong, or what it covers is no line of a log."""
    if raw[-18:] != b',"crc":"%08x"}' % zlib.crc32(memoryview(raw)[:-18]):
        raise ValueError("the checksum does not match")
    return _decode_line(raw)


def unseal_all(data: bytes) -> Iterator[tuple[Line, int]]:
    """Each whole line at the start of *data*, and where it ends (bytes).

    Stops before an unfinished end: what has no newline, and a last line that was torn. ``ValueError`` where a damaged line has
    whole ones behind it. One line at a time, since a list of them all would set off Python's garbage collector.
    """
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        try:
            line = unseal(data[start:end])
        except ValueError:
            if data.find(b"\n", end + 1) >= 0:
                raise
            return
        start = end + 1
        yield line, start


class Rows(Mapping[str, Any]):
    """A table's rows as TinyDB reads them, decoded anew for each access."""

    def __init__(self, raw: dict[str, Raw]) -> None:
        self.raw = raw

    def __getitem__(self, doc_id: str) -> Any:
        return decode_row(self.raw[doc_id])

    def __iter__(self) -> Iterator[str]:
        return iter(self.raw)

    def __len__(self) -> int:
        return len(self.raw)


class Watcher(Protocol):
    """Keeps an index of the rows: told of every change, whoever made it, under the storage's thread lock. A ``ValueError`` says
    that a row makes no sense, so that the log counts as damaged."""

    def forget(self) -> None:
        """Everything is loaded anew."""
        ...

    def saw(self, table: str, doc_id: str, row: Raw) -> None: ...

    def gone(self, table: str, doc_id: str) -> None: ...


class LogStorage(Storage):
    """``tables`` are the rows by table and id, as JSON."""

    def __init__(self, path: str | Path, watcher: Watcher | None = None) -> None:
        self.path = Path(path)
        self.tables: dict[str, dict[str, Raw]] = {}
        self.reloads = 0
        """Counts what others changed: ids and caches derived before are stale."""
        self._name = str(self.path)
        self._watcher = watcher
        self._fd, self._inode, self._end, self._lines, self._written = -1, (0, 0), 0, 0, 0
        self._pending: list[Op] = []
        self._depth = 0
        self._transaction = Transaction(self)
        self.lock = durable.FileLock(self.path.with_name(self.path.name + ".lock"))
        try:
            with self.lock:
                for left in self.path.parent.glob(f"{self.path.name}.*.new"):
                    left.unlink(missing_ok=True)  # of a compaction that died; one that lives gives up
                if not self.path.exists():
                    durable.replace_file(self.path, seal(Line(log=VERSION)))
                self._reload()
        except BaseException as error:
            self.close()
            if isinstance(error, FileNotFoundError):
                raise self._missing() from error
            raise

    # ---- reading ----------------------------------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Inside, other threads do not change the rows; what other processes wrote until now is there."""
        with self.lock.threads:
            self.refresh()
            yield

    def refresh(self) -> None:
        """Raises :class:`StoreGone`, :class:`StoreDamaged`; ``ValueError`` when closed."""
        if self._fd < 0:
            raise ValueError("the storage is closed")
        if not self._depth:
            self._catch_up(repair=False)

    def read(self) -> dict[str, Any] | None:
        with self.reading():
            return {name: Rows(rows) for name, rows in self.tables.items()} or None

    def _load(self) -> None:
        try:
            fd = os.open(self._name, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise self._missing() from error
        except OSError as error:
            durable.raise_typed(error, self._name)
        if self._fd >= 0:
            os.close(self._fd)
        found = os.fstat(fd)
        self._fd, self._inode, self._end, self._lines, self._written = fd, (found.st_dev, found.st_ino), 0, 0, 0
        self.tables.clear()
        self.reloads += 1
        if self._watcher is not None:
            self._watcher.forget()

    def _catch_up(self, repair: bool) -> None:
        """Reads what was appended. With *repair* (file lock held) an unfinished end is cut off."""
        try:
            found = os.stat(self._name)  # noqa: PTH116 (Path.stat costs twice as much, and this comes before every operation)
        except FileNotFoundError as error:
            raise self._missing() from error
        except OSError as error:
            durable.raise_typed(error, self._name)
        if (found.st_dev, found.st_ino) != self._inode:
            self._load()
            found = os.fstat(self._fd)
        if found.st_size == self._end and self._end:
            return
        if found.st_size < self._end or not found.st_size:
            raise self._damaged(1, "the file was cut short" if self._end else "the file is empty")
        with durable.typed(self._name):
            data = os.pread(self._fd, found.st_size - self._end, self._end)
        number, size = self._lines, 0
        touched: dict[str, dict[str, int]] = {}  # a row that was written twice is shown once
        try:
            for line, size in unseal_all(data):  # noqa: B007 (size is that of all)
                number += 1
                if number == 1:
                    self._check_header(line)
                for op in line.ops:
                    touched.setdefault(op.t, {}).update(dict.fromkeys(self._apply(op), number))
        except ValueError as error:
            raise self._damaged(number + 1, str(error)) from error
        if not number:
            raise self._damaged(1, "the header is unfinished")
        self._tell_all(touched)
        self._end += size
        self.reloads += number > self._lines
        self._lines = number
        if repair and size < len(data):
            durable.cut_torn(self._fd, self._end, self.path, data[size:])

    def _missing(self) -> StoreGone:
        return StoreGone(f"{self._name} is gone: the session was deleted.", file=self._name)

    def _damaged(self, line: int, why: str) -> StoreDamaged:
        return StoreDamaged(
            f"{self._name}, line {line}: {why}. Restore the file from a backup, or move its folder away.",
            file=self._name,
            line=line,
        )

    def _check_header(self, line: Line) -> None:
        if line.log is None or line.log < 1:
            raise self._damaged(1, "this is not the log of a session")
        if line.log > VERSION:
            raise StoreNewer(f"{self._name} was written by a newer version. Upgrade jupyter_hermes_chat.", file=self._name)

    def _apply(self, op: Op) -> Iterable[str]:
        """The ids of the rows that it touched."""
        table = self.tables.setdefault(op.t, {})
        gone = list(table) if op.clear or op.drop else op.gone
        for doc_id in gone:
            table.pop(doc_id, None)
        if op.drop:
            del self.tables[op.t]
        table.update(op.set)
        self._written += len(op.set)
        return [*gone, *op.set] if gone else op.set

    def _tell_all(self, touched: Mapping[str, Mapping[str, int]]) -> None:
        """*touched* has the line of every row, by table and id."""
        for table, rows in touched.items():
            for doc_id, number in rows.items():
                try:
                    self._tell(table, doc_id)
                except ValueError as error:
                    raise self._damaged(number, str(error)) from error

    def _tell(self, table: str, doc_id: str) -> None:
        if self._watcher is not None:
            row = self.tables.get(table, {}).get(doc_id)
            if row is None:
                self._watcher.gone(table, doc_id)
            else:
                self._watcher.saw(table, doc_id, row)

    # ---- writing ----------------------------------------------------------------------------------------------------

    def transaction(self) -> Transaction:
        """What is changed inside becomes one line when it ends; on an exception nothing is written, and memory is loaded anew.

        One inside another is part of it. Raises :class:`~..protocol.errors.StorageFull`, :class:`StoreGone`,
        :class:`StoreDamaged`.
        """
        return self._transaction

    def _begin(self) -> None:
        self.lock.__enter__()
        try:
            if self._depth == 0:
                if self._fd < 0:
                    raise ValueError("the storage is closed")
                self._catch_up(repair=True)
                self._pending = []
            self._depth += 1
        except BaseException:
            self.lock.__exit__()
            raise

    def _finish(self, failed: bool) -> None:
        try:
            self._depth -= 1
            if self._depth == 0 and self._pending:
                ops, self._pending = self._pending, []
                if failed:
                    self._reload()
                else:
                    self._commit(ops)
        finally:
            self.lock.__exit__()

    def _commit(self, ops: list[Op]) -> None:
        try:
            line = seal(Line(ops=ops))
            durable.append_whole(self._fd, self._end, line, self._name)
        except BaseException:
            self._reload()
            raise
        self._end += len(line)
        self._lines += 1

    def _reload(self) -> None:
        self._load()
        self._catch_up(repair=True)

    def change(self, op: Op) -> None:
        """Inside a transaction."""
        assert self._depth, "rows are changed inside a transaction"
        self._pending.append(op)
        for doc_id in self._apply(op):
            self._tell(op.t, doc_id)

    def write(self, data: dict[str, Any]) -> None:
        """TinyDB's whole-file path, used by ``drop_table`` and ``drop_tables``."""
        with self.transaction():
            for name in [name for name in self.tables if name not in data]:
                self.change(Op(t=name, drop=True))
            for name, rows in data.items():
                if not (isinstance(rows, Rows) and rows.raw is self.tables.get(name)):
                    self.change(Op(t=name, clear=True, set={str(i): Raw(encode_row(row)) for i, row in rows.items()}))

    @property
    def size(self) -> int:
        """Bytes of the log as far as it was read."""
        return self._end

    def sync(self) -> None:
        durable.datasync(self._fd)

    @property
    def compaction_due(self) -> bool:
        return self._end > COMPACT_BYTES and self._written > COMPACT_RATIO * sum(map(len, self.tables.values()))

    def compact(self) -> None:
        """Replaces the log by one that holds only living rows. Slow (encode, fsync) but holds no lock while it is slow: what
        is written meanwhile is copied behind. If another process compacts at the same time, one of them gives up."""
        with self.reading():
            inode, start = self._inode, self._end
            tables = {name: list(rows.items()) for name, rows in self.tables.items()}
        ops = [
            Op(t=name, set=dict(rows[first : first + 64]))
            for name, rows in tables.items()
            for first in range(0, max(len(rows), 1), 64)
        ]
        content = b"".join([seal(Line(log=VERSION)), *(seal(Line(ops=[op])) for op in ops)])
        new = self.path.with_name(f"{self.path.name}.{os.getpid()}.new")
        try:
            with durable.typed(self._name):
                durable.write_new(new, content)
            with self.lock:
                self._catch_up(repair=True)
                if self._inode != inode:
                    return
                with durable.typed(self._name):
                    behind = os.pread(self._fd, self._end - start, start)
                    durable.append_synced(new, behind)
                    new.replace(self.path)
                    durable.sync_folder(self.path.parent)
                self._reload()
        finally:
            new.unlink(missing_ok=True)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        self.lock.close()


class Transaction:
    """``with storage.transaction():``; a class, since a generator costs three times as much and this surrounds every operation."""

    __slots__ = ("_log",)

    def __init__(self, log: LogStorage) -> None:
        self._log = log

    def __enter__(self) -> None:
        self._log._begin()

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        self._log._finish(error is not None)
