"""The journal of a run on disk: one records, anybody reads, and who takes over goes on behind the last number."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_hermes_chat.protocol.errors import RecordedElsewhere, StorageFull, StoreDamaged, StoreError, StoreNewer
from jupyter_hermes_chat.protocol.events import Answer, Notice, RunComplete, merge
from jupyter_hermes_chat.store import durable
from jupyter_hermes_chat.store.journal import Journal, read_events

RUN = "00000000-0000-4000-8000-000000000001.2"


def answers(first: int, last: int) -> list[Answer]:
    return [Answer(seq=seq, run_id=RUN, t=seq, segment=1, offset=seq - 1, text="x") for seq in range(first, last + 1)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "2.jsonl"


def test_what_is_appended_is_read_back_also_while_it_is_recorded(path: Path) -> None:
    journal = Journal(path, RUN)
    assert (journal.last_seq, journal.ended) == (0, False)
    journal.append(answers(1, 3))
    assert read_events(path, RUN) == answers(1, 3)
    assert read_events(path, RUN, after=2) == answers(3, 3)
    assert journal.last_seq == 3
    journal.sync()
    journal.close()


def test_nothing_recorded_is_an_empty_log(path: Path) -> None:
    assert read_events(path, RUN) == []
    Journal(path, RUN).close()
    assert read_events(path, RUN) == []


@pytest.mark.requirement("R9")
def test_a_merged_row_covers_its_numbers_and_is_given_whole_to_who_has_half_of_it(path: Path) -> None:
    journal = Journal(path, RUN)
    journal.append(merge(list(answers(1, 9))))
    (row,) = read_events(path, RUN, after=4)
    assert (row.seq, row.last_seq) == (1, 9)
    journal.append(answers(10, 10))
    assert journal.last_seq == 10
    journal.close()


@pytest.mark.requirement("R18")
def test_events_that_a_reconnect_repeats_are_dropped(path: Path) -> None:
    journal = Journal(path, RUN)
    journal.append(answers(1, 5))
    size = path.stat().st_size
    journal.append(answers(3, 5))
    assert path.stat().st_size == size
    journal.append(answers(4, 7))
    assert read_events(path, RUN) == answers(1, 7)
    journal.close()


def test_a_hole_is_refused_and_leaves_the_journal_as_it_was(path: Path) -> None:
    journal = Journal(path, RUN)
    journal.append(answers(1, 2))
    with pytest.raises(ValueError, match="event 4 cannot follow 2"):
        journal.append(answers(4, 5))
    journal.append(answers(3, 3))
    assert read_events(path, RUN) == answers(1, 3)
    journal.close()


@pytest.mark.requirement("R19")
def test_nothing_follows_the_terminal_event(path: Path) -> None:
    journal = Journal(path, RUN)
    end = RunComplete(seq=3, run_id=RUN, t=3, text="xx", duration_ms=3)
    journal.append([*answers(1, 2), end])
    assert journal.ended
    with pytest.raises(ValueError, match="end of the run"):
        journal.append(answers(4, 4))
    journal.close()
    again = Journal(path, RUN)
    assert (again.ended, again.last_seq) == (True, 3)
    again.close()


@pytest.mark.requirement("R23")
def test_one_records_until_its_process_ends_and_the_next_goes_on(path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from jupyter_hermes_chat.store.journal import Journal\n"
        "journal = Journal(Path(sys.argv[1]), sys.argv[2]); print('recording', flush=True); sys.stdin.read()\n"
    )
    other = subprocess.Popen([sys.executable, "-c", script, str(path), RUN], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert other.stdout is not None
    assert other.stdin is not None
    with other.stdin, other.stdout:
        assert other.stdout.readline() == b"recording\n"
        with pytest.raises(RecordedElsewhere):
            Journal(path, RUN)
        other.kill()
        other.wait()
    journal = Journal(path, RUN)
    with pytest.raises(RecordedElsewhere):
        Journal(path, RUN)
    journal.close()


@pytest.mark.requirement("R23")
@given(st.integers(1, 6), st.data())
def test_wherever_a_recorder_died_the_next_repairs_the_end_and_loses_no_whole_line(
    tmp_path_factory: pytest.TempPathFactory, count: int, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("journal") / "2.jsonl"
    first = Journal(path, RUN)
    first.append(answers(1, count))
    first.close()
    raw = path.read_bytes()
    cut = data.draw(st.integers(0, len(raw)))
    path.write_bytes(raw[:cut])
    seen = read_events(path, RUN)
    journal = Journal(path, RUN)
    assert journal.last_seq == len(seen) == max(0, raw[:cut].count(b"\n") - 1)
    journal.append(answers(journal.last_seq + 1, 9))
    journal.close()
    assert read_events(path, RUN) == answers(1, 9)
    tail = raw[:cut][raw[:cut].rfind(b"\n") + 1 :]
    torn = path.with_name("2.jsonl.torn")
    assert (torn.read_bytes() if tail else b"\n") == tail + b"\n"


def test_damage_before_the_end_names_file_and_line(path: Path) -> None:
    journal = Journal(path, RUN)
    journal.append(answers(1, 3))
    journal.close()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], b"rubbish\n", *lines[2:]]))
    with pytest.raises(StoreDamaged) as caught:
        read_events(path, RUN)
    assert caught.value.details == {"file": str(path), "line": 2}


def test_a_journal_that_the_system_does_not_give_out_is_named(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(StoreError, match=r"2\.jsonl cannot be used"):
        read_events(path, RUN)
    with pytest.raises(StoreError, match=r"2\.jsonl cannot be used"):
        Journal(path, RUN)


def test_the_journal_of_another_run_is_not_taken_for_this_one(path: Path) -> None:
    Journal(path, "00000000-0000-4000-8000-000000000001.4").close()
    with pytest.raises(StoreDamaged, match="journal of run"):
        Journal(path, RUN)
    with pytest.raises(StoreDamaged, match="journal of run"):
        read_events(path, RUN)


def test_a_journal_of_a_newer_version_is_not_read(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b'{"journal":2,"run":"%s"}\n' % RUN.encode())
    with pytest.raises(StoreNewer):
        read_events(path, RUN)
    with pytest.raises(StoreNewer):
        Journal(path, RUN)


@pytest.mark.requirement("R20")
@pytest.mark.parametrize("written", [0, 30, 150])
def test_a_full_disk_leaves_no_half_line_and_the_same_events_may_be_appended_again(
    path: Path, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    journal = Journal(path, RUN)
    journal.append(answers(1, 2))
    before = path.read_bytes()
    write = os.write

    def full(fd: int, data: bytes) -> int:
        if not written:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(fd, data[:written])

    monkeypatch.setattr(durable.os, "write", full)
    with pytest.raises(StorageFull):
        journal.append(answers(3, 6))
    assert path.read_bytes() == before
    assert journal.last_seq == 2
    monkeypatch.undo()
    journal.append(answers(3, 6))
    journal.close()
    assert read_events(path, RUN) == answers(1, 6)


def test_only_the_user_may_read(path: Path) -> None:
    journal = Journal(path, RUN)
    journal.append([Notice(seq=1, run_id=RUN, t=0, text="x")])
    journal.close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
