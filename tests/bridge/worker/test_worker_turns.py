"""What the real Hermes Agent does in a worker, as events and as an ending: one test a kind of turn."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from jupyter_hermes_chat.protocol.events import KINDS, decode
from tests.bridge.worker.rig import Ended, Line, Tour, Worker, until

pytestmark = pytest.mark.agent


def answering(worker: Worker, answer: str) -> Any:
    def hook(event: Line) -> None:
        if event["kind"] == "clarify_request":
            worker.send("clarify", runId=event["runId"], clarifyId=event["clarifyId"], answer=answer)

    return hook


def approving(worker: Worker, choice: str) -> Any:
    def hook(event: Line) -> None:
        if event["kind"] == "approval_request":
            worker.send("approve", runId=event["runId"], approvalId=event["approvalId"], choice=choice)

    return hook


def stopping(worker: Worker, kind: str) -> Any:
    def hook(event: Line) -> None:
        if event["kind"] == kind:
            worker.send("interrupt", runId=event["runId"])

    return hook


def scratch(worker: Worker) -> Path:
    folder = worker.working_dir / "scratch"
    folder.mkdir(exist_ok=True)
    (folder / "old.txt").write_text("old")
    return folder


def assert_events_are_of_the_protocol(ended: Ended) -> None:
    for event in ended.events:
        assert event["kind"] in KINDS
        decode(json.dumps({"seq": 1, "runId": "r", "t": 0, **event}))


@pytest.mark.requirement("R1", "R46")
def test_a_plain_turn_begins_with_its_model_and_ends_with_its_answer(worker: Worker) -> None:
    ended = worker.run("hello", userMessageId="session.1", skill="arxiv")
    started = ended.events[0]
    assert started["kind"] == "run_started"
    assert (started["provider"], started["model"]) == ("tour", "hermes-tour")
    assert (started["userMessageId"], started["skill"]) == ("session.1", "arxiv")
    assert started["versions"]["hermes"] == worker.ready["hermes"]
    assert ended.end["status"] == "complete"
    assert ended.end["segments"] == 1
    assert ended.end["text"] == ended.text("answer")
    assert ended.end["text"].startswith("Hello! I am the tour")
    assert [m["role"] for m in ended.messages] == ["user", "assistant"]
    assert_events_are_of_the_protocol(ended)


def test_usage_is_of_the_turn_and_not_of_the_agent(worker: Worker) -> None:
    first, second = worker.run("hello").end["usage"], worker.run("hello").end["usage"]
    assert first["output"] == second["output"] > 0
    assert first["contextMax"] == 128_000
    assert 0 < first["contextUsed"] < 128_000
    assert "cost" not in first  # unknown for an endpoint of one's own


@pytest.mark.requirement("R19")
def test_thinking_is_the_reasoning_and_not_the_answer(worker: Worker) -> None:
    ended = worker.run("think")
    assert ended.text("thinking").startswith("The person wants to see thinking.")
    assert ended.text("answer").startswith("That grey text above")
    assert ended.kinds.index("thinking") < ended.kinds.index("answer")


@pytest.mark.requirement("R31")
def test_status_lines_have_no_kaomoji(worker: Worker) -> None:
    lines = [e["text"] for e in worker.run("think").of("status")]
    assert lines
    assert all(line[0].isalnum() for line in lines)


@pytest.mark.requirement("R19", "R31")
def test_a_tool_tells_its_call_and_its_result(worker: Worker) -> None:
    ended = worker.run("list files")
    (call,), (result,) = ended.of("tool_call"), ended.of("tool_result")
    assert call["tool"] == "terminal"
    assert call["args"]["command"].startswith("printf")
    assert call["summary"].startswith("printf")
    assert result["callId"] == call["callId"]
    assert json.loads(result["result"])["output"].startswith("Hello from your terminal.")
    assert result["durationMs"] >= 0
    assert "isError" not in result
    assert "Hello from your terminal." in ended.end["text"]
    assert_events_are_of_the_protocol(ended)


def test_answer_segments_end_where_tools_begin_and_start_without_blank_lines(worker: Worker) -> None:
    ended = worker.run("tour", hook=answering(worker, "A formula"))
    segments: dict[int, str] = {}
    for event in ended.of("answer"):
        segments[event["segment"]] = segments.get(event["segment"], "") + event["text"]
    assert list(segments) == [0, 1, 2, 3]
    assert not any(text.startswith("\n") for text in segments.values())
    assert ended.end["segments"] == 4
    assert ended.end["text"] == segments[3]


@pytest.mark.requirement("R19", "R37")
def test_the_whole_tour_in_chinese_shows_every_zone(worker: Worker) -> None:
    ended = worker.run("请带我走一遍导览", hook=answering(worker, "一张表格"))
    assert {"thinking", "answer", "status", "tool_call", "tool_result", "todo_update", "clarify_request"} <= set(ended.kinds)
    assert ended.end["status"] == "complete"
    assert "你的回答是**一张表格**" in ended.end["text"]
    assert {t["status"] for t in ended.of("todo_update")[-1]["todos"]} == {"completed"}
    assert_events_are_of_the_protocol(ended)


@pytest.mark.requirement("R19")
def test_parallel_tools_find_their_results(worker: Worker) -> None:
    ended = worker.run("parallel")
    calls, results = ended.of("tool_call"), ended.of("tool_result")
    assert len({c["callId"] for c in calls}) == len(calls) == 2
    assert {r["callId"] for r in results} == {c["callId"] for c in calls}
    kinds = [k for k in ended.kinds if k.startswith("tool_")]
    assert kinds == ["tool_call", "tool_call", "tool_result", "tool_result"]


@pytest.mark.requirement("R19", "R31")
def test_the_todo_list_is_told_whole_after_each_change(worker: Worker) -> None:
    lists = [e["todos"] for e in worker.run("todo").of("todo_update")]
    assert [sum(t["status"] == "completed" for t in todos) for todos in lists] == [0, 1, 2, 3]
    assert all(len(todos) == 3 for todos in lists)


@pytest.mark.requirement("R37")
def test_a_clarify_waits_and_its_answer_reaches_the_model(worker: Worker) -> None:
    ended = worker.run("ask me", hook=answering(worker, "Violet, please 💜"))
    (request,) = ended.of("clarify_request")
    assert request["choices"] == ["Blue", "Orange", "Green"]
    assert request["allowOther"]
    assert ended.end["text"] == "You chose: Violet, please 💜"


@pytest.mark.requirement("R25", "R37")
def test_a_stop_wakes_a_waiting_clarify(worker: Worker) -> None:
    ended = worker.run("ask me", hook=stopping(worker, "clarify_request"))
    assert ended.end["status"] == "stopped"
    assert ended.messages[-1]["role"] == "assistant"
    assert worker.run("hello").end["status"] == "complete"


@pytest.mark.requirement("R38")
def test_a_denied_command_does_not_run(worker: Worker) -> None:
    folder = scratch(worker)
    ended = worker.run("delete", hook=approving(worker, "deny"))
    (request,) = ended.of("approval_request")
    assert request["command"] == "rm -rf ./scratch"
    assert request["description"]
    assert request["choices"] == ["once", "session", "deny"]
    assert (folder / "old.txt").exists()
    assert ended.of("tool_result")[0]["isError"]
    assert "did **not** run" in ended.end["text"]


@pytest.mark.requirement("R38")
def test_a_command_that_nobody_approves_does_not_run(worker: Worker) -> None:
    folder = scratch(worker)
    ended = worker.run("delete", hook=stopping(worker, "approval_request"))
    assert ended.end["status"] == "stopped"
    assert (folder / "old.txt").exists()


@pytest.mark.requirement("R38")
def test_a_choice_that_is_none_is_a_denial(worker: Worker) -> None:
    folder = scratch(worker)
    worker.run("delete", hook=approving(worker, "yes, of course"))
    assert (folder / "old.txt").exists()


@pytest.mark.requirement("R38")
def test_a_command_that_is_approved_once_runs_and_is_asked_for_again(worker: Worker) -> None:
    folder = scratch(worker)
    ended = worker.run("delete", hook=approving(worker, "once"), hermesSession="chat-once")
    assert not folder.exists()
    assert ended.end["text"].startswith("The command ran")
    scratch(worker)
    again = worker.run("delete", ended.messages, hook=approving(worker, "deny"), hermesSession="chat-once")
    assert len(again.of("approval_request")) == 1


@pytest.mark.requirement("R38")
def test_a_command_that_is_approved_for_the_session_is_not_asked_for_again(worker: Worker) -> None:
    scratch(worker)
    ended = worker.run("delete", hook=approving(worker, "session"), hermesSession="chat-session")
    folder = scratch(worker)
    again = worker.run("delete", ended.messages, hermesSession="chat-session")
    assert again.of("approval_request") == []
    assert not folder.exists()
    assert worker.run("delete", hermesSession="chat-session").of("approval_request") == []  # another branch of this chat
    assert len(worker.run("delete", hook=approving(worker, "deny")).of("approval_request")) == 1  # another chat


@pytest.mark.requirement("R19")
def test_a_guardrail_refusal_is_an_error_with_its_reason(worker: Worker) -> None:
    ended = worker.run("guardrail")
    assert ended.end["status"] == "error"
    assert ended.end["error"]["code"] == "guardrail"
    assert ended.end["error"]["guardrailsFailureReason"].startswith("This request was refused by a guardrail")


@pytest.mark.parametrize(
    ("message", "code", "words"),
    [
        ("error 401", "model_refused", "refused the key (HTTP 401)"),
        ("error 402", "model_refused", "no credit left (HTTP 402)"),
        ("error 500", "model_unreachable", "a problem of its own (HTTP 500)"),
    ],
)
def test_a_failing_model_is_told_in_a_sentence(worker: Worker, message: str, code: str, words: str) -> None:
    ended = worker.run(message)
    assert ended.end["status"] == "error"
    assert ended.end["error"]["code"] == code
    assert words in ended.end["error"]["message"]
    assert [m["role"] for m in ended.messages] == ["user", "assistant"]


def test_an_endpoint_that_breaks_off_is_told_as_unreachable_and_its_silence_as_a_status(worker: Worker) -> None:
    ended = worker.run("error dead")
    assert ended.end["error"]["code"] == "model_unreachable"
    assert any("silent" in e["text"] for e in ended.of("status"))


@pytest.mark.requirement("R25")
def test_a_stop_while_streaming_keeps_the_partial_text(worker: Worker) -> None:
    ended = worker.run("slow 20", hook=stopping(worker, "answer"))
    assert ended.end["status"] == "stopped"
    assert ended.end["text"] == ended.text("answer") != ""
    assert ended.messages[-1]["role"] == "assistant"
    assert ended.messages[-1]["content"] == ended.end["text"].rstrip()


@pytest.mark.requirement("R25")
def test_a_stop_ends_a_command_that_runs(worker: Worker) -> None:
    began = time.monotonic()
    ended = worker.run("sleep 60", hook=stopping(worker, "tool_call"))
    assert time.monotonic() - began < 20
    assert ended.end["status"] == "stopped"
    assert [m["role"] for m in ended.messages] == ["user", "assistant", "tool", "assistant"]


def test_a_turn_that_uses_up_its_steps_says_so(worker: Worker) -> None:
    ended = worker.run("todo", maxIterations=2)
    assert len(ended.of("tool_call")) == 2
    assert ended.end["status"] == "complete"
    assert "used up its steps" in ended.of("notice")[0]["text"]


@pytest.mark.requirement("R25")
def test_a_stop_in_a_waiting_queue_yields_both_rows(worker: Worker) -> None:
    """The line ``interrupt`` follows ``run`` at once, long before there is a first token."""
    run = worker.start("slow 20")
    worker.send("interrupt", runId=run)
    ended = worker.finish()
    assert ended.end["status"] == "stopped"
    assert ended.end["text"] == ""
    assert [m["role"] for m in ended.messages] == ["user", "assistant"]
    assert worker.run("hello").end["status"] == "complete"


def test_an_interrupt_of_a_run_that_is_over_stops_nothing(worker: Worker) -> None:
    over = worker.run("hello").end["runId"]
    worker.start("slow 0.5")
    worker.send("interrupt", runId=over)
    assert worker.finish().end["status"] == "complete"


def test_every_script_of_the_world_arrives_as_it_was_sent(worker: Worker) -> None:
    from jupyter_hermes_chat.tour.texts import UNICODE

    ended = worker.run("unicode 😀 é")
    assert ended.text("answer") == UNICODE == ended.end["text"]
    assert ended.messages[0]["content"] == "unicode 😀 é"


def test_half_a_surrogate_pair_does_not_break_the_pipe(worker: Worker) -> None:
    """Once through Hermes, which mends it itself, and once past it: rows of a run that was stopped at once are ours."""
    through = worker.run("hello \ud83d there")
    run = worker.start("hello \ud83d there")
    worker.send("interrupt", runId=run)
    for ended in (through, worker.finish()):
        assert ended.messages[0]["content"] == "hello \ufffd there"


def test_a_long_result_is_previewed_in_the_event_and_whole_in_the_turn(worker: Worker) -> None:
    for n in range(400):
        (worker.working_dir / f"a-file-with-a-rather-long-name-{n:04}.txt").touch()
    ended = worker.run("list files")
    (result,) = ended.of("tool_result")
    assert result["truncated"]
    assert len(result["result"].encode()) <= 8192
    assert "name-0399" in next(m["content"] for m in ended.messages if m["role"] == "tool")
    for file in worker.working_dir.glob("a-file-*"):
        file.unlink()


def test_a_long_answer_arrives_whole(worker: Worker) -> None:
    from jupyter_hermes_chat.tour.texts import long_answer

    assert worker.run("long").end["text"] == long_answer("en")


@pytest.mark.requirement("R27")
def test_a_hint_reaches_the_model_with_the_next_tool_result(worker: Worker, tour: Tour) -> None:
    def hook(event: Line) -> None:
        if event["kind"] == "clarify_request":
            worker.send("steer", runId=event["runId"], text="rather in red")
            worker.send("clarify", runId=event["runId"], clarifyId=event["clarifyId"], answer="Blue")

    worker.run("ask me", hook=hook)
    assert "rather in red" in json.dumps(tour.requests()[-1]["messages"])


def test_an_unknown_line_is_passed_over(worker: Worker) -> None:
    worker.send("dance", runId="run.0")
    assert worker.run("hello").end["status"] == "complete"
    until(lambda: "unknown line: op='dance'" in worker.log.read_text())
