"""The embedded store: a folder a session, TinyDB tables over append-only logs, an index for the list (design §4).

Of the sessions on disk only the recently used are open (:data:`OPEN_SESSIONS`): two descriptors and their rows in memory each.
Several processes may use one data folder; a change of one is seen by the others at their next call. Where two locks are held,
it is always a session's before the index's.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from ..protocol.errors import SessionNotFound, StoreDamaged, StoreError, StoreGone
from ..protocol.records import SESSION_ID, Session
from . import durable
from .base import SessionSummary
from .index import SessionIndex
from .log_storage import LogStorage
from .session import OpenSession, StoredSession

OPEN_SESSIONS = 64
RESTORABLE_MS = 10 * 60 * 1000

log = logging.getLogger(__name__)


class TinyDBStore:
    """See :class:`.base.Store`."""

    def __init__(self, data_folder: Path, *, wall: Callable[[], float] = time.time) -> None:
        """Raises :class:`~..protocol.errors.LocksUnsupported`, and :class:`StoreError` where the folder cannot be written."""
        self._folder = durable.private_folder(data_folder, parents=True)
        self._sessions = durable.private_folder(data_folder / "sessions")
        self._deleted = durable.private_folder(data_folder / "deleted")
        self._wall = wall
        self._clock_lock = threading.Lock()  # its own: the clock is asked while a session's lock is held
        self._last_time = 0
        self._lock = threading.RLock()
        self._open: OrderedDict[str, OpenSession] = OrderedDict()
        self._compactor = ThreadPoolExecutor(1, thread_name_prefix="hermes-chat-compaction")
        self._index = SessionIndex(data_folder / "index.jsonl", self._sessions, self._refresh)
        self._index.repair()

    @property
    def data_folder(self) -> Path:
        return self._folder

    def create_session(
        self,
        owner: str,
        *,
        title: str = "",
        model_id: str | None = None,
        skill_folder: str | None = None,
        working_dir: str | None = None,
    ) -> Session:
        session_id = str(uuid.uuid4())
        now = self._now()
        session = Session(
            id=session_id,
            owner=owner,
            hermes_session=f"chat-{uuid.uuid4()}",
            title=title,
            model_id=model_id,
            skill_folder=skill_folder,
            working_dir=working_dir,
            created_at=now,
            updated_at=now,
        )
        durable.private_folder(self._sessions / session_id)
        with self._use(session_id) as opened, opened.log.lock:
            with opened.log.transaction():
                opened.put_session(session)
            self._publish(opened)
        return session

    def open_session(self, session_id: str, owner: str) -> StoredSession:
        folder = self._sessions / session_id
        with durable.typed(str(folder)):
            found = SESSION_ID.fullmatch(session_id) is not None and (folder / "tree.jsonl").exists()
        if not found:
            raise SessionNotFound("There is no such session.")
        handle = StoredSession(folder, partial(self._use, session_id), self._publish, self._now)
        try:
            if handle.session().owner == owner:
                return handle
        except StoreGone as error:
            raise SessionNotFound("There is no such session.") from error
        raise SessionNotFound("There is no such session.")

    def list_sessions(self, owner: str, *, offset: int = 0, limit: int = 50) -> tuple[list[SessionSummary], int]:
        return self._index.page(owner, offset, limit)

    def delete_session(self, session_id: str, owner: str) -> None:
        handle = self.open_session(session_id, owner)
        with self._use(session_id) as opened, opened.log.lock:
            opened.log.refresh()
            with durable.typed(str(handle.folder)):
                handle.folder.rename(self._deleted / f"{self._now()}-{session_id}")
            self._index.remove(session_id)
        self._forget(session_id)

    def purge_deleted(self, now: int) -> None:
        for folder in self._deleted.iterdir():
            deleted_at, _, session_id = folder.name.partition("-")
            if SESSION_ID.fullmatch(session_id) and deleted_at.isdecimal() and int(deleted_at) + RESTORABLE_MS < now:
                shutil.rmtree(folder, ignore_errors=True)  # what is left is tried again at the next call

    def unfinished_runs(self) -> list[tuple[str, str]]:
        return self._index.unfinished()

    def close(self) -> None:
        self._compactor.shutdown()
        with self._lock:
            for opened in self._open.values():
                opened.close()
            self._open.clear()
        self._index.close()

    # ---- open sessions ----------------------------------------------------------------------------------------------

    @contextmanager
    def _use(self, session_id: str) -> Iterator[OpenSession]:
        """An open session that is not closed meanwhile. One that is damaged or gone is loaded anew by the next user."""
        with self._lock:
            opened = self._open.get(session_id)
            if opened is None:
                opened = self._open[session_id] = OpenSession(self._sessions / session_id)
            else:
                self._open.move_to_end(session_id)
            opened.users += 1
        try:
            yield opened
        except (StoreGone, StoreDamaged):
            self._forget(session_id)
            raise
        finally:
            with self._lock:
                opened.users -= 1
                self._close_unused(session_id, opened)

    def _close_unused(self, session_id: str, opened: OpenSession) -> None:
        if self._open.get(session_id) is not opened and not opened.users:
            opened.close()  # forgotten while others still used it
        if len(self._open) > OPEN_SESSIONS:
            oldest = next((key for key, candidate in self._open.items() if not candidate.users), None)
            if oldest is not None:
                self._open.pop(oldest).close()

    def _forget(self, session_id: str) -> None:
        with self._lock:
            opened = self._open.pop(session_id, None)
            if opened is not None and not opened.users:
                opened.close()

    # ---- the index --------------------------------------------------------------------------------------------------

    def _publish(self, opened: OpenSession) -> None:
        """Under the session's lock, after its rows are in the file."""
        self._index.put(opened.folder.name, opened.summary())
        if opened.log.compaction_due:
            self._compactor.submit(self._compact, opened.folder.name)
        if self._index.log.compaction_due:
            self._compactor.submit(self._compact, None)

    def _compact(self, session_id: str | None) -> None:
        """In the compaction's own thread, since it fsyncs. Asked for once a transaction while it is due, so it looks again."""
        try:
            if session_id is None:
                _compact_if_due(self._index.log)
            else:
                with self._use(session_id) as opened:
                    _compact_if_due(opened.log)
                self._refresh(session_id)
        except StoreGone:
            return  # deleted meanwhile
        except StoreError as error:
            log.warning("A log could not be compacted and stays as it is: %s", error)

    def _refresh(self, session_id: str) -> None:
        with self._use(session_id) as opened, opened.log.lock:
            opened.log.refresh()
            self._index.put(opened.folder.name, opened.summary())

    def _now(self) -> int:
        """Milliseconds since the epoch, each call at least one later, so that lists have one order."""
        with self._clock_lock:
            self._last_time = max(int(self._wall() * 1000), self._last_time + 1)
            return self._last_time


def _compact_if_due(storage: LogStorage) -> None:
    if storage.compaction_due:
        storage.compact()
