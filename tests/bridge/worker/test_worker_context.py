"""Model messages as values: what a turn added, and how a context is recognized."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_hermes_chat.bridge.worker import context

ROW = st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": st.text(max_size=5)})


@given(st.lists(ROW, max_size=4), st.lists(ROW, max_size=4))
def test_a_history_that_came_back_untouched_is_added_to(history: list[Any], more: list[Any]) -> None:
    marked = [{**m, "_db_persisted": True} for m in history]
    mode, rows = context.turn(history, context.plain([*marked, *more]))
    assert (mode, rows) == ("add", more)


@given(st.lists(ROW, min_size=1, max_size=4), st.data())
def test_a_history_that_was_changed_anywhere_is_replaced(history: list[Any], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(history) - 1))
    result = [dict(m) for m in history]
    result[at]["content"] += "!"
    assert context.turn(history, result) == ("replace", result)
    assert context.turn(history, history[:-1]) == ("replace", history[:-1])


def test_order_of_keys_and_marks_do_not_make_another_context() -> None:
    one = [{"role": "user", "content": "a", "finish_reason": "stop"}]
    other = [{"content": "a", "role": "user", "tool_calls": None}]
    assert context.digest(one) == context.digest(other)
    assert context.digest(one) != context.digest([{"role": "user", "content": "b"}])


def test_a_turn_without_rows_gets_both() -> None:
    assert context.closed([], "hello", context.STOPPED) == [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": context.STOPPED},
    ]


def test_calls_without_a_result_get_one_before_the_turn_is_closed() -> None:
    calls = {"role": "assistant", "content": "", "tool_calls": [{"id": "c1"}, {"id": "c2"}]}
    rows = context.closed([{"role": "user", "content": "x"}, calls], "x", "[over]")
    assert [m["role"] for m in rows] == ["user", "assistant", "tool", "tool", "assistant"]
    assert [m.get("tool_call_id") for m in rows[2:4]] == ["c1", "c2"]


def test_an_answered_turn_is_left_alone() -> None:
    rows = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
    assert context.closed(rows, "x", "[over]") == rows


def test_the_row_of_the_person_says_what_the_model_saw() -> None:
    for content in ("hello", "<nb>1</nb>\n\nhello"):  # a turn that ends early keeps the seen text
        rows = [{"role": "user", "content": "earlier"}, {"role": "user", "content": content}]
        context.seen_as(rows, "hello", "<nb>1</nb>\n\nhello")
        assert rows[1] == {"role": "user", "content": "hello", "api_content": "<nb>1</nb>\n\nhello"}
        assert rows[0] == {"role": "user", "content": "earlier"}


@pytest.mark.parametrize("kept", ["the ans", "the answer is 42", context.STOPPED])
def test_a_stopped_answer_is_kept_as_it_was_seen(kept: str) -> None:
    """A stop races the words that are on their way, so Hermes may have kept more or less than was told."""
    rows = context.closed([{"role": "user", "content": "x"}, {"role": "assistant", "content": kept}], "x", context.STOPPED)
    context.stopped_at(rows, "the answer ")
    assert rows[-1] == {"role": "assistant", "content": "the answer"}


def test_a_stop_outside_an_answer_changes_no_row() -> None:
    rows = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "Operation interrupted."}]
    context.stopped_at(rows, "")
    assert rows[-1]["content"] == "Operation interrupted."
