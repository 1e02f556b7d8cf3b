"""Events → state: the shared cases, which TypeScript runs too, and what holds for every log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_hermes_chat.protocol import events as e
from jupyter_hermes_chat.reduce import GapError, TurnState, apply, from_json, initial, reduce, to_json

CASES = sorted((Path(__file__).parent / "cases" / "reduce").glob("*.json"))
Log = list[e.KnownEvent | e.Unknown]
RUN = "00000000-0000-4000-8000-000000000001.2"


def load(path: Path) -> tuple[Log, dict[str, Any]]:
    case = json.loads(path.read_text(encoding="utf-8"))
    return [e.decode(json.dumps(event)) for event in case["events"]], case


def one_by_one(run_id: str, events: Log) -> tuple[TurnState, bool]:
    state = initial(run_id)
    for event in events:
        try:
            state = apply(state, event)
        except GapError:
            return state, True
    return state, False


@pytest.mark.requirement("R32")
@pytest.mark.parametrize("path", CASES, ids=lambda p: p.stem)
def test_case(path: Path) -> None:
    events, case = load(path)
    state, gap = one_by_one(case["state"]["runId"], events)
    assert to_json(state) == case["state"]
    assert gap is case.get("gap", False)
    assert from_json(case["state"]) == state


@st.composite
def logs(draw: st.DrawFn) -> Log:
    """A run whose text arrives in pieces, between tools, questions and notices, with or without an end."""
    out: Log = [e.RunStarted(seq=1, run_id=RUN, t=0, model="m", provider="p")]
    segment, asked = 0, 0
    for step in draw(st.lists(st.sampled_from(["thinking", "answer", "tool", "ask", "notice"]), max_size=8)):
        seq, t = out[-1].last_seq + 1, len(out) * 7
        if step in ("thinking", "answer"):
            kind, offset = (e.Thinking if step == "thinking" else e.Answer), 0
            for text in draw(st.lists(st.text("ab \n界🙂\u0301", min_size=1, max_size=4), min_size=1, max_size=5)):
                out.append(kind(seq=seq, run_id=RUN, t=t, segment=segment, offset=offset, text=text))
                seq, t, offset = seq + 1, t + 3, offset + len(text)
            segment += 1
        elif step == "tool":
            out.append(e.ToolCall(seq=seq, run_id=RUN, t=t, call_id=f"c{seq}", tool="terminal", args={"command": "ls"}))
            out.append(e.ToolResult(seq=seq + 1, run_id=RUN, t=t + 1, call_id=f"c{seq}", result="x"))
        elif step == "ask":
            asked += 1
            out.append(e.ClarifyRequest(seq=seq, run_id=RUN, t=t, clarify_id=f"q{asked}", question="?"))
            if draw(st.booleans()):
                out.append(e.ClarifyResolved(seq=seq + 1, run_id=RUN, t=t, clarify_id=f"q{asked}", status="answered", answer="a"))
        else:
            out.append(e.Notice(seq=seq, run_id=RUN, t=t, text="n"))
    if draw(st.booleans()):
        out.append(e.RunStopped(seq=out[-1].last_seq + 1, run_id=RUN, t=999))
    return out


@pytest.mark.requirement("R32")
@given(logs(), st.data())
def test_a_log_merged_anywhere_and_repeated_anywhere_gives_the_live_state(log: Log, data: st.DataObject) -> None:
    live, _ = one_by_one(RUN, log)
    assert reduce(RUN, log) == live
    cut = data.draw(st.integers(0, len(log)))
    merged = e.merge(log[:cut]) + e.merge(log[cut:])
    assert one_by_one(RUN, merged) == (live, False)
    back = data.draw(st.integers(0, cut))
    assert one_by_one(RUN, log[:cut] + e.merge(log[back:])) == (live, False)


@given(logs())
def test_a_state_survives_its_json(log: Log) -> None:
    state = reduce(RUN, log)
    assert from_json(json.loads(json.dumps(to_json(state)))) == state


@given(logs(), st.data())
def test_a_missing_event_is_a_gap_and_never_a_guess(log: Log, data: st.DataObject) -> None:
    if len(log) < 2:
        return
    hole = data.draw(st.integers(0, len(log) - 2))
    before = reduce(RUN, log[:hole])
    with pytest.raises(GapError):
        apply(before, log[hole + 1])


def test_an_event_that_is_known_already_gives_the_same_object() -> None:
    event = e.RunStarted(seq=1, run_id=RUN, t=0)
    state = apply(initial(RUN), event)
    assert apply(state, event) is state
