"""A run's log without HTTP and without processes: how long it is kept, and what survives a bad ending."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jupyter_hermes_chat.bridge.run_log import KEEP_SECONDS, RunLog


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def run(clock: Clock) -> RunLog:
    return RunLog("s.2", "s", "what I asked", clock)


def frames(run: RunLog, after: int = 0) -> list[tuple[str, dict[str, Any]]]:
    raw, _ = run.frames_after(after)
    found = []
    for block in raw.decode().split("\n\n")[:-1]:
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        found.append((fields.get("event", "message"), json.loads(fields["data"])))
    return found


def answer(run: RunLog, segment: int, offset: int, text: str) -> None:
    run.add({"kind": "answer", "segment": segment, "offset": offset, "text": text})


@pytest.mark.requirement("R23")
def test_an_unconfirmed_run_is_kept_for_an_hour_and_a_confirmed_one_not_at_all(run: RunLog, clock: Clock) -> None:
    run.fail("worker_lost", "Gone.")
    assert not run.forgettable()
    clock.now += KEEP_SECONDS + 1
    assert run.forgettable()
    clock.now -= KEEP_SECONDS
    run.confirm(run.last_seq)
    assert run.forgettable()


def test_a_run_that_goes_on_is_never_forgotten(run: RunLog, clock: Clock) -> None:
    answer(run, 0, 0, "x")
    run.confirm(1)
    clock.now += 2 * KEEP_SECONDS
    assert not run.forgettable()


def test_confirming_more_than_there_is_confirms_what_there_is(run: RunLog) -> None:
    answer(run, 0, 0, "x")
    run.confirm(50)
    answer(run, 0, 1, "y")
    assert [data["seq"] for name, data in frames(run, after=1)] == [2]
    assert frames(run)[0] == ("gap", {"first": 2})


def test_nothing_follows_the_terminal_event(run: RunLog) -> None:
    run.end_turn({"status": "complete", "text": "done", "turn": {"mode": "add", "messages": []}})
    answer(run, 0, 0, "late")
    run.stopped(cleaned=False)
    run.fail("worker_lost", "Gone.")
    assert [name if name != "message" else data["kind"] for name, data in frames(run)] == ["turn", "run_complete"]


def test_the_partial_text_is_the_last_answer_segment(run: RunLog) -> None:
    answer(run, 0, 0, "first I look")
    answer(run, 1, 0, "then ")
    answer(run, 1, 5, "I say")
    run.fail("worker_lost", "Gone.")
    (_, turn), (_, end) = frames(run)[-2:]
    assert end["text"] == turn["messages"][1]["content"] == "then I say"
    assert turn["messages"][0] == {"role": "user", "content": "what I asked"}


def test_a_question_that_the_worker_gave_up_is_closed_once(run: RunLog) -> None:
    run.add({"kind": "clarify_request", "clarifyId": "q", "question": "?"})
    assert run.waiting
    for _ in range(2):
        run.add({"kind": "clarify_resolved", "clarifyId": "q", "status": "expired"})
    assert not run.waiting
    run.fail("worker_lost", "Gone.")
    assert [data.get("status") for name, data in frames(run) if data.get("kind") == "clarify_resolved"] == ["expired"]


def test_times_count_from_the_start_of_the_run(run: RunLog, clock: Clock) -> None:
    clock.now += 1.25
    answer(run, 0, 0, "x")
    clock.now += 1
    run.end_turn({"status": "stopped", "text": "", "turn": {"mode": "add", "messages": []}})
    (_, first), *_, (_, last) = frames(run)
    assert (first["t"], last["t"], last["durationMs"], last["text"]) == (1250, 2250, 2250, "x")
