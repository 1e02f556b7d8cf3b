"""TinyDB on an append-only log: its own API keeps working, a transaction is all or nothing, damage is never an empty table."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tinydb import TinyDB, where
from tinydb.operations import increment
from tinydb.storages import MemoryStorage
from tinydb.table import Document

from jupyter_hermes_chat.protocol.errors import LocksUnsupported, StorageFull, StoreDamaged, StoreError, StoreGone, StoreNewer
from jupyter_hermes_chat.store import durable
from jupyter_hermes_chat.store.log_storage import LogStorage, seal, unseal_all
from jupyter_hermes_chat.store.log_table import LogDB


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tree.jsonl"


@pytest.fixture
def db(path: Path) -> Iterator[LogDB]:
    with LogDB(path) as db:
        yield db


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")


# ---- TinyDB's API -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda path: LogDB(path), lambda path: TinyDB(storage=MemoryStorage)])
def test_tinydbs_public_api_answers_as_tinydb_itself_does(path: Path, make: object) -> None:
    db = make(path)  # type: ignore[operator]
    table = db.table("t")
    assert table.insert({"a": 1}) == 1
    assert table.insert_multiple([{"a": 2}, {"a": 3, "b": [1]}]) == [2, 3]
    assert table.insert(Document({"a": 9}, doc_id=9)) == 9
    assert table.insert({"a": 10}) == 10
    with pytest.raises(ValueError, match="already exists"):
        table.insert(Document({"a": 9}, doc_id=9))
    assert table.get(doc_id=3) == {"a": 3, "b": [1]}
    assert table.get(doc_id=4) is None
    assert table.get(where("a") == 2).doc_id == 2
    assert [row.doc_id for row in table.get(doc_ids=[1, 9])] == [1, 9]
    assert table.search(where("a") > 8) == [{"a": 9}, {"a": 10}]
    assert table.count(where("a") > 8) == 2
    assert table.contains(doc_id=9)
    assert not table.contains(where("a") == 77)
    assert table.update({"c": True}, doc_ids=[1, 77]) == [1]
    assert table.update(increment("a"), where("a") == 10) == [10]
    assert table.update_multiple([({"d": 1}, where("a") == 2), ({"d": 2}, where("a") == 3)]) == [2, 3]
    assert table.upsert({"a": 2, "e": 1}, where("a") == 2) == [2]
    assert table.upsert({"a": 50}, where("a") == 50) == [11]
    assert table.upsert(Document({"f": 1}, doc_id=3)) == [3]
    assert table.remove(doc_ids=[1, 77]) == [1]
    assert table.remove(where("a") == 9) == [9]
    assert {row.doc_id: dict(row) for row in table} == {
        2: {"a": 2, "d": 1, "e": 1},
        3: {"a": 3, "b": [1], "d": 2, "f": 1},
        10: {"a": 11},
        11: {"a": 50},
    }
    assert len(table) == 4
    db.insert({"x": 1})
    assert db.tables() == {"_default", "t"}
    db.drop_table("_default")
    assert db.tables() == {"t"}
    table.truncate()
    assert table.all() == []
    db.drop_tables()
    assert db.tables() == set()
    db.close()


def test_an_existing_table_survives_persist_empty(db: LogDB, path: Path) -> None:
    db.table("t").insert({"a": 1})
    with LogDB(path) as again:
        assert again.table("t", persist_empty=True).all() == [{"a": 1}]
        again.table("new", persist_empty=True)
    assert db.tables() == {"t", "new"}


def test_an_operation_appends_one_line_with_the_rows_that_it_touched(db: LogDB, path: Path) -> None:
    table = db.table("t")
    table.insert_multiple({"n": n, "text": "x" * 100} for n in range(1_000))
    before, size = lines(path), path.stat().st_size
    table.update({"n": -1}, doc_ids=[7])
    assert lines(path) == before + 1
    assert path.stat().st_size - size < 250


def test_a_change_that_changes_nothing_writes_nothing(db: LogDB, path: Path) -> None:
    db.table("t").insert({"n": 1})
    size = path.stat().st_size
    db.table("t").update({"n": 1}, doc_ids=[1])
    assert path.stat().st_size == size
    db.table("t").update({"n": True}, doc_ids=[1])  # equal in Python, not in JSON
    assert path.stat().st_size > size


def test_rows_are_the_callers_own_in_depth(db: LogDB) -> None:
    table = db.table("t")
    table.insert({"usage": {"input": 1}, "ids": [1]})
    for row in (table.get(doc_id=1), table.all()[0], table.search(where("ids").exists())[0]):
        row["usage"]["input"] = 77  # type: ignore[index,call-overload]
        row["ids"].append(2)  # type: ignore[index,union-attr,call-overload]
    assert table.all() == [{"usage": {"input": 1}, "ids": [1]}]


def test_what_was_given_may_change_afterwards(db: LogDB) -> None:
    row = {"usage": {"input": 1}}
    db.table("t").insert(row)
    row["usage"]["input"] = 2
    assert db.table("t").get(doc_id=1) == {"usage": {"input": 1}}


def test_memory_has_what_a_reload_would_give(db: LogDB, path: Path) -> None:
    db.table("t").insert({"pair": (1, 2), 3: "three"})
    with LogDB(path) as again:
        assert again.table("t").all() == db.table("t").all() == [{"pair": [1, 2], "3": "three"}]


def test_an_updater_that_fails_leaves_nothing_behind(db: LogDB, path: Path) -> None:
    table = db.table("t")
    table.insert_multiple([{"n": 1}, {"n": "a"}])
    size = path.stat().st_size
    with pytest.raises(TypeError):
        table.update(increment("n"))
    assert table.all() == [{"n": 1}, {"n": "a"}]
    assert path.stat().st_size == size


def test_an_insert_does_not_choose_the_id_of_a_row_that_was_put(db: LogDB) -> None:
    table = db.table("t")
    table.insert({"n": 1})
    with db.storage.transaction():
        table.put(2, {"n": 2})
    assert table.insert({"n": 3}) == 3


class AgainstADict(RuleBasedStateMachine):
    """Any sequence of operations, by two that have the log open, with reopening and compaction, is what a dict would hold."""

    ids = st.integers(1, 8)
    rows = st.dictionaries(st.sampled_from("abc"), st.one_of(st.integers(), st.text(max_size=3), st.none()), max_size=3)

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "log.jsonl"
        self.dbs = [LogDB(self.path), LogDB(self.path)]
        self.model: dict[int, dict[str, object]] = {}

    @rule(who=st.integers(0, 1), doc_id=ids, row=rows)
    def put(self, who: int, doc_id: int, row: dict[str, object]) -> None:
        self.dbs[who].table("t").upsert(Document(row, doc_id))
        self.model[doc_id] = {**self.model.get(doc_id, {}), **row}

    @rule(who=st.integers(0, 1), row=rows)
    def insert(self, who: int, row: dict[str, object]) -> None:
        doc_id = self.dbs[who].table("t").insert(row)
        assert doc_id not in self.model
        self.model[doc_id] = row

    @rule(who=st.integers(0, 1), doc_id=ids)
    def remove(self, who: int, doc_id: int) -> None:
        removed = self.dbs[who].table("t").remove(doc_ids=[doc_id])
        assert bool(removed) == (self.model.pop(doc_id, None) is not None)

    @rule(who=st.integers(0, 1), value=st.integers())
    def update_all(self, who: int, value: int) -> None:
        self.dbs[who].table("t").update({"a": value})
        for row in self.model.values():
            row["a"] = value

    @rule(who=st.integers(0, 1), changes=st.lists(st.tuples(ids, rows), max_size=4), fails=st.booleans())
    def transaction(self, who: int, changes: list[tuple[int, dict[str, object]]], fails: bool) -> None:
        db = self.dbs[who]
        before = self.path.read_bytes()
        try:
            with db.storage.transaction():
                for doc_id, row in changes:
                    db.table("t").put(doc_id, row)
                    assert db.table("t").get(doc_id=doc_id) == row
                if fails:
                    raise KeyError
        except KeyError:
            assert self.path.read_bytes() == before
        else:
            assert self.path.read_bytes().count(b"\n") == before.count(b"\n") + bool(changes)
            self.model.update({doc_id: dict(row) for doc_id, row in changes})

    @rule(who=st.integers(0, 1))
    def truncate(self, who: int) -> None:
        self.dbs[who].table("t").truncate()
        self.model.clear()

    @rule(who=st.integers(0, 1))
    def compact(self, who: int) -> None:
        self.dbs[who].storage.compact()

    @rule(who=st.integers(0, 1))
    def reopen(self, who: int) -> None:
        self.dbs[who].close()
        self.dbs[who] = LogDB(self.path)

    @invariant()
    def both_see_the_same(self) -> None:
        for db in self.dbs:
            assert {row.doc_id: dict(row) for row in db.table("t")} == self.model

    def teardown(self) -> None:
        for db in self.dbs:
            db.close()
        self.folder.cleanup()


TestAgainstADict = AgainstADict.TestCase
TestAgainstADict.settings = settings(max_examples=settings().max_examples // 2, stateful_step_count=20)


# ---- transactions -------------------------------------------------------------------------------------------------------


def test_a_transaction_over_tables_is_one_line_and_unseen_before_its_end(db: LogDB, path: Path) -> None:
    with LogDB(path) as other:
        before = lines(path)
        with db.storage.transaction():
            db.table("a").insert({"x": 1})
            db.table("b").insert({"y": 1})
            db.table("a").update({"x": 2})
            assert db.table("a").all() == [{"x": 2}]
            assert other.tables() == set()
        assert lines(path) == before + 1
        assert other.table("a").all() == [{"x": 2}]
        assert other.table("b").all() == [{"y": 1}]


def test_another_thread_sees_a_transaction_only_as_a_whole(db: LogDB) -> None:
    inside, seen = threading.Event(), []
    reader = threading.Thread(target=lambda: (inside.wait(), seen.append(db.tables())))
    reader.start()
    with db.storage.transaction():
        db.table("a").insert({"x": 1})
        inside.set()
        reader.join(0.05)  # it waits for the end of the transaction
        assert seen == []
        db.table("b").insert({"x": 1})
    reader.join(5)
    assert seen == [{"a", "b"}]


def test_threads_and_processes_lose_no_increment(db: LogDB, path: Path) -> None:
    db.table("t").insert({"n": 0})
    script = (
        "import sys; from tinydb.operations import increment; from jupyter_hermes_chat.store.log_table import LogDB\n"
        "db = LogDB(sys.argv[1])\n"
        "for _ in range(100): db.table('t').update(increment('n'), doc_ids=[1]); db.table('log').insert({})\n"
    )
    processes = [subprocess.Popen([sys.executable, "-c", script, str(path)]) for _ in range(2)]

    def work() -> None:
        for _ in range(100):
            db.table("t").update(increment("n"), doc_ids=[1])
            db.table("log").insert({})

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [process.wait(30) for process in processes] == [0, 0]
    assert db.table("t").all() == [{"n": 400}]
    assert len(db.table("log")) == 400


# ---- damage -------------------------------------------------------------------------------------------------------------


def three_lines(path: Path) -> bytes:
    with LogDB(path) as db:
        db.table("t").insert({"n": 1})
        db.table("t").insert({"n": 2})
    return path.read_bytes()


def test_a_torn_last_line_is_cut_off_and_kept_wherever_it_was_torn(path: Path) -> None:
    whole = three_lines(path)
    start = whole.rindex(b"\n", 0, -1) + 1
    for cut in range(start, len(whole)):
        path.write_bytes(whole[:cut])
        with LogDB(path) as db:
            assert db.table("t").all() == [{"n": 1}]
            db.table("t").insert({"n": 3})
        with LogDB(path) as db:
            assert db.table("t").all() == [{"n": 1}, {"n": 3}]
        if cut > start:
            torn = path.with_name("tree.jsonl.torn")
            assert torn.read_bytes() == whole[start:cut] + b"\n"
            assert stat.S_IMODE(torn.stat().st_mode) == 0o600
            torn.unlink()


def test_a_reader_leaves_an_unfinished_line_to_its_writer(db: LogDB, path: Path) -> None:
    db.table("t").insert({"n": 1})
    with LogDB(path) as other, path.open("ab") as writer:
        writer.write(b'{"ops":[{"t":"t","set":{"2":')
        writer.flush()
        assert other.table("t").all() == [{"n": 1}]
        assert not path.with_name("tree.jsonl.torn").exists()


def test_every_flipped_bit_but_in_the_last_line_is_damage_with_file_and_line(path: Path) -> None:
    whole = three_lines(path)
    ends = [i for i, byte in enumerate(whole) if byte == 10]
    for position in range(0, ends[1], 3):
        if position in ends:
            continue
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 4]) + whole[position + 1 :])
        with pytest.raises(StoreDamaged) as caught:
            LogDB(path)
        assert caught.value.details == {"file": str(path), "line": 1 if position < ends[0] else 2}


def test_an_empty_file_is_damage(path: Path) -> None:
    three_lines(path)
    path.write_bytes(b"")
    with pytest.raises(StoreDamaged, match="empty"):
        LogDB(path)


def test_a_file_that_became_shorter_under_us_is_damage(db: LogDB, path: Path) -> None:
    db.table("t").insert({"n": 1})
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(StoreDamaged, match="cut short"):
        db.table("t").all()


def test_a_log_of_a_newer_version_is_not_read(path: Path) -> None:
    path.write_bytes(seal({"log": 2}))  # type: ignore[arg-type]
    with pytest.raises(StoreNewer, match="Upgrade"):
        LogDB(path)


def test_a_removed_log_is_gone_and_not_made_anew(db: LogDB, path: Path) -> None:
    path.unlink()
    with pytest.raises(StoreGone):
        db.table("t").all()
    with pytest.raises(StoreGone):
        db.table("t").insert({"n": 1})
    assert not path.exists()


def test_a_replaced_log_is_loaded(db: LogDB, path: Path, tmp_path: Path) -> None:
    db.table("t").insert({"n": 1})
    with LogDB(tmp_path / "other.jsonl") as other:
        other.table("t").insert({"n": 2})
    (tmp_path / "other.jsonl").replace(path)
    assert db.table("t").all() == [{"n": 2}]
    assert db.table("t").insert({"n": 3}) == 2


# ---- full disks, missing locks, modes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("written", [0, 20])
def test_a_full_disk_is_told_and_leaves_no_half_line(db: LogDB, path: Path, monkeypatch: pytest.MonkeyPatch, written: int) -> None:
    db.table("t").insert({"n": 1})
    before = path.read_bytes()
    write = os.write

    def full(fd: int, data: bytes) -> int:
        if not written:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(fd, data[:written])

    monkeypatch.setattr(durable.os, "write", full)
    with pytest.raises(StorageFull, match="Free some space"):
        db.table("t").update({"n": 2})
    assert path.read_bytes() == before
    assert db.table("t").all() == [{"n": 1}]
    monkeypatch.undo()
    db.table("t").update({"n": 3})
    assert db.table("t").all() == [{"n": 3}]


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOTSUP])
def test_a_file_system_without_locks_is_told(path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def flock(fd: int, operation: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(durable.fcntl, "flock", flock)
    with pytest.raises(LocksUnsupported, match="data_dir"):
        LogDB(path)


def test_a_platform_without_locks_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durable, "fcntl", None)
    with pytest.raises(LocksUnsupported, match="WSL2"):
        LogDB(path)


def test_only_the_user_may_read(db: LogDB, path: Path) -> None:
    db.table("t").insert({"n": 1})
    db.storage.compact()
    for file in path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


# ---- compaction ---------------------------------------------------------------------------------------------------------


def test_compaction_keeps_rows_and_forgets_what_they_were(db: LogDB, path: Path) -> None:
    table = db.table("t")
    table.insert_multiple({"n": n} for n in range(200))
    for n in range(50):
        table.update({"n": n}, doc_ids=[1])
    db.table("empty", persist_empty=True)
    rows, size = table.all(), path.stat().st_size
    with LogDB(path) as other:
        db.storage.compact()
        assert path.stat().st_size < size
        assert table.all() == other.table("t").all() == rows
        assert other.tables() == {"t", "empty"}
        other.table("t").insert({"n": "new"})
        assert table.get(doc_id=201) == {"n": "new"}


def test_what_is_written_during_a_compaction_stays(db: LogDB, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db.table("t").insert({"n": 1})
    write_new = durable.write_new
    with LogDB(path) as other:

        def and_meanwhile(file: Path, content: bytes) -> None:
            write_new(file, content)
            other.table("t").insert({"n": "of another"})
            db.table("t").insert({"n": "of ours"})

        monkeypatch.setattr(durable, "write_new", and_meanwhile)
        db.storage.compact()
        for each in (db, other, LogDB(path)):
            assert [row["n"] for row in each.table("t")] == [1, "of another", "of ours"]


def test_a_compaction_whose_file_was_taken_for_a_leftover_gives_up(db: LogDB, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db.table("t").insert({"n": 1})
    write_new = durable.write_new

    def and_somebody_opens(file: Path, content: bytes) -> None:
        write_new(file, content)
        LogDB(path).close()

    monkeypatch.setattr(durable, "write_new", and_somebody_opens)
    with pytest.raises(StoreError):
        db.storage.compact()
    assert db.table("t").all() == [{"n": 1}]


def test_of_two_compactions_at_once_one_gives_up(db: LogDB, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db.table("t").insert({"n": 1})
    db.table("t").update({"n": 2})
    with LogDB(path) as other:
        write_new = durable.write_new

        def and_another(file: Path, content: bytes) -> None:
            monkeypatch.undo()
            other.storage.compact()
            other.table("t").insert({"n": "since"})
            write_new(file, content)

        monkeypatch.setattr(durable, "write_new", and_another)
        db.storage.compact()
        assert db.table("t").all() == other.table("t").all() == [{"n": 2}, {"n": "since"}]


def test_compaction_is_due_when_most_of_the_log_is_past(db: LogDB) -> None:
    table = db.table("t")
    table.insert({"text": "x" * 100_000})
    for n in range(8):
        table.update({"n": n}, doc_ids=[1])
        assert not db.storage.compaction_due
    for n in range(8):
        table.update({"n": -n}, doc_ids=[1])
    assert db.storage.compaction_due
    db.storage.compact()
    assert not db.storage.compaction_due


def test_what_a_dead_compaction_left_is_removed_at_the_next_opening(path: Path) -> None:
    three_lines(path)
    left = path.with_name("tree.jsonl.123.new")
    left.write_bytes(b"half")
    with LogDB(path) as db:
        assert len(db.table("t")) == 2
    assert not left.exists()


def test_a_closed_storage_says_so(path: Path) -> None:
    storage = LogStorage(path)
    storage.close()
    with pytest.raises(ValueError, match="closed"):
        storage.read()
    with pytest.raises(ValueError, match="closed"), storage.transaction():
        pass


def test_lines_before_a_damaged_one_are_counted() -> None:
    good = seal({"log": 1}) + seal({"ops": []})  # type: ignore[arg-type]
    damaged = unseal_all(good + b"rubbish\n" + good)
    assert [next(damaged)[1], next(damaged)[1]] == [len(seal({"log": 1})), len(good)]  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="checksum"):
        next(damaged)
    assert [end for _, end in unseal_all(good + b"rubbish\n" + b"rub")][-1] == len(good)
