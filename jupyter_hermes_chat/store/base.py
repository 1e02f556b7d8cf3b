"""The store as the service sees it; TinyDB over an append-only log is the embedded default (design §4).

A store keeps rows and never decides: which sibling becomes active is computed by ``tree.py`` and written here. All calls are
synchronous, cheap (one short append) and safe between threads and between processes on one data folder. Rows that are handed
out are the caller's own copies. Every call takes the owner and answers :class:`~..protocol.errors.SessionNotFound` for
another's session, so that no route can forget the check (R64).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from ..protocol.events import KnownEvent, Unknown
from ..protocol.records import Message, Pause, Session, Turn
from ..tree import Node, Tree


class SessionSummary(Struct, rename="camel", kw_only=True, frozen=True):
    """A row of the list. ``active_run_id`` is the run whose message is ``RUNNING``; ``waiting`` tells of a pending pause."""

    session: Session
    last_message_preview: str
    active_run_id: str | None
    waiting: bool


class SessionWriter(Protocol):
    """Inside ``SessionHandle.transaction()``: everything becomes one line of the log, all or nothing."""

    def add_message(self, **fields: Any) -> Message:
        """A new row; the caller gives its fields but these, which the writer chooses: ``id``, ``session_id``, ``created_at``
        (strictly increasing) and, of an ASSISTANT row, ``run_id``, which is its id (R17). The session's ``last_message_at``
        follows. ``branch_order`` and who is active come from ``tree().place(…)``. Raises
        :class:`~..protocol.errors.MessageNotFound` where ``parent_id`` is unknown."""
        ...

    def update_message(self, message_id: str, **changes: Any) -> Message: ...

    def update_session(self, **changes: Any) -> Session:
        """``updated_at`` and ``revision`` advance by themselves, once per transaction."""
        ...

    def put_pause(self, pause: Pause) -> None: ...

    def messages(self) -> Sequence[Message]: ...

    def running(self) -> str | None:
        """The run that goes on in this session, by the message that is ``RUNNING`` (R16)."""
        ...

    def tree(self) -> Tree[Node]:
        """The tree as this transaction has made it so far; for use inside the transaction only."""
        ...


class SessionHandle(Protocol):
    """One session. Raises :class:`~..protocol.errors.StoreGone` once it was deleted."""

    @property
    def folder(self) -> Path: ...

    def session(self) -> Session: ...

    def message(self, message_id: str) -> Message:
        """Raises :class:`~..protocol.errors.MessageNotFound`."""
        ...

    def messages(self) -> Sequence[Message]:
        """Every row, deleted ones too, in order of creation. Costs a copy of each: on a hot path ask ``tree()`` which rows
        are wanted, and ``message()`` for those."""
        ...

    def running(self) -> str | None:
        """The run that goes on in this session, by the message that is ``RUNNING`` (R16)."""
        ...

    def tree(self) -> Tree[Node]:
        """A snapshot of the tree (ids, parents, who is active; no text): 0.2 ms at 10,000 messages."""
        ...

    def pauses(self, run_id: str | None = None) -> list[Pause]: ...

    def transaction(self) -> AbstractContextManager[SessionWriter]:
        """On an exception nothing is written. Other threads and processes wait meanwhile, so nothing slow belongs inside."""
        ...

    def sync(self) -> None:
        """fdatasync of the session's rows. Slow (milliseconds): never on the event loop."""
        ...

    def journal(self, run_id: str) -> RunJournal:
        """Opened for recording. Raises :class:`~..protocol.errors.RecordedElsewhere` while another process records this run."""
        ...

    def events(self, run_id: str, after: int = 0) -> list[KnownEvent | Unknown]:
        """What the journal on disk holds behind number *after*; a row that covers *after* is included whole."""
        ...

    def write_turn(self, run_id: str, turn: Turn) -> None:
        """Durable when it returns: fsync, so never on the event loop."""
        ...

    def context(self, run_ids: Iterable[str]) -> list[dict[str, Any]]:
        """Model messages of a path: the last ``replace`` and the ``add`` turns behind it (design §6)."""
        ...


class RunJournal(Protocol):
    """The append-only log of one run, under a file lock that dies with its process."""

    @property
    def last_seq(self) -> int: ...

    @property
    def ended(self) -> bool: ...

    def append(self, events: Sequence[KnownEvent | Unknown]) -> None:
        """Events in order, without a hole behind ``last_seq``; ones that are already there are dropped. One write, no fsync."""
        ...

    def sync(self) -> None:
        """fdatasync. Slow (milliseconds): never on the event loop."""
        ...

    def close(self) -> None: ...


class Store(Protocol):
    @property
    def data_folder(self) -> Path: ...

    def create_session(
        self,
        owner: str,
        *,
        title: str = "",
        model_id: str | None = None,
        skill_folder: str | None = None,
        working_dir: str | None = None,
    ) -> Session: ...

    def open_session(self, session_id: str, owner: str) -> SessionHandle:
        """Raises :class:`~..protocol.errors.SessionNotFound`, also for ids that are malformed or another's."""
        ...

    def list_sessions(self, owner: str, *, offset: int = 0, limit: int = 50) -> tuple[list[SessionSummary], int]:
        """A page by latest activity, and how many there are."""
        ...

    def delete_session(self, session_id: str, owner: str) -> None:
        """Moves the folder to ``deleted/`` (restorable for ten minutes, then removed)."""
        ...

    def purge_deleted(self, now: int) -> None:
        """Removes what was deleted more than ten minutes before *now* (milliseconds since the epoch). May be slow."""
        ...

    def unfinished_runs(self) -> list[tuple[str, str]]:
        """(owner, run id) of every message that is ``RUNNING``: what a starting server takes up again (R23)."""
        ...

    def close(self) -> None: ...
