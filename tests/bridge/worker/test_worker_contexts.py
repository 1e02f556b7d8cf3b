"""What the model is given: exactly the messages of the branch, with skill, notebook context, tools and model as chosen (R14)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bridge.worker.rig import Line, Tour, Worker, tour_environment

pytestmark = pytest.mark.agent


def roles(request: dict[str, Any]) -> list[str]:
    return [m["role"] for m in request["messages"]]


def seen(request: dict[str, Any]) -> str:
    """Everything behind the system prompt."""
    return json.dumps(request["messages"][1:], ensure_ascii=False)


def system(request: dict[str, Any]) -> str:
    assert request["messages"][0]["role"] == "system"
    return str(request["messages"][0]["content"])


@pytest.mark.requirement("R14")
def test_the_second_turn_carries_the_first_ones_tool_calls_and_results(worker: Worker, tour: Tour) -> None:
    first = worker.run("list files", hermesSession="chat-two")
    worker.run("remember", first.messages, hermesSession="chat-two")
    request = tour.requests()[-1]
    assert roles(request) == ["system", "user", "assistant", "tool", "assistant", "user"]
    (call,) = request["messages"][2]["tool_calls"]
    assert call["function"]["name"] == "terminal"
    assert request["messages"][3]["tool_call_id"] == call["id"]
    assert "Hello from your terminal." in request["messages"][3]["content"]


@pytest.mark.requirement("R14")
def test_the_system_prompt_of_a_session_stays_byte_for_byte(worker: Worker, tour: Tour) -> None:
    first = worker.run("hello", hermesSession="chat-prompt")
    one = system(tour.requests()[-1])
    worker.run("hello", first.messages, hermesSession="chat-prompt")
    assert system(tour.requests()[-1]) == one
    worker.run("hello again", [], hermesSession="chat-prompt")  # another branch
    assert system(tour.requests()[-1]) == one


@pytest.mark.requirement("R14")
def test_another_branch_sees_nothing_of_its_sibling(worker: Worker, tour: Tour) -> None:
    chat = {"hermesSession": "chat-branches"}
    root = worker.run("hello", **chat)
    worker.run("todo about cherries", root.messages, **chat)
    sibling = worker.run("remember", root.messages, **chat)
    assert "cherries" not in seen(tour.requests()[-1])
    assert roles(tour.requests()[-1]) == ["system", "user", "assistant", "user"]
    assert sibling.end["turn"]["mode"] == "add"


@pytest.mark.requirement("R14")
def test_the_todo_list_of_a_branch_stays_there(worker: Worker, tour: Tour) -> None:
    """The store lives in the process, so a branch without a list must find it empty, and one with a list must find its own."""
    chat = {"hermesSession": "chat-todos"}
    root = worker.run("hello", **chat)
    with_list = worker.run("todo", root.messages, **chat)
    assert worker.run("show my todos", root.messages, **chat).end["text"] == "The to-do list is empty."
    there = with_list.after(root.messages)
    assert worker.run("show my todos", there, **chat).end["text"].startswith("- Gather what is there (completed)")


@pytest.mark.requirement("R14", "R47")
def test_a_new_worker_goes_on_from_the_context_alone(worker: Worker, tour: Tour, hermes_python: Path, tmp_path: Path) -> None:
    first = worker.run("list files", hermesSession="chat-moved")
    other = Worker(tour_environment(tmp_path, tour.url), hermes_python, tmp_path)
    try:
        ended = other.run("remember", first.messages, hermesSession="chat-moved")
        assert "Hello from your terminal." in ended.end["text"]
        assert ended.end["turn"]["mode"] == "add"
        assert roles(tour.requests()[-1]) == ["system", "user", "assistant", "tool", "assistant", "user"]
    finally:
        assert other.close() == 0


@pytest.mark.requirement("R2")
def test_a_chosen_skill_is_in_the_prompt_of_its_turn_alone(worker: Worker, tour: Tour) -> None:
    chat = {"hermesSession": "chat-skill"}
    wish = "Use the skill `arxiv` for this. Load it with skill_view first."
    first = worker.run("hello", systemPrompt=wish, skill="arxiv", **chat)
    assert wish in system(tour.requests()[-1])
    worker.run("hello", first.messages, **chat)
    assert wish not in system(tour.requests()[-1])


@pytest.mark.requirement("R2")
def test_the_chosen_model_is_the_one_that_is_called(worker: Worker, tour: Tour) -> None:
    chat = {"hermesSession": "chat-model"}
    first = worker.run("hello", modelConfig={"provider": "tour", "model": "hermes-tour-mini"}, **chat)
    assert first.events[0]["model"] == "hermes-tour-mini"
    assert tour.requests()[-1]["model"] == "hermes-tour-mini"
    second = worker.run("remember", first.messages, **chat)
    assert tour.requests()[-1]["model"] == "hermes-tour"
    assert second.events[0]["model"] == "hermes-tour"
    assert roles(tour.requests()[-1]) == ["system", "user", "assistant", "user"]


@pytest.mark.requirement("R2")
def test_the_tools_are_what_hermes_enables_for_its_command_line(worker: Worker, tour: Tour) -> None:
    worker.run("hello")
    names = {t["function"]["name"] for t in tour.requests()[-1]["tools"]}
    assert {"skill_view", "terminal", "todo", "clarify", "read_file", "memory", "delegate_task"} <= names


@pytest.mark.requirement("R2")
def test_the_persons_own_selection_of_tools_is_followed(tour: Tour, hermes_python: Path, tmp_path: Path) -> None:
    environment = tour_environment(tmp_path, tour.url)
    config = tmp_path / "hermes-home" / "config.yaml"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"platform_toolsets": {"cli": ["todo", "skills"]}}))
    narrow = Worker(environment, hermes_python, tmp_path)
    try:
        narrow.run("hello")
        names = {t["function"]["name"] for t in tour.requests()[-1]["tools"]}
        assert "skill_view" in names
        assert "terminal" not in names
    finally:
        narrow.close()


@pytest.mark.requirement("R51")
def test_notebook_context_is_seen_by_the_model_and_kept_for_the_next_turn(worker: Worker, tour: Tour) -> None:
    chat = {"hermesSession": "chat-context"}
    context = '<notebook-5f1c kind="cell">\ndelete = 1  # todo\n</notebook-5f1c>'
    first = worker.run("hello", context=context, **chat)
    assert tour.requests()[-1]["messages"][-1]["content"] == f"{context}\n\nhello"
    assert first.messages[0] == {"role": "user", "content": "hello", "api_content": f"{context}\n\nhello"}
    worker.run("remember", first.messages, **chat)
    assert tour.requests()[-1]["messages"][1]["content"] == f"{context}\n\nhello"


def test_a_failed_turn_is_closed_so_that_the_next_message_stands_alone(worker: Worker, tour: Tour) -> None:
    chat = {"hermesSession": "chat-failed"}
    failed = worker.run("error 401", context="<nb-1>x</nb-1>", **chat)
    assert [m["role"] for m in failed.messages] == ["user", "assistant"]
    assert failed.messages[0]["content"] == "error 401"
    assert failed.messages[1]["content"] == "[no answer: model_refused]"
    worker.run("remember", failed.messages, **chat)
    assert roles(tour.requests()[-1]) == ["system", "user", "assistant", "user"]


@pytest.mark.requirement("R39")
def test_a_compaction_is_told_and_replaces_the_context(worker: Worker, tour: Tour) -> None:
    chat = {"hermesSession": "chat-compact"}
    history: list[dict[str, Any]] = []
    for _ in range(6):
        history += [{"role": "user", "content": "hello " * 3000}, {"role": "assistant", "content": "well " * 3000}]
    ended = worker.run("compact", history, **chat)
    assert ended.end["status"] == "complete"
    (told,) = ended.of("context_compacted")
    assert "Summary of the tour so far" in told["summary"]
    assert 0 < told["count"] <= len(history) + 2
    assert ended.end["text"].startswith("The conversation had become too long")
    assert ended.end["turn"]["mode"] == "replace"
    assert len(json.dumps(ended.messages)) < len(json.dumps(history))
    assert "Summary of the tour so far" in json.dumps(ended.messages)
    again = worker.run("hello", ended.messages, **chat)
    assert again.end["turn"]["mode"] == "add"


@pytest.mark.requirement("R48")
def test_commands_start_in_the_working_directory_and_file_tools_stay_below_it(worker: Worker, tmp_path: Path) -> None:
    (tmp_path / "only-here.txt").touch()
    ended = worker.run("list files", workingDir=str(tmp_path))
    assert "only-here.txt" in ended.end["text"]
    environment = Path(f"/proc/{worker.ready['pid']}/cwd")
    assert not environment.exists() or environment.resolve() == tmp_path


def test_a_stop_in_the_middle_of_tools_leaves_a_context_that_can_go_on(worker: Worker, tour: Tour) -> None:
    chat = {"hermesSession": "chat-stopped"}

    def hook(event: Line) -> None:
        if event["kind"] == "clarify_request":
            worker.send("interrupt", runId=event["runId"])

    stopped = worker.run("tour", hook=hook, **chat)
    calls = {c["id"] for m in stopped.messages for c in m.get("tool_calls") or []}
    assert calls == {m["tool_call_id"] for m in stopped.messages if m["role"] == "tool"}
    assert stopped.messages[-1]["role"] == "assistant"
    ended = worker.run("hello", stopped.messages, **chat)
    assert ended.end["status"] == "complete"
    assert ended.end["turn"]["mode"] == "add"
