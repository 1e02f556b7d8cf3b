"""TinyDB on an append-only log: an operation appends one line that holds only what changed (design §4).

The first line is ``{"log":1,"crc":…}``, every other one a transaction ``{"ops":[…],"crc":"8 hex"}`` of operations
``{"t": table, "clear"?: true, "del"?: [ids], "set"?: {id: row}}`` or ``{"t": table, "drop": true}``. What it keeps true:

* a transaction is one line, so it is there as a whole or not at all; memory changes with it;
* whoever writes holds ``<log>.lock`` (a file of its own: the log is replaced by rename), has read what others wrote, and adds
  its line with one write;
* whoever only reads takes no file lock: it consumes whole, checksummed lines and leaves an unfinished last one alone. A writer
  cuts that one off and keeps it as ``<log>.torn``; damage anywhere else is :class:`StoreDamaged`, never an empty table;
* the descriptor stays open, so its inode cannot come again: another inode at the path means "compacted by someone, load anew".

Threads: rows are read under ``reading()`` and written under ``transaction()``; the table beside (``log_table.py``) takes the
transaction of a single operation itself.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import msgspec
from tinydb.storages import Storage

from ..protocol.errors import StoreDamaged, StoreGone, StoreNewer
from . import durable

VERSION = 1
COMPACT_BYTES = 1024 * 1024
COMPACT_RATIO = 4
"""A log is due for compaction when it is larger than this and holds four times as many written rows as living ones."""

Row: TypeAlias = dict[str, Any]
Op: TypeAlias = dict[str, Any]

encode_row = msgspec.json.Encoder().encode
decode_row = msgspec.json.Decoder().decode


def seal(record: Op) -> bytes:
    body = encode_row(record)
    return b'%s,"crc":"%08x"}\n' % (body[:-1], zlib.crc32(body))


def unseal(line: bytes) -> Op:
    """The record of a line without its newline. ``ValueError`` where the checksum is missing or wrong."""
    body = line[:-18] + b"}"
    if line[-18:-10] != b',"crc":"' or line[-10:-2] != b"%08x" % zlib.crc32(body):
        raise ValueError("the checksum does not match")
    record: Op = decode_row(body)
    return record


def unseal_all(data: bytes) -> tuple[list[Op], int, bool]:
    """Records of the whole lines at the start of *data*, how many bytes they are, and whether damage follows: an unreadable
    line that is not the last one."""
    records: list[Op] = []
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        try:
            records.append(unseal(data[start:end]))
        except ValueError:
            return records, start, data.find(b"\n", end + 1) >= 0
        start = end + 1
    return records, start, False


class Watcher(Protocol):
    """Keeps an index of the rows: told of each row that is set, by whomever, under the storage's thread lock."""

    def forget(self) -> None:
        """Everything is loaded anew."""
        ...

    def saw(self, table: str, doc_id: str, row: Row) -> None: ...


class LogStorage(Storage):
    """``tables`` are the rows as a reload would give them; they are replaced, never changed in place."""

    def __init__(self, path: str | Path, watcher: Watcher | None = None) -> None:
        self.path = Path(path)
        self.tables: dict[str, dict[str, Row]] = {}
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
                    left.unlink(missing_ok=True)  # of a compaction that died
                if not self.path.exists():
                    durable.replace_file(self.path, seal({"log": VERSION}))
                self._reload()
        except BaseException as error:
            self.close()
            if isinstance(error, FileNotFoundError):
                raise StoreGone(f"{self._name} is gone: the session was deleted.") from error
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

    def read(self) -> dict[str, dict[str, Row]] | None:
        with self.reading():
            return dict(self.tables) or None

    def _load(self) -> None:
        fd = os.open(self._name, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
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
            if (found.st_dev, found.st_ino) != self._inode:
                self._load()
                found = os.fstat(self._fd)
        except FileNotFoundError as error:
            raise StoreGone(f"{self._name} is gone: the session was deleted.") from error
        if found.st_size == self._end and self._end:
            return
        if found.st_size < self._end or not found.st_size:
            raise self._damaged(1, "the file was cut short" if self._end else "the file is empty")
        data = os.pread(self._fd, found.st_size - self._end, self._end)
        records, size, damaged = unseal_all(data)
        for record in records:
            self._lines += 1
            if self._lines == 1:
                self._check_header(record)
                continue
            try:
                self._apply(record["ops"])
            except (KeyError, TypeError, ValueError) as error:
                raise self._damaged(self._lines, f"{type(error).__name__}: {error}") from error
        self._end += size
        self.reloads += bool(records)
        if damaged or not self._lines:
            raise self._damaged(self._lines + 1, "the checksum does not match")
        if repair and size < len(data):
            durable.keep_torn(self.path, data[size:])
            os.ftruncate(self._fd, self._end)
            os.fsync(self._fd)

    def _damaged(self, line: int, why: str) -> StoreDamaged:
        return StoreDamaged(
            f"{self._name}, line {line}: {why}. Restore the file from a backup, or move its folder away.",
            file=self._name,
            line=line,
        )

    def _check_header(self, record: Op) -> None:
        version = record.get("log")
        if not isinstance(version, int) or version < 1:
            raise self._damaged(1, "this is not the log of a session")
        if version > VERSION:
            raise StoreNewer(f"{self._name} was written by a newer version. Upgrade jupyter_hermes_chat.", file=self._name)

    def _apply(self, ops: Iterable[Op]) -> None:
        for op in ops:
            name = op["t"]
            if "drop" in op:
                self.tables.pop(name, None)
                continue
            table = self.tables.setdefault(name, {})
            if "clear" in op:
                table.clear()
            for doc_id in op.get("del", ()):
                table.pop(doc_id, None)
            new = op.get("set")
            if new:
                table.update(new)
                self._written += len(new)
                if self._watcher is not None:
                    for doc_id, row in new.items():
                        self._watcher.saw(name, doc_id, row)

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
            line = seal({"ops": ops})
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
        """Inside a transaction. *op* holds rows as a reload would give them; they are the storage's from now on."""
        assert self._depth, "rows are changed inside a transaction"
        self._pending.append(op)
        self._apply((op,))

    def write(self, data: dict[str, dict[str, Row]]) -> None:
        """TinyDB's whole-file path, used by ``drop_table`` and ``drop_tables``."""
        with self.transaction():
            for name in [name for name in self.tables if name not in data]:
                self.change({"t": name, "drop": True})
            for name, rows in data.items():
                if rows is not self.tables.get(name):
                    self.change({"t": name, "clear": True, "set": decode_row(encode_row(rows))})

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
            {"t": name, "set": dict(rows[first : first + 64])}
            for name, rows in tables.items()
            for first in range(0, max(len(rows), 1), 64)
        ]
        content = b"".join([seal({"log": VERSION}), *(seal({"ops": [op]}) for op in ops)])
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
