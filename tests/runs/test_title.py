"""Titles of sessions (R5)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_hermes_chat.runs.title import title_of

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
FLAG = "\U0001f1e9\U0001f1ea"


@pytest.mark.requirement("R5")
@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Hello", "Hello"),
        ("  two\n lines\r\n\tand   more ", "two lines and more"),
        ("x" * 31, "x" * 30),
        ("你好" * 20, "你好" * 15),
        ("a" * 29 + " tail", "a" * 29),
        ("a" * 29 + "e\u0301 tail", "a" * 29),
        ("a" * 28 + "e\u0301 tail", "a" * 28 + "e\u0301"),
        ("a" * 29 + "\u2764\ufe0f!", "a" * 29),
        ("a" * 29 + "\U0001f44d\U0001f3fd!", "a" * 29),
        ("a" * 25 + FAMILY + "!", "a" * 25),
        ("a" * 29 + FLAG + FLAG, "a" * 29),
        ("a" * 27 + FLAG + FLAG, "a" * 27 + FLAG),
        ("a" * 29 + "\u1112\u1161\u11ab", "a" * 29),
        ("", ""),
    ],
)
def test_a_title_is_the_beginning_of_the_message_cut_between_characters(text: str, title: str) -> None:
    assert title_of(text) == title


@given(st.text())
def test_a_title_is_short_on_one_line_and_never_begins_or_ends_with_space(text: str) -> None:
    title = title_of(text)
    assert len(title) <= 30
    assert title == title.strip()
    assert "\n" not in title
    assert " ".join(text.split()).startswith(title)


def test_a_single_character_that_is_too_long_is_cut_hard() -> None:
    assert title_of("a" + "\u0301" * 50) == "a" + "\u0301" * 29
