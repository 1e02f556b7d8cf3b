"""The kernel's half of the anywidget."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_hermes_chat import HermesChat
from jupyter_hermes_chat.notebook.widget import STATIC

SESSION = "5cbd0ad2-7e3f-4a39-9b55-6a8a0f0f9b0a"


def test_a_widget_shows_a_new_chat_or_the_session_that_it_is_given() -> None:
    assert HermesChat().session is None
    assert HermesChat(SESSION).session == SESSION


def test_the_loader_travels_with_the_widget_and_the_core_does_not() -> None:
    state = HermesChat().get_state()
    assert state["_esm"] == (STATIC / "widget.js").read_text(encoding="utf-8")
    assert sum(len(value) for value in state.values() if isinstance(value, str)) < 5_000


def test_the_core_is_sent_to_the_view_that_asks_and_to_no_other_message(monkeypatch: pytest.MonkeyPatch) -> None:
    widget = HermesChat()
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(widget, "send", sent.append)
    widget._handle_custom_msg({"ask": "something else"}, [])
    widget._handle_custom_msg({}, [])
    assert sent == []
    widget._handle_custom_msg({"ask": "core"}, [])
    [message] = sent
    assert message["core"].encode() in [path.read_bytes() for path in STATIC.glob("core.*.js")]
