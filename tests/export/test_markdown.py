"""A turn as Markdown and plain text, for every reader without our renderer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jupyter_hermes_chat.export.markdown import doing, summary, to_markdown, to_text
from jupyter_hermes_chat.protocol import events as e
from jupyter_hermes_chat.reduce import TurnState, reduce

RUN = "00000000-0000-4000-8000-000000000001.2"
CASES = sorted((Path(__file__).parent.parent / "cases" / "reduce").glob("*.json"))


def state_of(*events: e.KnownEvent) -> TurnState:
    started = e.RunStarted(seq=1, run_id=RUN, t=0, model="m", provider="p")
    numbered = [type(x)(**{f: getattr(x, f) for f in x.__struct_fields__} | {"seq": n}) for n, x in enumerate(events, 2)]
    return reduce(RUN, [started, *numbered])


def thinking(text: str, t: int = 0, t_end: int | None = None) -> e.Thinking:
    return e.Thinking(seq=0, run_id=RUN, t=t, t_end=t_end, segment=0, offset=0, text=text)


def complete(text: str) -> e.RunComplete:
    return e.RunComplete(seq=0, run_id=RUN, t=9, text=text, duration_ms=9)


@pytest.mark.requirement("R57")
@pytest.mark.parametrize("path", CASES, ids=lambda p: p.stem)
def test_every_state_has_both_forms_and_they_hold_its_answer(path: Path) -> None:
    case = json.loads(path.read_text())
    events = [e.decode(json.dumps(event)) for event in case["events"]]
    state = reduce(case["state"]["runId"], events[:-1] if case.get("gap") else events)
    assert state.text in to_markdown(state)
    assert state.text in to_text(state)
    if not state.ended:
        assert doing(state) in to_text(state) or state.pending


def test_the_way_is_folded_and_the_answer_open() -> None:
    call = e.ToolCall(seq=0, run_id=RUN, t=2, call_id="c", tool="terminal", args={}, summary="ls `x`")
    result = e.ToolResult(seq=0, run_id=RUN, t=3, call_id="c", result="a\n```\nb")
    state = state_of(thinking("Look first.", 0, 12_000), call, result, complete("Two files."))
    assert summary(state) == "Thought 12 s · 1 tool"
    assert to_markdown(state) == (
        "<details><summary>Thought 12 s · 1 tool</summary>\n\n> Look first.\n\n**terminal** `` ls `x` ``\n\n"
        "````text\na\n```\nb\n````\n\n</details>\n\nTwo files."
    )
    assert to_text(state) == "Two files."


@pytest.mark.requirement("R63")
def test_nothing_closes_the_fold_around_it_or_opens_a_tag() -> None:
    call = e.ToolCall(seq=0, run_id=RUN, t=2, call_id="c", tool="<b>x", args={}, summary="</details>")
    ask = e.ClarifyRequest(seq=0, run_id=RUN, t=3, clarify_id="q", question="<img src=x onerror=y>", choices=["*a*"])
    text = to_markdown(state_of(thinking("</Details><summary>now I am outside"), call, ask))
    assert text.count("</details>") - text.count("`</details>`") == 1
    assert "<img" not in text
    assert "<b>" not in text
    assert "1. \\*a\\*" in text


def test_a_waiting_question_stands_last_with_its_choices() -> None:
    ask = e.ClarifyRequest(seq=0, run_id=RUN, t=3, clarify_id="q", question="Which?", choices=["One", "Two"])
    said = e.Answer(seq=0, run_id=RUN, t=1, segment=0, offset=0, text="Choose:")
    state = state_of(said, ask)
    assert to_text(state) == "Choose:\n\nWhich?\n1. One\n2. Two"
    assert to_markdown(state).startswith("Choose:\n\n> **Which?**\n>\n> 1. One\n> 2. Two")


def test_an_end_that_is_no_answer_says_so() -> None:
    failed = state_of(e.RunError(seq=0, run_id=RUN, t=1, code="model_refused", message="Set a key with `hermes model`."))
    assert to_text(failed) == "Failed: Set a key with `hermes model`."
    assert "**Failed:** Set a key" in to_markdown(failed)
    stopped = state_of(e.RunStopped(seq=0, run_id=RUN, t=1, text="Half"))
    assert to_text(stopped) == "Half\n\nStopped."


def test_the_tour_is_named_wherever_it_answered() -> None:
    events: list[e.KnownEvent] = [e.RunStarted(seq=1, run_id=RUN, t=0, model="hermes-tour", provider="tour")]
    end = e.RunComplete(seq=2, run_id=RUN, t=1, text="Hello", duration_ms=1)
    assert "Tour: scripted replies, no model" in to_markdown(reduce(RUN, [*events, end]))
