"""A reply is a value; no kernel is needed to have one."""

from __future__ import annotations

import pytest

from jupyter_hermes_chat.notebook.reply import CodeBlock, Reply
from jupyter_hermes_chat.notebook.turn_output import MIME, bundle
from jupyter_hermes_chat.protocol import events as e
from jupyter_hermes_chat.protocol.errors import BridgeLost, TurnFailed
from jupyter_hermes_chat.reduce import TurnState, initial, reduce

RUN = "00000000-0000-4000-8000-000000000001.2"


def answered(text: str) -> TurnState:
    return reduce(RUN, [e.RunStarted(seq=1, run_id=RUN, t=0), e.RunComplete(seq=2, run_id=RUN, t=1, text=text, duration_ms=1)])


FAILED = reduce(RUN, [e.RunError(seq=1, run_id=RUN, t=1, code="guardrail", message="Refused.")])


def test_code_blocks_are_strings_that_know_their_language() -> None:
    text = "a\n```python title\nx = 1\n```\n~~~\n``` inside\n~~~\n````md\n```\nnested\n```\n````\n`inline`\n```sh\nopen end"
    blocks = Reply(answered(text)).code
    assert blocks == ["x = 1\n", "``` inside\n", "```\nnested\n```\n", "open end"]
    assert [b.language for b in blocks] == ["python", "", "md", "sh"]
    assert isinstance(blocks[0], CodeBlock)


def test_it_is_its_text() -> None:
    reply = Reply(answered("Hello"))
    assert (str(reply), reply.text, reply.run, reply.session, reply.status) == ("Hello", "Hello", RUN, RUN[:-2], "complete")
    assert repr(reply) == "<Reply complete: 'Hello'>"


def test_it_shows_the_same_three_forms_as_its_cell() -> None:
    reply = Reply(answered("Hello"))
    assert reply._repr_mimebundle_() == bundle(reply.state)
    assert set(bundle(reply.state)) == {MIME, "text/markdown", "text/plain"}


def test_a_live_bundle_names_the_run_and_nothing_that_changes() -> None:
    assert bundle(initial(RUN))[MIME] == {"version": 1, "run": RUN, "session": RUN[:-2], "live": True}


def test_waiting_has_a_limit_and_tells_why_it_ended() -> None:
    reply = Reply(initial(RUN))
    with pytest.raises(TimeoutError, match="starting"):
        reply.wait(0.01)
    reply.settle(BridgeLost("The Bridge ended."))
    with pytest.raises(BridgeLost):
        reply.wait()
    assert Reply(answered("Hello")).wait().text == "Hello"


def test_a_failed_turn_raises_where_it_is_waited_for() -> None:
    reply = Reply(FAILED)
    with pytest.raises(TurnFailed, match=r"Refused\.") as caught:
        reply.wait()
    assert caught.value.details["code"] == "guardrail"
    assert reply.status == "error"
