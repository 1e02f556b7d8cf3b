"""Lines of a journal: what goes in comes out, an unfinished end is no damage, everything else is."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_hermes_chat.protocol.events import Answer, Notice, RunComplete, Thinking, ToolCall, Unknown, merge
from jupyter_hermes_chat.protocol.journal import VERSION, Damage, Header, Lines, encode_events, encode_header

RUN = "00000000-0000-4000-8000-000000000001.2"
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@st.composite
def logs(draw: st.DrawFn) -> list[object]:
    """Events numbered from 1 without a hole, adjacent text merged here and there."""
    events: list[object] = []
    offset = 0
    for seq in range(1, draw(st.integers(0, 30)) + 1):
        kind = draw(st.sampled_from(["answer", "thinking", "tool", "notice", "unknown"]))
        piece = draw(text)
        if kind == "answer":
            events.append(Answer(seq=seq, run_id=RUN, t=seq, segment=1, offset=offset, text=piece))
            offset += len(piece)
        elif kind == "thinking":
            events.append(Thinking(seq=seq, run_id=RUN, t=seq, segment=seq, offset=0, text=piece))
        elif kind == "tool":
            events.append(ToolCall(seq=seq, run_id=RUN, t=seq, call_id="c", tool="terminal", args={"command": piece, "n": seq}))
        elif kind == "notice":
            events.append(Notice(seq=seq, run_id=RUN, t=seq, text=piece))
        else:
            events.append(Unknown(kind="future", seq=seq, fields={"kind": "future", "seq": seq, "runId": RUN, "x": piece}))
    return merge(events) if draw(st.booleans()) else events  # type: ignore[arg-type,return-value]


@given(logs())
def test_events_come_back_as_they_went_in(events: list[object]) -> None:
    lines = Lines(encode_header(RUN) + encode_events(events))  # type: ignore[arg-type]
    assert lines.header() == Header(journal=VERSION, run=RUN)
    assert lines.events() == events
    assert lines.last() == (events[-1] if events else None)


@pytest.mark.requirement("R18")
@given(logs(), st.integers(0, 40))
def test_events_after_a_number_are_those_that_reach_behind_it(events: list[object], after: int) -> None:
    lines = Lines(encode_header(RUN) + encode_events(events))  # type: ignore[arg-type]
    assert lines.events(after) == [event for event in events if event.last_seq > after]  # type: ignore[attr-defined]


def test_a_row_that_covers_the_number_is_given_whole() -> None:
    rows = [Answer(seq=1, seq_end=4, run_id=RUN, t=0, segment=1, offset=0, text="abcd"), Notice(seq=5, run_id=RUN, t=1, text="x")]
    lines = Lines(encode_header(RUN) + encode_events(rows))
    assert [lines.events(after) for after in range(6)] == [rows, rows, rows, rows, rows[1:], []]


@given(logs(), st.data())
def test_wherever_a_writer_died_the_whole_lines_before_are_read(events: list[object], data: st.DataObject) -> None:
    raw = encode_header(RUN) + encode_events(events)  # type: ignore[arg-type]
    cut = data.draw(st.integers(0, len(raw)))
    lines = Lines(raw[:cut])
    whole = raw[: raw.rfind(b"\n", 0, cut) + 1]
    assert lines.whole == len(whole)
    assert lines.events() == events[: max(0, whole.count(b"\n") - 1)]
    assert (lines.header() is None) == (not whole)


def test_a_last_line_of_rubbish_is_an_unfinished_end() -> None:
    good = encode_header(RUN) + encode_events([Notice(seq=1, run_id=RUN, t=0, text="x")])
    assert Lines(good + b"\0\0\0\0\n").whole == len(good)
    assert Lines(good + b"\0\0\0\0").whole == len(good)


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        (b"{}\n{}\n", 1),
        (encode_header(RUN) + b'{"kind":"notice"}\n' + encode_events([Notice(seq=2, run_id=RUN, t=0, text="x")]), 2),
        (encode_header(RUN) + b"\0\0\n" + encode_events([Notice(seq=2, run_id=RUN, t=0, text="x")]), 2),
        (encode_header(RUN) + encode_events([Notice(seq=n, run_id=RUN, t=0, text="x") for n in (1, 2, 4)]), 4),
    ],
)
def test_damage_names_its_line(raw: bytes, line: int) -> None:
    lines = Lines(raw)
    read = lines.header if line == 1 else lines.events
    with pytest.raises(Damage) as caught:
        read()
    assert caught.value.line == line


def test_the_newest_event_must_be_one() -> None:
    with pytest.raises(Damage, match="line 2"):
        Lines(encode_header(RUN) + b'{"kind":"notice"}\n').last()


def test_a_line_is_json_without_breaks_whatever_the_text() -> None:
    events = [
        Answer(seq=1, run_id=RUN, t=0, segment=1, offset=0, text="a\nb\r\u2028\u2029\u0085"),
        RunComplete(seq=2, run_id=RUN, t=1, text="x", duration_ms=1),
    ]
    raw = encode_events(events)
    assert raw.count(b"\n") == 2
    assert [msgspec.json.decode(line)["seq"] for line in raw.splitlines()] == [1, 2]
