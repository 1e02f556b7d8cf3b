"""Events as values: coding, the unknown kind, and merging, which may never lose a character or a number."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_hermes_chat.protocol import events
from jupyter_hermes_chat.protocol.events import Answer, KnownEvent, Notice, Thinking, Unknown, decode, encode, merge


def answer(seq: int, offset: int, text: str, segment: int = 0) -> Answer:
    return Answer(seq=seq, run_id="s.2", t=seq, segment=segment, offset=offset, text=text)


@pytest.mark.requirement("R19")
def test_every_kind_of_the_requirement_exists() -> None:
    asked = {
        "thinking", "answer", "status", "tool_call", "tool_result", "todo_update", "clarify_request", "context_compacted",
        "run_complete", "run_error", "run_started", "run_stopped", "clarify_resolved", "approval_request", "approval_resolved",
        "action_request", "action_result", "usage", "notice", "subagent", "suggestions",
    }  # fmt: skip
    assert asked == events.KINDS


@pytest.mark.requirement("R19")
def test_an_unknown_kind_is_data_and_keeps_its_fields() -> None:
    raw = b'{"kind":"sparkle","seq":7,"seqEnd":9,"runId":"s.2","t":1,"glitter":[1,2]}'
    event = decode(raw)
    assert isinstance(event, Unknown)
    assert (event.kind, event.seq, event.last_seq) == ("sparkle", 7, 9)
    assert msgspec.json.decode(encode(event)) == msgspec.json.decode(raw)


def test_a_known_kind_with_a_wrong_field_is_an_error() -> None:
    with pytest.raises(msgspec.ValidationError, match="offset"):
        decode(b'{"kind":"answer","seq":1,"runId":"s.2","t":0,"segment":0,"offset":"x","text":"a"}')


def test_merging_keeps_segments_and_kinds_apart() -> None:
    rows: list[KnownEvent | Unknown] = [
        answer(1, 0, "a"), answer(2, 1, "b"), answer(3, 0, "c", segment=1),
        Thinking(seq=4, run_id="s.2", t=4, segment=0, offset=0, text="d"), Notice(seq=5, run_id="s.2", t=5, text="n"),
        answer(6, 1, "e", segment=1), answer(8, 2, "not adjacent", segment=1),
    ]  # fmt: skip
    merged = merge(rows)
    assert [(type(e).__name__, e.seq, e.last_seq) for e in merged] == [
        ("Answer", 1, 2), ("Answer", 3, 3), ("Thinking", 4, 4), ("Notice", 5, 5), ("Answer", 6, 6), ("Answer", 8, 8),
    ]  # fmt: skip
    assert isinstance(merged[0], Answer)
    assert (merged[0].text, merged[0].t, merged[0].last_t) == ("ab", 1, 2)


@pytest.mark.requirement("R9", "R20")
@given(st.lists(st.text(max_size=4), max_size=30), st.integers(0, 30))
def test_merging_loses_nothing_and_may_be_repeated(texts: list[str], cut: int) -> None:
    rows: list[KnownEvent | Unknown] = []
    offset = 0
    for n, text in enumerate(texts, 1):
        rows.append(answer(n, offset, text))
        offset += len(text)
    once = merge(rows)
    twice = merge([*merge(rows[:cut]), *merge(rows[cut:])])
    assert once == twice
    assert "".join(e.text for e in once if isinstance(e, Answer)) == "".join(texts)
    assert [n for e in once for n in range(e.seq, e.last_seq + 1)] == list(range(1, len(texts) + 1))
