"""The embedded store behind the ``Store`` protocol: sessions, the list, other processes, what a crash leaves."""

from __future__ import annotations

import shutil
import stat
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from jupyter_hermes_chat.protocol.errors import (
    MessageNotFound,
    RecordedElsewhere,
    SessionNotFound,
    StorageFull,
    StoreDamaged,
    StoreError,
    StoreGone,
)
from jupyter_hermes_chat.protocol.events import Notice, Usage
from jupyter_hermes_chat.protocol.records import ErrorBody, Message, Pause, Turn
from jupyter_hermes_chat.store import durable, tinydb_store
from jupyter_hermes_chat.store.base import SessionHandle, Store
from jupyter_hermes_chat.store.tinydb_store import TinyDBStore

ME = "me"
CAPITALS = "ABCDEF00-0000-4000-8000-000000000001"
Open = Callable[[], Store]


def descriptors() -> int:
    return sum(1 for _ in Path("/dev/fd").iterdir())


class Clock:
    """Seconds since the epoch, as the test says."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def open_store(folder: Path, clock: Clock) -> Iterator[Open]:
    """Each call is another server on the same data folder."""
    opened: list[Store] = []

    def open_one() -> Store:
        opened.append(TinyDBStore(folder, wall=clock))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: Open) -> Store:
    return open_store()


def new_session(store: Store, **fields: Any) -> SessionHandle:
    return store.open_session(store.create_session(ME, **fields).id, ME)


def add_turn(handle: SessionHandle, question: str = "Why?", parent_id: str | None = None) -> tuple[Message, Message]:
    with handle.transaction() as writer:
        user = writer.add_message(parent_id=parent_id, role="USER", status="SENT", content=question)
        return user, writer.add_message(parent_id=user.id, role="ASSISTANT", status="RUNNING")


def titles(store: Store, owner: str = ME) -> list[str]:
    return [row.session.title for row in store.list_sessions(owner)[0]]


# ---- sessions and messages -----------------------------------------------------------------------------------------------


@pytest.mark.requirement("R3", "R7")
def test_a_session_is_as_it_was_made_also_for_the_next_server(store: Store, open_store: Open) -> None:
    made = store.create_session(ME, title="A", model_id="p/m", skill_folder="s", working_dir="/tmp/x")
    assert (made.title, made.model_id, made.skill_folder, made.working_dir, made.status) == ("A", "p/m", "s", "/tmp/x", "ACTIVE")
    assert made.hermes_session.startswith("chat-")
    assert store.create_session(ME).hermes_session != made.hermes_session
    assert store.open_session(made.id, ME).session() == made
    assert open_store().open_session(made.id, ME).session() == made


@pytest.mark.requirement("R8", "R17")
def test_messages_count_up_and_a_run_has_the_id_of_the_message_that_it_fills(store: Store, open_store: Open) -> None:
    handle = new_session(store)
    user, answer = add_turn(handle)
    session_id = handle.session().id
    assert (user.id, answer.id) == (f"{session_id}.1", f"{session_id}.2")
    assert (user.run_id, answer.run_id) == (None, answer.id)
    assert user.created_at < answer.created_at
    assert handle.messages() == [user, answer]
    assert open_store().open_session(session_id, ME).messages() == [user, answer]


def test_a_message_keeps_every_field(store: Store, open_store: Open) -> None:
    handle = new_session(store)
    _, answer = add_turn(handle)
    changes: dict[str, Any] = {
        "status": "FAILED",
        "content": "a\u2028b 🙂 \x00",
        "error": ErrorBody(code="guardrail", message="no", details={"why": [1, {"deep": None}]}),
        "usage": Usage(input=1, cost=0.25, context_max=2**40),
        "attachment_ids": ["x"],
        "completed_at": 5,
    }
    with handle.transaction() as writer:
        changed = writer.update_message(answer.id, **changes)
    assert changed == msgspec.structs.replace(answer, **changes)
    assert handle.message(answer.id) == changed
    assert open_store().open_session(handle.session().id, ME).message(answer.id) == changed


def test_what_is_handed_out_is_the_callers_own(store: Store) -> None:
    handle = new_session(store)
    _, answer = add_turn(handle)
    with handle.transaction() as writer:
        writer.update_message(answer.id, error=ErrorBody(code="c", message="m", details={"list": []}))
        writer.put_pause(Pause(id="p", run_id=answer.id, kind="clarify", payload={"choices": ["a"]}, created_at=1))
    for mine in (handle.message(answer.id), handle.messages()[1]):
        assert mine.error is not None
        mine.error.details["list"].append(1)
        mine.attachment_ids.append("y")
    handle.pauses()[0].payload["choices"].append("b")
    kept = handle.message(answer.id)
    assert kept.error is not None
    assert (kept.error.details, kept.attachment_ids) == ({"list": []}, [])
    assert handle.pauses()[0].payload == {"choices": ["a"]}


def test_unknown_messages_and_parents_are_told(store: Store) -> None:
    handle = new_session(store)
    user, _ = add_turn(handle)
    strange = [f"{handle.session().id}.9", f"{uuid.uuid4()}.1", "x", "", f"{user.id}/../1"]
    for message_id in strange:
        with pytest.raises(MessageNotFound):
            handle.message(message_id)
        with pytest.raises(MessageNotFound):
            handle.events(message_id)
        with pytest.raises(MessageNotFound), handle.transaction() as writer:
            writer.add_message(parent_id=message_id, role="USER", status="SENT")
    assert len(handle.messages()) == 2


@pytest.mark.requirement("R12")
def test_the_tree_follows_what_is_written(store: Store) -> None:
    handle = new_session(store)
    user, first = add_turn(handle)
    snapshot = handle.tree()
    with handle.transaction() as writer:
        place = writer.tree().place(user.id, "ASSISTANT")
        for sibling in place.deactivate:
            writer.update_message(sibling, is_active=False)
        second = writer.add_message(parent_id=user.id, role="ASSISTANT", status="RUNNING", branch_order=place.branch_order)
        assert [node.id for node in writer.tree().active_path()] == [user.id, second.id]
    assert [node.id for node in handle.tree().active_path()] == [user.id, second.id]
    assert handle.tree().version(second.id) == (2, 2)
    assert [node.id for node in snapshot.active_path()] == [user.id, first.id]


def test_a_transaction_that_fails_leaves_rows_tree_and_list_as_they_were(store: Store, open_store: Open) -> None:
    handle = new_session(store, title="A")
    add_turn(handle)
    before = (handle.session(), handle.messages(), store.list_sessions(ME))

    def fail() -> None:
        with handle.transaction() as writer:
            writer.add_message(parent_id=None, role="USER", status="SENT", content="never")
            writer.update_session(title="B")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert (handle.session(), handle.messages(), store.list_sessions(ME)) == before
    assert len(handle.tree()) == 2
    assert open_store().open_session(handle.session().id, ME).messages() == before[1]
    user, _ = add_turn(handle)
    assert user.id.endswith(".3")


def test_a_field_that_is_none_is_refused(store: Store) -> None:
    handle = new_session(store)
    _, answer = add_turn(handle)
    with pytest.raises(TypeError), handle.transaction() as writer:
        writer.update_message(answer.id, colour="blue")
    assert handle.message(answer.id) == answer


@pytest.mark.requirement("R18")
def test_the_revision_goes_up_once_a_transaction_and_not_for_nothing(store: Store, folder: Path) -> None:
    handle = new_session(store)
    first = handle.session()
    add_turn(handle)
    second = handle.session()
    assert second.revision == first.revision + 1
    assert second.updated_at > first.updated_at
    files = [folder / "index.jsonl", handle.folder / "tree.jsonl"]
    sizes = [file.stat().st_size for file in files]
    with handle.transaction() as writer:
        writer.messages()
    assert handle.session() == second
    assert [file.stat().st_size for file in files] == sizes


def test_a_pause_is_written_again_under_its_id(store: Store, open_store: Open) -> None:
    handle = new_session(store)
    _, answer = add_turn(handle)
    _, other = add_turn(handle)
    asked = Pause(id="p1", run_id=answer.id, kind="clarify", payload={"question": "?"}, created_at=1)
    with handle.transaction() as writer:
        writer.put_pause(asked)
        writer.put_pause(Pause(id="p2", run_id=other.id, kind="approval", created_at=2))
    answered = msgspec.structs.replace(asked, status="ANSWERED", answer="yes", by="me", resolved_at=3)
    with handle.transaction() as writer:
        writer.put_pause(answered)
    assert handle.pauses(answer.id) == [answered]
    assert [pause.id for pause in handle.pauses()] == ["p1", "p2"]
    assert open_store().open_session(handle.session().id, ME).pauses(answer.id) == [answered]


def test_threads_write_one_session_without_losing_a_message(store: Store) -> None:
    handle = new_session(store)

    def work() -> None:
        for _ in range(20):
            add_turn(handle)
            handle.tree()
            store.list_sessions(ME)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    messages = handle.messages()
    assert [message.id.rpartition(".")[2] for message in messages] == [str(n) for n in range(1, 161)]
    times = [message.created_at for message in messages]
    assert times == sorted(set(times))


# ---- owners and ids ------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("R64")
def test_anothers_session_is_not_found(store: Store) -> None:
    mine = store.create_session(ME)
    for call in (store.open_session, store.delete_session):
        with pytest.raises(SessionNotFound):
            call(mine.id, "somebody")
    assert store.list_sessions("somebody") == ([], 0)
    assert store.open_session(mine.id, ME).session() == mine


@pytest.mark.parametrize("session_id", ["", "x", "..", ".", "../deleted", str(uuid.UUID(int=0)), CAPITALS])
def test_an_id_that_is_none_is_not_found_and_makes_nothing(store: Store, folder: Path, session_id: str) -> None:
    decoy = store.create_session(ME).id
    for place in (folder, folder / "sessions", folder / "sessions" / CAPITALS):
        place.mkdir(exist_ok=True)
        shutil.copy(folder / "sessions" / decoy / "tree.jsonl", place)
    before = sorted(folder.rglob("*"))
    with pytest.raises(SessionNotFound):
        store.open_session(session_id, ME)
    assert sorted(folder.rglob("*")) == before


# ---- the list ------------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("R4", "R41")
def test_sessions_are_listed_by_latest_activity_a_page_at_a_time(store: Store) -> None:
    handles = [new_session(store, title=str(n)) for n in range(5)]
    store.create_session("somebody", title="not mine")
    assert titles(store) == ["4", "3", "2", "1", "0"]
    add_turn(handles[1])
    assert titles(store) == ["1", "4", "3", "2", "0"]
    with handles[0].transaction() as writer:
        writer.update_session(title="renamed")  # no activity
    assert titles(store) == ["1", "4", "3", "2", "renamed"]
    rows, total = store.list_sessions(ME, offset=1, limit=2)
    assert ([row.session.title for row in rows], total) == (["4", "3"], 5)
    assert store.list_sessions(ME, offset=4, limit=2)[0][0].session.title == "renamed"
    assert store.list_sessions(ME, offset=5) == ([], 5)


@pytest.mark.requirement("R41")
def test_a_row_tells_of_the_last_text_the_active_run_and_whether_it_waits(store: Store) -> None:
    handle = new_session(store)

    def row() -> tuple[str, str | None, bool]:
        ((shown,), _) = store.list_sessions(ME)
        return shown.last_message_preview, shown.active_run_id, shown.waiting

    assert row() == ("", None, False)
    _, answer = add_turn(handle, "What\n  is " + "this " * 100)
    assert row()[0].startswith("What is this this")
    assert len(row()[0]) <= 120
    assert row()[1:] == (answer.id, False)
    assert handle.running() == answer.id
    pause = Pause(id="p", run_id=answer.id, kind="clarify", created_at=1)
    with handle.transaction() as writer:
        writer.put_pause(pause)
    assert row()[1:] == (answer.id, True)
    with handle.transaction() as writer:
        writer.put_pause(msgspec.structs.replace(pause, status="ANSWERED"))
        writer.update_message(answer.id, status="SUCCESS", content="That.")
    assert row() == ("That.", None, False)
    assert handle.running() is None


@pytest.mark.requirement("R23")
def test_unfinished_runs_are_found_by_the_next_server(store: Store, open_store: Open) -> None:
    _, mine = add_turn(new_session(store))
    other = store.open_session(store.create_session("somebody").id, "somebody")
    _, theirs = add_turn(other)
    assert sorted(open_store().unfinished_runs()) == sorted([(ME, mine.id), ("somebody", theirs.id)])
    with other.transaction() as writer:
        writer.update_message(theirs.id, status="STOPPED")
    assert store.unfinished_runs() == [(ME, mine.id)]


def test_another_server_sees_changes_at_its_next_call(store: Store, open_store: Open) -> None:
    second = open_store()
    handle = new_session(store, title="A")
    assert titles(second) == ["A"]
    theirs = second.open_session(handle.session().id, ME)
    user, answer = add_turn(handle)
    assert theirs.messages() == [user, answer]
    with theirs.transaction() as writer:
        writer.update_message(answer.id, status="SUCCESS", content="done")
        writer.update_session(title="B")
    assert handle.message(answer.id).content == "done"
    assert titles(store) == ["B"]
    user, _ = add_turn(handle, parent_id=answer.id)
    assert user.id.endswith(".3")
    assert [node.id for node in theirs.tree().active_path()] == [message.id for message in theirs.messages()]


@pytest.mark.parametrize("harm", ["missing", "empty", "torn", "damaged", "newer"])
def test_the_list_is_made_anew_from_the_sessions(store: Store, open_store: Open, folder: Path, harm: str) -> None:
    add_turn(new_session(store, title="A"))
    new_session(store, title="B")
    rows = store.list_sessions(ME)
    store.close()
    index = folder / "index.jsonl"
    raw = index.read_bytes()
    match harm:
        case "missing":
            index.unlink()
        case "empty":
            index.write_bytes(b"")
        case "torn":
            index.write_bytes(raw[:-20])
        case "damaged":
            index.write_bytes(raw.replace(b"revision", b"Revision", 1))
        case "newer":
            index.write_bytes(b'{"log":2,"crc":"6dd7b2e6"}\n')
    assert open_store().list_sessions(ME) == rows


@pytest.mark.parametrize("harm", ["missing", "damaged"])
def test_the_list_heals_under_a_running_server(store: Store, folder: Path, harm: str) -> None:
    handle = new_session(store, title="A")
    if harm == "missing":
        (folder / "index.jsonl").unlink()
    else:
        (folder / "index.jsonl").write_bytes(b"rubbish\nrubbish\n")
    assert titles(store) == ["A"]
    with handle.transaction() as writer:
        writer.update_session(title="B")
    assert titles(store) == ["B"]


def test_a_change_whose_row_of_the_list_was_not_written_is_stored_and_listed(
    store: Store, open_store: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = new_session(store, title="A")
    append = durable.append_whole

    def no_space_for_the_list(fd: int, end: int, line: bytes, path: str) -> None:
        if path.endswith("index.jsonl"):
            raise StorageFull("No space left.")
        append(fd, end, line, path)

    monkeypatch.setattr(durable, "append_whole", no_space_for_the_list)
    _, answer = add_turn(handle)
    monkeypatch.undo()
    assert store.unfinished_runs() == [(ME, answer.id)]
    assert open_store().unfinished_runs() == [(ME, answer.id)]


@pytest.mark.requirement("R23")
def test_a_session_changed_behind_the_list_is_found_at_the_next_start(store: Store, open_store: Open, folder: Path) -> None:
    handle, gone = new_session(store, title="A"), new_session(store, title="gone")
    kept = (folder / "index.jsonl").read_bytes()
    _, answer = add_turn(handle)
    store.close()
    (folder / "index.jsonl").write_bytes(kept)  # what a server that was killed between the two files leaves
    shutil.rmtree(gone.folder)
    store = open_store()
    assert store.unfinished_runs() == [(ME, answer.id)]
    assert titles(store) == ["A"]


def test_a_damaged_session_stays_listed_and_opening_it_says_what_is_wrong(store: Store, open_store: Open) -> None:
    handle = new_session(store, title="A")
    add_turn(handle)
    new_session(store, title="B")
    log = handle.folder / "tree.jsonl"
    store.close()
    raw = log.read_bytes()
    log.write_bytes(raw[:60] + b"x" + raw[60:])
    store = open_store()
    assert titles(store) == ["B", "A"]
    with pytest.raises(StoreDamaged) as caught:
        store.open_session(handle.folder.name, ME)
    assert caught.value.details["file"] == str(log)
    log.write_bytes(raw)  # restored from a backup
    assert len(store.open_session(handle.folder.name, ME).messages()) == 2


@pytest.mark.parametrize("harm", ["log", "lock", "folder"])
def test_a_session_that_the_system_does_not_give_out_keeps_nobody_from_the_others(
    store: Store, open_store: Open, folder: Path, harm: str
) -> None:
    """Another's file, a bad sector, a mount that went stale; for root, whom no mode keeps out, a folder stands for them."""
    broken = new_session(store, title="A")
    new_session(store, title="B")
    store.close()
    there = {"log": broken.folder / "tree.jsonl", "lock": broken.folder / "tree.jsonl.lock", "folder": broken.folder}[harm]
    there.rename(folder / "aside")
    if harm == "folder":
        there.write_text("a file, not a folder")
    else:
        there.mkdir()
    (folder / "index.jsonl").unlink()
    store = open_store()
    assert titles(store) == ["B"]
    with pytest.raises((StoreError, SessionNotFound)):
        store.open_session(broken.folder.name, ME)
    assert new_session(store, title="C").session().title == "C"


# ---- deleting ------------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("R13")
def test_a_deleted_session_is_gone_everywhere_and_removed_after_ten_minutes(
    store: Store, open_store: Open, folder: Path, clock: Clock
) -> None:
    second = open_store()
    handle = new_session(store, title="A")
    theirs = second.open_session(handle.session().id, ME)
    add_turn(handle)
    kept = new_session(store, title="B")
    session_id = handle.session().id
    store.delete_session(session_id, ME)
    assert titles(store) == titles(second) == ["B"]
    for gone in (handle, theirs):
        with pytest.raises(StoreGone):
            gone.session()
        with pytest.raises(StoreGone), gone.transaction():
            pass
    for each in (store, second):
        with pytest.raises(SessionNotFound):
            each.open_session(session_id, ME)
    assert not (folder / "sessions" / session_id).exists()
    now = int(clock.now * 1000)
    store.purge_deleted(now + 9 * 60_000)
    (waiting,) = (folder / "deleted").iterdir()
    assert (waiting / "tree.jsonl").exists()
    store.purge_deleted(now + 11 * 60_000)
    assert list((folder / "deleted").iterdir()) == []
    assert kept.session().title == "B"


# ---- journals and contexts -----------------------------------------------------------------------------------------------


def test_journal_and_context_of_a_run_lie_in_its_session(store: Store, folder: Path) -> None:
    handle = new_session(store)
    _, first = add_turn(handle)
    _, second = add_turn(handle, parent_id=first.id)
    journal = handle.journal(second.id)
    with pytest.raises(RecordedElsewhere):
        handle.journal(second.id)
    event = Notice(seq=1, run_id=second.id, t=0, text="x")
    journal.append([event])
    journal.close()
    assert handle.events(second.id) == [event]
    assert handle.events(first.id) == []
    handle.write_turn(first.id, Turn(mode="add", messages=[{"n": 1}]))
    handle.write_turn(second.id, Turn(mode="add", messages=[{"n": 2}]))
    assert handle.context([first.id, second.id]) == [{"n": 1}, {"n": 2}]
    handle.sync()
    found = sorted(str(path.relative_to(handle.folder)) for path in handle.folder.rglob("*") if path.is_file())
    assert found == ["context/2.json", "context/4.json", "runs/4.jsonl", "tree.jsonl", "tree.jsonl.lock"]


def test_only_the_user_may_read_the_data_folder(store: Store, folder: Path) -> None:
    handle = new_session(store)
    _, answer = add_turn(handle)
    handle.journal(answer.id).close()
    handle.write_turn(answer.id, Turn(mode="add", messages=[]))
    store.delete_session(store.create_session(ME).id, ME)
    for path in [folder, *folder.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


# ---- descriptors and compaction ------------------------------------------------------------------------------------------


def test_many_sessions_do_not_mean_many_descriptors(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tinydb_store, "OPEN_SESSIONS", 4)
    before = descriptors()
    handles = [new_session(store, title=str(n)) for n in range(20)]
    for handle in handles:
        add_turn(handle)
    with handles[0].transaction() as writer:  # in use, so it stays open while the others come and go
        for handle in handles[1:]:
            assert len(handle.messages()) == 2
        writer.update_session(title="still here")
    assert handles[0].session().title == "still here"
    assert descriptors() - before <= 2 * 5 + 2


def test_a_log_that_is_mostly_past_is_compacted_beside_the_work(open_store: Open, folder: Path) -> None:
    store = open_store()
    handle = new_session(store)
    _, answer = add_turn(handle)
    for n in range(60):
        with handle.transaction() as writer:
            writer.update_message(answer.id, content=f"{n}" + "x" * 50_000)
    store.close()  # waits for the compaction
    assert (handle.folder / "tree.jsonl").stat().st_size < 1_500_000
    again = open_store()
    assert again.open_session(handle.folder.name, ME).message(answer.id).content.startswith("59x")
    assert again.list_sessions(ME)[1] == 1
