"""What the list of sessions shows: ``index.jsonl``, a TinyDB table derived from the session trees and never the truth.

Each row says how long the tree's log was when it was written; a log of another length means that a process died between the
two, and its row is made anew at the next start. A damaged index is replaced and filled again. A session that cannot be read
keeps the row that it had, and opening it says what is wrong.
"""

from __future__ import annotations

import heapq
import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ..protocol.errors import SessionNotFound, StoreDamaged, StoreError, StoreGone, StoreNewer
from ..protocol.records import SESSION_ID
from . import durable
from .base import SessionSummary
from .log_storage import VERSION, LogStorage, Row, seal
from .log_table import LogDB, LogTable

log = logging.getLogger(__name__)
T = TypeVar("T")


class _Table(LogTable):
    document_id_class = str  # type: ignore[assignment]


class _DB(LogDB):
    table_class = _Table


class SessionIndex:
    def __init__(self, path: Path, sessions: Path, refresh: Callable[[str], None]) -> None:
        """*sessions* is the folder of all sessions; *refresh* calls :meth:`put` for one, under that session's lock."""
        self._path, self._sessions, self._refresh = path, sessions, refresh
        try:
            self._db = _DB(path)
        except (StoreDamaged, StoreNewer):
            self._replace()
        self._stale = True
        self.repair()

    def _replace(self) -> None:
        log.warning("The list of sessions is damaged; it is made anew from the sessions.")
        durable.replace_file(self._path, seal({"log": VERSION}))
        self._db = _DB(self._path)
        self._stale = True

    def put(self, summary: Row, size: int) -> None:
        """Under the session's lock, so that rows come in the order of changes. Never fails: a row that could not be written
        is made anew before the list is shown."""

        def write() -> None:
            with self.log.transaction():
                self._table.put(summary["session"]["id"], {**summary, "size": size})

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

        def read(rows: Mapping[str, Any]) -> tuple[list[SessionSummary], int]:
            own = [row for row in rows.values() if row["session"]["owner"] == owner]
            newest = heapq.nlargest(offset + limit, own, key=_activity)
            return [msgspec.convert(row, SessionSummary) for row in newest[offset:]], len(own)

        return self._reading(read)

    def unfinished(self) -> list[tuple[str, str]]:
        return self._reading(
            lambda rows: [(row["session"]["owner"], row["activeRunId"]) for row in rows.values() if row["activeRunId"]]
        )

    def _reading(self, read: Callable[[Mapping[str, Any]], T]) -> T:
        try:
            self.repair()
            with self.log.reading():
                return read(self.log.tables.get("sessions", {}))
        except (StoreDamaged, StoreGone):
            self._db.close()
            self._replace()
            return self._reading(read)

    def repair(self) -> None:
        """Compares with the folders where there is reason to; 10,000 sessions cost a tenth of a second."""
        if not self._stale:
            return
        self._stale = False
        with self.log.reading():
            known = {session_id: row["size"] for session_id, row in self.log.tables.get("sessions", {}).items()}
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


def _activity(row: Mapping[str, Any]) -> tuple[int, str]:
    session = row["session"]
    return session["lastMessageAt"] or session["createdAt"], session["id"]


def _log_sizes(sessions: Path) -> dict[str, int]:
    """Bytes of ``tree.jsonl`` by session id."""
    sizes: dict[str, int] = {}
    with os.scandir(sessions) as entries:
        for entry in entries:
            if SESSION_ID.fullmatch(entry.name):
                try:
                    sizes[entry.name] = os.stat(f"{entry.path}/tree.jsonl").st_size  # noqa: PTH116 (10,000 of them)
                except FileNotFoundError:
                    continue  # being made at this moment
    return sizes
