"""What the store costs (design §10): an operation by id beside SQLite, the list, the start, a long session, a long run.

Figures that compare are taken in turns, and the fastest round of each counts, since other things run on the machine too.
"""

from __future__ import annotations

import random
import sqlite3
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path

import msgspec

from jupyter_hermes_chat.protocol.events import Answer, RunStarted, Thinking, ToolCall, ToolResult
from jupyter_hermes_chat.protocol.journal import encode_events, encode_header
from jupyter_hermes_chat.protocol.records import Message, Session
from jupyter_hermes_chat.store.log_storage import VERSION, Line, Op, encode_row, seal
from jupyter_hermes_chat.store.log_table import LogDB
from jupyter_hermes_chat.store.session import StoredSession
from jupyter_hermes_chat.store.tinydb_store import TinyDBStore

from ._figures import Figure, at_most, best_of, ratio_at_most, seconds, show

TEXT = "The answer to that is a paragraph of the usual length, with a few commas. " * 8
OWNER = "me"
Act = Callable[[int], object]


def session_rows(messages: int) -> tuple[Session, list[Message]]:
    """A straight conversation: question, answer, question, …"""
    session_id = str(uuid.uuid4())
    now = 1_700_000_000_000 + random.randrange(1_000_000_000)
    session = Session(
        id=session_id,
        owner=OWNER,
        hermes_session="chat-x",
        title="A title",
        created_at=now,
        updated_at=now,
        last_message_at=now + messages,
    )
    rows = [
        Message(
            id=f"{session_id}.{n}",
            session_id=session_id,
            parent_id=f"{session_id}.{n - 1}" if n > 1 else None,
            role="USER" if n % 2 else "ASSISTANT",
            status="SENT" if n % 2 else "SUCCESS",
            content=TEXT,
            run_id=None if n % 2 else f"{session_id}.{n}",
            created_at=now + n,
        )
        for n in range(1, messages + 1)
    ]
    return session, rows


def write_session(folder: Path, messages: int) -> str:
    """A session as the store would have left it: each assistant message was written twice, the session row with every turn."""
    session, rows = session_rows(messages)
    about = Op(t="session", set={"1": msgspec.Raw(encode_row(session))})
    lines = [Line(log=VERSION), Line(ops=[about])]
    for n, row in enumerate(rows, 1):
        op = Op(t="messages", set={str(n): msgspec.Raw(encode_row(row))})
        lines += [Line(ops=[op])] if n % 2 else [Line(ops=[op]), Line(ops=[op, about])]
    place = folder / "sessions" / session.id
    place.mkdir(parents=True)
    (place / "tree.jsonl").write_bytes(b"".join(map(seal, lines)))
    return session.id


def open_session(store: TinyDBStore, session_id: str) -> StoredSession:
    return store.open_session(session_id, OWNER)


def rounds(acts: dict[str, Act], repeat: int = 10, times: int = 300) -> dict[str, float]:
    """Microseconds per call of each, the fastest of *times* rounds, taken in turns."""
    best = dict.fromkeys(acts, float("inf"))
    for _ in range(times):
        for name, act in acts.items():
            best[name] = min(best[name], seconds(lambda act=act: [act(i) for i in range(repeat)]) / repeat * 1e6)  # type: ignore[misc]
    return best


def sqlite(path: Path, messages: list[Message]) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("pragma journal_mode=wal")
    connection.execute("pragma synchronous=normal")
    for table in ("messages", "session", "list"):
        connection.execute(f"create table {table} (n integer primary key, doc text)")
    connection.execute("begin")
    rows = [(n, msgspec.json.encode(m).decode()) for n, m in enumerate(messages, 1)]
    connection.executemany("insert into messages values (?, ?)", rows)
    connection.execute("commit")
    return connection


def operation(folder: Path) -> list[Figure]:
    """TinyDB's ``update`` by document id, and SQLite's ``update`` by primary key."""
    acts: dict[str, Act] = {}
    for count in (10, 10_000):
        _, messages = session_rows(count)
        table = LogDB(folder / f"{count}.jsonl").table("messages")
        table.insert_multiple(msgspec.to_builtins(m) for m in messages)
        acts[str(count)] = lambda i, table=table: table.update({"content": f"{i}{TEXT}"}, doc_ids=[7])
    connection = sqlite(folder / "operation.sqlite", messages)

    def update(i: int) -> None:
        (doc,) = connection.execute("select doc from messages where n = 7").fetchone()
        row = msgspec.json.decode(doc)
        row["content"] = f"{i}{TEXT}"
        connection.execute("update messages set doc = ? where n = 7", (msgspec.json.encode(row).decode(),))

    best = rounds({**acts, "sqlite": update})
    return [
        ratio_at_most("store: operation by id, 10,000 rows beside 10", best["10000"], "µs", best["10"], 1.3),
        ratio_at_most("store: operation by id beside SQLite WAL", best["10000"], "µs", best["sqlite"], 1.5),
    ]


def transaction(folder: Path) -> list[Figure]:
    """What the service does all day: a message changes, its session's revision and its row of the list with it.

    Not a figure of the design: three rows in two logs, the tree and the list's order kept up, beside three bare SQLite updates.
    """
    store = TinyDBStore(folder / "transaction")
    acts: dict[str, Act] = {}
    for count in (10, 10_000):
        handle = open_session(store, write_session(folder / "transaction", count))
        message_id = handle.messages()[6].id

        def change(i: int, handle: StoredSession = handle, message_id: str = message_id) -> None:
            with handle.transaction() as writer:
                writer.update_message(message_id, content=f"{i}{TEXT}")

        acts[str(count)] = change
    session, messages = session_rows(10_000)
    connection = sqlite(folder / "transaction.sqlite", messages)
    connection.execute("insert into session values (1, ?)", (msgspec.json.encode(session).decode(),))
    connection.execute("insert into list values (1, '{}')")

    def update(i: int) -> None:
        connection.execute("begin immediate")
        (doc,) = connection.execute("select doc from messages where n = 7").fetchone()
        message = msgspec.structs.replace(msgspec.json.decode(doc, type=Message), content=f"{i}{TEXT}")
        connection.execute("update messages set doc = ? where n = 7", (msgspec.json.encode(message).decode(),))
        (doc,) = connection.execute("select doc from session where n = 1").fetchone()
        session = msgspec.json.decode(doc, type=Session)
        session.revision += 1
        connection.execute("update session set doc = ? where n = 1", (msgspec.json.encode(session).decode(),))
        shown = {"session": session, "lastMessagePreview": TEXT[:120], "activeRunId": None, "waiting": False}
        connection.execute("update list set doc = ? where n = 1", (msgspec.json.encode(shown).decode(),))
        connection.execute("commit")

    best = rounds({**acts, "sqlite": update})
    store.close()
    return [
        ratio_at_most("store: transaction of a session, 10,000 messages beside 10", best["10000"], "µs", best["10"], 1.3),
        ratio_at_most("store: transaction of a session beside SQLite WAL", best["10000"], "µs", best["sqlite"], 3),
    ]


def many_sessions(folder: Path) -> list[Figure]:
    for _ in range(10_000):
        write_session(folder, 2)
    TinyDBStore(folder).close()  # makes the index
    started: list[TinyDBStore] = []
    start = best_of(lambda: started.append(TinyDBStore(folder)), 5)
    store = started[0]
    rows, total = store.list_sessions(OWNER)
    assert total == 10_000
    handle = open_session(store, rows[0].session.id)

    def after_a_change() -> float:
        with handle.transaction() as writer:
            writer.update_session(title="Another title")
        return seconds(lambda: store.list_sessions(OWNER))

    page = min(after_a_change() for _ in range(9))
    for each in started:
        each.close()
    return [
        at_most("store: start-up with 10,000 sessions", start * 1000, "ms", 300),
        at_most("store: list of 10,000 sessions, first page", page * 1000, "ms", 10),
    ]


def long_session(folder: Path) -> list[Figure]:
    session_id = write_session(folder, 3_000)
    runs = folder / "sessions" / session_id / "runs"
    runs.mkdir()
    for n in range(2, 3_001, 2):
        run_id = f"{session_id}.{n}"
        (runs / f"{n}.jsonl").write_bytes(encode_header(run_id) + encode_events(turn(run_id, rows=20)))

    def view(store: TinyDBStore) -> None:
        handle = open_session(store, session_id)
        tree = handle.tree()
        for node in tree.active_path()[-50:]:
            message = handle.message(node.id)
            tree.version(node.id)
            if message.run_id is not None:
                assert handle.events(message.run_id)

    TinyDBStore(folder).close()  # makes the index, which opens the session

    def cold() -> float:
        store = TinyDBStore(folder)
        try:
            return seconds(lambda: view(store))
        finally:
            store.close()

    return [at_most("store: open a session of 3,000 messages, last 50 with logs", min(cold() for _ in range(9)) * 1000, "ms", 50)]


def turn(run_id: str, rows: int) -> list[RunStarted | Thinking | Answer | ToolCall | ToolResult]:
    """Events as a run records them: text merged into pieces of 200 ms, a tool now and then."""
    events: list[RunStarted | Thinking | Answer | ToolCall | ToolResult] = [RunStarted(seq=1, run_id=run_id, t=0, model="m")]
    offset = 0
    for seq in range(2, rows + 1):
        if seq % 10 == 3:
            events.append(ToolCall(seq=seq, run_id=run_id, t=seq, call_id=f"c{seq}", tool="terminal", args={"command": "ls"}))
        elif seq % 10 == 4:
            events.append(ToolResult(seq=seq, run_id=run_id, t=seq, call_id=f"c{seq - 1}", result="a\nb\n" * 40))
        else:
            events.append(Answer(seq=seq, run_id=run_id, t=seq, segment=1, offset=offset, text="some words of text "))
            offset += 19
    return events


def replay(folder: Path) -> list[Figure]:
    session_id = write_session(folder, 2)
    run_id = f"{session_id}.2"
    store = TinyDBStore(folder)
    handle = open_session(store, session_id)
    journal = handle.journal(run_id)
    journal.append(turn(run_id, rows=10_000))
    journal.close()
    assert len(handle.events(run_id)) == 10_000
    figure = at_most("store: replay of 10,000 events, read and decoded", best_of(lambda: handle.events(run_id), 7) * 1000, "ms", 60)
    store.close()
    return [figure]


def main() -> list[Figure]:
    figures: list[Figure] = []
    for part in (operation, transaction, many_sessions, long_session, replay):
        with tempfile.TemporaryDirectory() as folder:
            figures += part(Path(folder))
    return figures


if __name__ == "__main__":
    show(main())
