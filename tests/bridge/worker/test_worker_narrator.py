"""Hermes' callbacks as events."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_hermes_chat.bridge.worker.narrator import SILENCE_SECONDS, Narrator


class Told:
    """A narrator with a clock of its own and everything it told."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.now = 0.0
        self.waiting = False
        self.narrator = Narrator(self.events.append, waiting=lambda: self.waiting, clock=lambda: self.now)

    def segments(self, kind: str) -> list[str]:
        texts: dict[int, str] = {}
        for event in self.events:
            if event["kind"] == kind:
                assert event["offset"] == len(texts.get(event["segment"], ""))
                texts[event["segment"]] = texts.get(event["segment"], "") + event["text"]
        assert list(texts) == list(range(len(texts)))
        return list(texts.values())


def test_thinking_begins_anew_after_anything_else_and_an_answer_only_after_tools() -> None:
    told = Told()
    told.narrator.thinking("a")
    told.narrator.thinking("b")
    told.narrator.answer("c")
    told.narrator.thinking("d")
    told.narrator.answer("e")
    told.narrator.answer(None)
    told.narrator.tool_started("1", "terminal", {})
    told.narrator.tool_finished("1", "terminal", {}, "ok")
    told.narrator.answer("\n\nf")
    assert told.segments("thinking") == ["ab", "d"]
    assert told.segments("answer") == ["ce", "f"]
    assert told.narrator.text() == "f"


def test_offsets_count_code_points() -> None:
    told = Told()
    told.narrator.answer("👩‍🚀")
    told.narrator.answer("\ud83dx")
    told.narrator.answer("y")
    assert told.segments("answer") == ["👩‍🚀\ufffdxy"]


def test_blank_lines_in_the_middle_of_an_answer_stay() -> None:
    told = Told()
    told.narrator.answer("\n")
    told.narrator.answer("\n\na\n\n")
    told.narrator.answer("\nb")
    assert told.segments("answer") == ["a\n\n\nb"]


def test_a_final_answer_that_was_not_streamed_is_told_at_the_end() -> None:
    told = Told()
    assert told.narrator.close_with("all of it") == "all of it"
    assert told.segments("answer") == ["all of it"]


def test_a_footer_of_hermes_is_told_at_the_end() -> None:
    told = Told()
    told.narrator.answer("done\n")
    told.narrator.close_with("done\n\n2 files changed")
    assert told.segments("answer") == ["done\n\n2 files changed"]


def test_a_final_answer_that_was_streamed_is_not_told_twice() -> None:
    told = Told()
    told.narrator.answer("done \n")
    assert told.narrator.close_with("done") == "done"
    assert told.segments("answer") == ["done \n"]


def test_commentary_is_told_only_where_it_was_not_streamed() -> None:
    told = Told()
    told.narrator.commentary("first", already_streamed=True)
    told.narrator.commentary("second")
    told.narrator.answer("third")
    assert told.segments("answer") == ["second", "third"]


def test_a_tool_result_tells_how_long_it_took() -> None:
    told = Told()
    told.narrator.tool_started("1", "terminal", {"command": "ls"})
    told.now = 1.5
    told.narrator.tool_finished("1", "terminal", {}, {"not": "text"})
    assert told.events[-1] == {"kind": "tool_result", "callId": "1", "result": '{"not": "text"}', "durationMs": 1500}


def test_a_todo_result_that_is_an_error_tells_no_list() -> None:
    told = Told()
    told.narrator.tool_finished("1", "todo", {}, '{"error": "no"}')
    assert [e["kind"] for e in told.events] == ["tool_result"]


def test_silence_is_told_less_and_less_often() -> None:
    told = Told()
    at = []
    for second in range(60):
        told.now = float(second)
        before = len(told.events)
        told.narrator.tick()
        at += [second] * (len(told.events) - before)
    assert at == [SILENCE_SECONDS, 2 * SILENCE_SECONDS, 4 * SILENCE_SECONDS, 8 * SILENCE_SECONDS, 16 * SILENCE_SECONDS]
    told.narrator.answer("x")
    told.now += SILENCE_SECONDS
    told.narrator.tick()
    assert told.events[-1]["kind"] == "status"


def test_a_tool_or_a_person_that_is_waited_for_is_no_silence_of_the_model() -> None:
    told = Told()
    told.narrator.tool_started("1", "terminal", {})
    told.now = 100
    told.narrator.tick()
    told.narrator.tool_finished("1", "terminal", {}, "ok")
    told.waiting, told.now = True, 200
    told.narrator.tick()
    told.waiting, told.now = False, 201  # the person has just answered
    told.narrator.tick()
    assert [e["kind"] for e in told.events] == ["tool_call", "tool_result"]


@pytest.mark.parametrize(("status", "state"), [("completed", "finished"), (None, "finished"), ("timeout", "failed")])
def test_subagents_begin_work_and_end(status: str | None, state: str) -> None:
    told = Told()
    who = {"subagent_id": "a", "goal": "dig"}
    told.narrator.progress("subagent.start", None, "dig", None, **who)
    told.narrator.progress("subagent.tool", "terminal", "ls", None, **who)
    told.narrator.progress("subagent.text", None, "chatter", None, **who)
    told.narrator.progress("tool.started", "terminal", "ls", {})
    told.narrator.progress("subagent.complete", None, "found it", None, status=status, **who)
    assert [e["state"] for e in told.events] == ["started", "progress", state]
    assert told.events[1]["text"] == "terminal ls"
