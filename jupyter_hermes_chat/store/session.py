"""One stored session: its rows, its journals and the contexts of its turns.

:class:`OpenSession` is what costs memory and descriptors: the tables, and an index of them (tree, running messages, pending
pauses) that follows every change, whoever makes it. :class:`StoredSession` is the handle that callers keep: it borrows the open
session for each call, so that the store may close those that nobody uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, Struct

from ..protocol.errors import MessageNotFound, SessionNotFound
from ..protocol.events import KnownEvent, Unknown
from ..protocol.records import Message, MessageStatus, Pause, PauseStatus, Role, Session, Turn
from ..tree import Node, Tree
from .context import read_context, write_turn
from .index import Summary
from .journal import Journal, read_events
from .log_table import LogDB

PREVIEW_CHARACTERS = 120

Borrow = Callable[[], AbstractContextManager["OpenSession"]]


class _Node(Struct, frozen=True, rename="camel", gc=False):
    """What the rules and the index look at; decoded from every row that is seen, so it is short."""

    id: str
    parent_id: str | None
    role: Role
    status: MessageStatus
    is_active: bool
    branch_order: int
    deleted_at: int | None
    created_at: int


class _PauseHead(Struct, frozen=True, rename="camel"):
    id: str
    run_id: str
    status: PauseStatus


_decode_node = msgspec.json.Decoder(_Node).decode
_decode_pause_head = msgspec.json.Decoder(_PauseHead).decode
_decode_session = msgspec.json.Decoder(Session).decode
_decode_message = msgspec.json.Decoder(Message).decode
_decode_pause = msgspec.json.Decoder(Pause).decode


class OpenSession:
    """The tables of ``tree.jsonl`` and what is derived from them. Used under ``log.reading()`` or inside ``log.transaction()``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.users = 0
        self.forget()
        self._db = LogDB(folder / "tree.jsonl", watcher=self)
        self.log = self._db.storage
        self._sessions = self._db.table("session")
        self._messages = self._db.table("messages")
        self._pause_rows = self._db.table("pauses")

    def forget(self) -> None:
        self.tree: Tree[Node] = Tree()
        self.last_number = 0
        self.last_created_at = 0
        self._running: dict[str, None] = {}
        self._pauses: dict[str, tuple[int, _PauseHead]] = {}

    def saw(self, table: str, doc_id: str, row: Raw) -> None:
        if table == "messages":
            node = _decode_node(row)
            self.tree.put(node)
            self.last_number = max(self.last_number, int(doc_id))
            self.last_created_at = max(self.last_created_at, node.created_at)
            if node.status == "RUNNING":
                self._running[node.id] = None
            else:
                self._running.pop(node.id, None)
        elif table == "pauses":
            pause = _decode_pause_head(row)
            self._pauses[pause.id] = (int(doc_id), pause)

    def gone(self, table: str, doc_id: str) -> None:
        """Nothing here is ever removed (R13)."""
        raise ValueError(f"row {doc_id} of {table} is removed")

    def session(self) -> Session:
        """Raises :class:`SessionNotFound` where it was never finished being made."""
        return _decode_session(self._session_row())

    def _session_row(self) -> Raw:
        row = self._sessions.raw(1)
        if row is None:
            raise SessionNotFound("There is no such session.")
        return row

    def message(self, message_id: str) -> Message:
        """Raises :class:`MessageNotFound`."""
        row = self._messages.raw(self.number(message_id))
        assert row is not None
        return _decode_message(row)

    def messages(self) -> list[Message]:
        return [_decode_message(row) for row in self.log.tables.get("messages", {}).values()]

    def running(self) -> str | None:
        return next(reversed(self._running), None)

    def pauses(self, run_id: str | None) -> list[Pause]:
        numbers = [number for number, head in self._pauses.values() if run_id is None or head.run_id == run_id]
        return [_decode_pause(row) for row in map(self._pause_rows.raw, numbers) if row is not None]

    def put_session(self, session: Session) -> None:
        self._sessions.put(1, session)

    def put_message(self, message: Message) -> None:
        self._messages.put(_number(message.id), message)

    def put_pause(self, pause: Pause) -> None:
        number, _ = self._pauses.get(pause.id, (len(self._pauses) + 1, None))
        self._pause_rows.put(number, pause)

    def summary(self) -> Summary:
        return Summary(
            session=self._session_row(),
            last_message_preview=self._preview(),
            active_run_id=self.running(),
            waiting=any(head.status == "PENDING" for _, head in self._pauses.values()),
            size=self.log.size,
        )

    def _preview(self) -> str:
        """The start of the newest text of the shown branch, as far as activity alone tells: no walk from the root."""
        for row in reversed(self.log.tables.get("messages", {}).values()):
            message = _decode_message(row)
            if message.is_active and message.deleted_at is None and message.role != "SYSTEM" and message.content:
                return " ".join(message.content[: 4 * PREVIEW_CHARACTERS].split())[:PREVIEW_CHARACTERS]
        return ""

    def number(self, message_id: str) -> int:
        if message_id not in self.tree:
            raise MessageNotFound("There is no such message in this session.", messageId=message_id)
        return _number(message_id)

    def close(self) -> None:
        self._db.close()


def _number(message_id: str) -> int:
    """Of an id that is known to be one."""
    return int(message_id.rpartition(".")[2])


class StoredSession:
    """See :class:`.base.SessionHandle`."""

    def __init__(self, folder: Path, borrow: Borrow, publish: Callable[[OpenSession], None], clock: Callable[[], int]) -> None:
        self._folder, self._borrow, self._publish, self._clock = folder, borrow, publish, clock

    @property
    def folder(self) -> Path:
        return self._folder

    @contextmanager
    def _reading(self) -> Iterator[OpenSession]:
        with self._borrow() as opened, opened.log.reading():
            yield opened

    def session(self) -> Session:
        with self._reading() as opened:
            return opened.session()

    def message(self, message_id: str) -> Message:
        with self._reading() as opened:
            return opened.message(message_id)

    def messages(self) -> Sequence[Message]:
        with self._reading() as opened:
            return opened.messages()

    def running(self) -> str | None:
        with self._reading() as opened:
            return opened.running()

    def tree(self) -> Tree[Node]:
        with self._reading() as opened:
            return opened.tree.copy()

    def pauses(self, run_id: str | None = None) -> list[Pause]:
        with self._reading() as opened:
            return opened.pauses(run_id)

    @contextmanager
    def transaction(self) -> Iterator[SessionTransaction]:
        with self._borrow() as opened, opened.log.lock:
            with opened.log.transaction():
                writer = SessionTransaction(opened, self._clock)
                yield writer
                writer.finish()
            if writer.changed:
                self._publish(opened)

    def sync(self) -> None:
        with self._borrow() as opened:
            opened.log.sync()

    def journal(self, run_id: str) -> Journal:
        return Journal(self._run_file("runs", run_id, "jsonl"), run_id)

    def events(self, run_id: str, after: int = 0) -> list[KnownEvent | Unknown]:
        return read_events(self._run_file("runs", run_id, "jsonl"), run_id, after)

    def write_turn(self, run_id: str, turn: Turn) -> None:
        write_turn(self._run_file("context", run_id, "json"), turn)

    def context(self, run_ids: Iterable[str]) -> list[dict[str, Any]]:
        return read_context([self._run_file("context", run_id, "json") for run_id in run_ids])

    def _run_file(self, kind: str, run_id: str, ending: str) -> Path:
        with self._reading() as opened:
            number = opened.number(run_id)
        return self._folder / kind / f"{number}.{ending}"


class SessionTransaction:
    """See :class:`.base.SessionWriter`."""

    def __init__(self, opened: OpenSession, clock: Callable[[], int]) -> None:
        self._opened, self._clock = opened, clock
        self._changes: dict[str, Any] = {}
        self.changed = False

    def add_message(self, **fields: Any) -> Message:
        tree = self._opened.tree
        parent_id = fields.get("parent_id")
        if parent_id is not None and parent_id not in tree:
            raise MessageNotFound("There is no such message in this session.", messageId=parent_id)
        session = self._opened.session()
        message_id = f"{session.id}.{self._opened.last_number + 1}"
        if fields["role"] == "ASSISTANT":
            fields.setdefault("run_id", message_id)
        message = Message(
            id=message_id, session_id=session.id, created_at=max(self._clock(), self._opened.last_created_at + 1), **fields
        )
        self._opened.put_message(message)
        self.changed = True
        if message.role != "SYSTEM":
            self._changes["last_message_at"] = message.created_at
        return message

    def update_message(self, message_id: str, **changes: Any) -> Message:
        message = msgspec.structs.replace(self._opened.message(message_id), **changes)
        self._opened.put_message(message)
        self.changed = True
        return message

    def update_session(self, **changes: Any) -> Session:
        session = msgspec.structs.replace(self._opened.session(), **self._changes, **changes)
        self._changes.update(changes)
        self.changed = True
        return session

    def put_pause(self, pause: Pause) -> None:
        self._opened.put_pause(pause)
        self.changed = True

    def messages(self) -> Sequence[Message]:
        return self._opened.messages()

    def running(self) -> str | None:
        return self._opened.running()

    def tree(self) -> Tree[Node]:
        return self._opened.tree

    def finish(self) -> None:
        if self.changed:
            session = msgspec.structs.replace(self._opened.session(), **self._changes)
            session.revision += 1
            session.updated_at = max(self._clock(), session.updated_at + 1)
            self._opened.put_session(session)
