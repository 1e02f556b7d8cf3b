"""Questions and approvals: each answered once, nothing fails open."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import pytest

from jupyter_hermes_chat.bridge.worker.pauses import Pauses


class Room:
    """Pauses of a run, what they told, and what Hermes was told of approvals."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.resolved: list[tuple[str, str]] = []
        self.told = threading.Event()
        self.pauses = Pauses("s.2", self._emit, self._resolve)

    def _emit(self, kind: str, **fields: Any) -> None:
        self.events.append({"kind": kind, **fields})
        self.told.set()

    def _resolve(self, data: Mapping[str, Any], choice: str) -> bool:
        self.resolved.append((data["command"], choice))
        return True

    def ask(self) -> tuple[threading.Thread, list[str]]:
        answers: list[str] = []
        thread = threading.Thread(target=lambda: answers.append(self.pauses.ask("why?", ["a"])))
        thread.start()
        assert self.told.wait(5)
        return thread, answers


@pytest.mark.requirement("R37")
def test_a_second_answer_to_a_clarify_changes_nothing() -> None:
    room = Room()
    thread, answers = room.ask()
    (event,) = room.events
    assert room.pauses.waiting
    assert room.pauses.answer(event["clarifyId"], "a")
    assert not room.pauses.answer(event["clarifyId"], "b")
    thread.join(5)
    assert answers == ["a"]
    assert not room.pauses.waiting


@pytest.mark.requirement("R25", "R38")
def test_a_stop_wakes_questions_denies_approvals_and_asks_no_more() -> None:
    room = Room()
    thread, answers = room.ask()
    room.pauses.request_approval({"command": "rm -rf a"})
    room.pauses.cancel()
    thread.join(5)
    assert answers[0].startswith("[no answer")
    room.pauses.request_approval({"command": "rm -rf b"})
    assert room.pauses.ask("more?", None).startswith("[no answer")
    assert room.resolved == [("rm -rf a", "deny"), ("rm -rf b", "deny")]
    assert [e["kind"] for e in room.events] == ["clarify_request", "approval_request"]


@pytest.mark.requirement("R38")
@pytest.mark.parametrize(
    ("choice", "granted"),
    [("once", "once"), ("session", "session"), ("always", "session"), ("deny", "deny"), ("", "deny"), ("ONCE", "deny")],
)
def test_each_approval_reaches_the_command_that_was_shown(choice: str, granted: str) -> None:
    room = Room()
    room.pauses.request_approval({"command": "rm -rf first"})
    room.pauses.request_approval({"command": "rm -rf second"})
    assert room.pauses.approve(room.events[1]["approvalId"], choice)
    assert room.resolved == [("rm -rf second", granted)]
    assert not room.pauses.approve(room.events[1]["approvalId"], choice)
