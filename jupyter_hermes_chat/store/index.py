"""What the list of sessions shows: ``index.jsonl``, a TinyDB table derived from the session trees and never the truth.

Each row says how long the tree's log was when it was written; a log of another length means that a process died between the
two, and its row is made anew at the next start. A damaged index is replaced and filled again. A session that cannot be read
keeps the row that it had, and opening it says what is wrong.
"""

from __future__ import annotations

import bisect
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from ..protocol.errors import SessionNotFound, StoreDamaged, StoreError, StoreGone, StoreNewer
from ..protocol.records import SESSION_ID
from . import durable
from .base import SessionSummary
from .log_storage import VERSION, Line, LogStorage, seal
from .log_table import LogDB, LogTable

UNREADABLE = -1

log = logging.getLogger(__name__)
T = TypeVar("T")


class Summary(Struct, rename="camel"):
    """A row: a :class:`.base.SessionSummary` whose session is still JSON, and the length of its tree's log in bytes."""

    session: Raw
    last_message_preview: str
    active_run_id: str | None
    waiting: bool
    size: int


class _SessionHead(Struct, rename="camel", gc=False):
    id: str
    owner: str
    created_at: int
    last_message_at: int | None


class _Head(Struct, rename="camel", gc=False):
    session: _SessionHead
    active_run_id: str | None
    size: int


_decode_head = msgspec.json.Decoder(_Head).decode
_decode_summary = msgspec.json.Decoder(SessionSummary).decode


class _Order:
    """The heads of all rows, and for each owner the ids by activity. Kept sorted: sorting 10,000 takes 10 ms, this 10 µs."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self.heads: dict[str, _Head] = {}
        self._by_activity: dict[str, list[tuple[int, str]]] = {}

    def saw(self, table: str, doc_id: str, row: Raw) -> None:
        self.gone(table, doc_id)
        head = self.heads[doc_id] = _decode_head(row)
        bisect.insort(self._by_activity.setdefault(head.session.owner, []), _activity(head))

    def gone(self, table: str, doc_id: str) -> None:
        head = self.heads.pop(doc_id, None)
        if head is not None:
            order = self._by_activity[head.session.owner]
            del order[bisect.bisect_left(order, _activity(head))]

    def newest(self, owner: str, offset: int, limit: int) -> tuple[list[str], int]:
        """Ids of a page, and how many there are."""
        order = self._by_activity.get(owner, [])
        end = len(order) - offset
        return [session_id for _, session_id in reversed(order[max(0, end - limit) : max(0, end)])], len(order)


def _activity(head: _Head) -> tuple[int, str]:
    return head.session.last_message_at or head.session.created_at, head.session.id


class _Table(LogTable):
    document_id_class = str  # type: ignore[assignment]


class _DB(LogDB):
    table_class = _Table


class SessionIndex:
    def __init__(self, path: Path, sessions: Path, refresh: Callable[[str], None]) -> None:
        """*sessions* is the folder of all sessions; *refresh* calls :meth:`put` for one, under that session's lock.
        :meth:`repair` is to be called once before the first use."""
        self._path, self._sessions, self._refresh = path, sessions, refresh
        self._order = _Order()
        try:
            self._db = _DB(path, watcher=self._order)
        except (StoreDamaged, StoreNewer):
            self._replace()
            self._db = _DB(path, watcher=self._order)
        self._stale = True

    def _replace(self) -> None:
        """An empty log instead of the damaged one; who has it open sees another inode and loads that."""
        log.warning("The list of sessions is damaged; it is made anew from the sessions.")
        with durable.typed(str(self._path)):
            lock = durable.FileLock(self._path.with_name(f"{self._path.name}.lock"))
            with lock:
                durable.replace_file(self._path, seal(Line(log=VERSION)))
            lock.close()
        self._stale = True

    def put(self, session_id: str, summary: Summary) -> None:
        """Under the session's lock, so that rows come in the order of changes. Never fails: a row that could not be written
        is made anew before the list is shown."""

        def write() -> None:
            with self.log.transaction():
                self._table.put(session_id, summary)

        self._attempt(write)

    def remove(self, session_id: str) -> None:
        ids: list[Any] = [session_id]
        self._attempt(lambda: self._table.remove(doc_ids=ids))

    def _attempt(self, write: Callable[[], object]) -> None:
        try:
            write()
        except StoreError as error:
            log.warning("The list of sessions could not be written: %s", error)
            self._stale = True

    def page(self, owner: str, offset: int, limit: int) -> tuple[list[SessionSummary], int]:
        """By latest activity (R4), and how many there are."""

        def read() -> tuple[list[SessionSummary], int]:
            ids, total = self._order.newest(owner, offset, limit)
            rows = self.log.tables.get("sessions", {})
            return [_decode_summary(rows[session_id]) for session_id in ids], total

        return self._reading(read)

    def unfinished(self) -> list[tuple[str, str]]:
        def read() -> list[tuple[str, str]]:
            heads = self._order.heads.values()
            return [(head.session.owner, head.active_run_id) for head in heads if head.active_run_id is not None]

        return self._reading(read)

    def _reading(self, read: Callable[[], T]) -> T:
        try:
            self.repair()
            with self.log.reading():
                return read()
        except (StoreDamaged, StoreGone):
            self._replace()
            return self._reading(read)

    def repair(self) -> None:
        """Compares with the folders where there is reason to; 10,000 sessions cost a tenth of a second."""
        if not self._stale:
            return
        self._stale = False
        with self.log.reading():
            known = {session_id: head.size for session_id, head in self._order.heads.items()}
        found = _log_sizes(self._sessions)
        for session_id in known.keys() - found.keys():
            self.remove(session_id)
        for session_id, size in found.items():
            if known.get(session_id) != size:
                try:
                    self._refresh(session_id)
                except (SessionNotFound, StoreGone):
                    continue  # being made or deleted at this moment
                except StoreError as error:
                    log.warning("A session cannot be read and is listed as it was: %s", error)

    @property
    def _table(self) -> LogTable:
        return self._db.table("sessions")

    @property
    def log(self) -> LogStorage:
        return self._db.storage

    def close(self) -> None:
        self._db.close()


def _log_sizes(sessions: Path) -> dict[str, int]:
    """Bytes of ``tree.jsonl`` by session id, :data:`UNREADABLE` where the system does not say."""
    sizes: dict[str, int] = {}
    with os.scandir(sessions) as entries:
        for entry in entries:
            if SESSION_ID.fullmatch(entry.name):
                try:
                    sizes[entry.name] = os.stat(f"{entry.path}/tree.jsonl").st_size  # noqa: PTH116 (10,000 of them)
                except FileNotFoundError:
                    continue  # being made at this moment
                except OSError:
                    sizes[entry.name] = UNREADABLE
    return sizes
