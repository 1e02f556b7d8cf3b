"""What the scripted model says: decided from the request alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_hermes_chat.tour import script, texts
from jupyter_hermes_chat.tour.script import Reply, choose, person_words, reply

TOOLS = [{"function": {"name": name}} for name in ("todo", "terminal", "clarify", "search_files")]


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def play(said: str, *, answer: str = "Blue", before: tuple[dict[str, Any], ...] = ()) -> list[Reply]:
    """All replies of a turn, as Hermes would carry out the calls."""
    messages = [{"role": "system", "content": "You are Hermes."}, *before, user(said)]
    replies = []
    while True:
        replies.append(reply(messages, TOOLS))
        if not replies[-1].calls:
            return replies
        messages.append({"role": "assistant", "content": replies[-1].text, "tool_calls": [{"id": "c"} for _ in replies[-1].calls]})
        for call in replies[-1].calls:
            result = {"clarify": {"user_response": answer}, "terminal": {"output": "a.txt\n", "exit_code": 0}}.get(call.tool, {})
            messages.append({"role": "tool", "content": json.dumps(result)})


@pytest.mark.parametrize(
    ("said", "scenario"),
    [
        ("tour", script.tour), ("What can you do?", script.tour), ("请带我参观导览", script.tour), ("", script.tour),
        ("hello", script.hello), ("你好", script.hello), ("think", script.think), ("思考一下", script.think),
        ("parallel", script.parallel), ("todo", script.todo), ("make a plan", script.todo), ("列个计划", script.todo),
        ("show my todos", script.read_todos), ("clarify", script.clarify), ("ask me something", script.clarify),
        ("terminal", script.terminal), ("list files, please", script.terminal), ("终端", script.terminal),
        ("dangerous", script.dangerous), ("delete the scratch folder", script.dangerous), ("删除它", script.dangerous),
        ("long", script.long), ("slow", script.slow), ("slow 3", script.slow), ("慢 3", script.slow),
        ("guardrail", script.guardrail), ("sleep 20", script.sleep), ("sleep well", script.tour),
        ("error 401", script.error), ("error 500", script.error), ("error dead", script.error), ("错误 500", script.error),
        ("compact", script.compact), ("unicode", script.unicode), ("remember", script.remember), ("记得吗", script.remember),
        ("rethink nothing", script.tour), ("belonging", script.tour),
    ],
)  # fmt: skip
def test_words_of_the_message_choose_the_scenario(said: str, scenario: object) -> None:
    assert choose(said)[0] is scenario


def test_the_tour_shows_every_zone_and_ends_with_the_answer() -> None:
    for said, choices in (("tour", texts.TOUR_QUESTION["en"][1]), ("导览", texts.TOUR_QUESTION["zh"][1])):
        for answer in choices:
            replies = play(said, answer=answer)
            assert [call.tool for r in replies for call in r.calls] == ["todo", "terminal", "todo", "clarify", "todo"]
            assert all(r.reasoning for r in replies[:-1])
            assert f"**{answer}**" in replies[-1].text
    assert "> my own" in play("tour", answer="my own")[-1].text


@pytest.mark.requirement("R61")
def test_the_language_is_the_persons() -> None:
    assert play("你好")[0].text == texts.HELLO["zh"]
    assert play("hello")[0].text == texts.HELLO["en"]


@given(st.sampled_from(["tour", "think", "todo", "long", "remember", "slow 2", "parallel", "不认识的话"]))
def test_the_same_request_has_the_same_reply(said: str) -> None:
    assert play(said) == play(said)


def test_a_tool_call_of_an_earlier_turn_is_no_step_of_this_one() -> None:
    earlier = (user("todo"), {"role": "assistant", "content": "", "tool_calls": [{"id": "c"}]}, {"role": "tool", "content": "{}"})
    assert play("ask me", before=earlier) == play("ask me")


def test_remember_quotes_what_was_said_and_what_tools_answered() -> None:
    earlier = (user("first\nwords"), {"role": "tool", "content": '{"output": "x"}'}, {"role": "assistant", "content": "well"})
    (said,) = play("remember", before=earlier)
    assert said.text == 'You wrote earlier:\n- first words\n\nTools answered earlier:\n- {"output": "x"}'
    assert play("remember")[0].text == "Nothing was said before."


def test_words_of_the_notebook_choose_nothing() -> None:
    wrapped = '<notebook-9f kind="cell">\ndelete(todo)  # error 401\n</notebook-9f>\n\nhello'
    assert person_words(wrapped) == "hello"
    assert play(wrapped)[0].text == texts.HELLO["en"]


def test_what_hermes_says_as_the_user_is_not_the_persons_message() -> None:
    kept = user("[Your active task list was preserved across context compression]\n- delete")
    messages = [user("hello"), {"role": "assistant", "content": "…"}, user("hello"), kept]
    assert reply(messages, TOOLS).text == texts.HELLO["en"]


def test_a_request_without_tools_is_hermes_own_and_gets_a_summary() -> None:
    assert reply([user("error 401")], None) == Reply(text=texts.SUMMARY["en"])


def test_a_tool_that_is_switched_off_is_named_instead_of_called() -> None:
    assert "`terminal`" in reply([user("terminal")], [{"function": {"name": "todo"}}]).text


@pytest.mark.parametrize(("exit_code", "words"), [(0, "The command ran"), (-1, "did **not** run")])
def test_a_dangerous_command_ends_as_its_result_says(exit_code: int, words: str) -> None:
    call = {"role": "assistant", "content": "", "tool_calls": [{"id": "c"}]}
    messages = [user("dangerous"), call, {"role": "tool", "content": json.dumps({"exit_code": exit_code})}]
    assert words in reply(messages, TOOLS).text


def test_compaction_is_claimed_only_where_it_happened() -> None:
    assert play("compact")[0].prompt_tokens == script.CONTEXT_LENGTH - 8_000
    assert play("compact")[-1].text == texts.COMPACT["en"][1]
    assert play("compact", before=(user(f"[x] {texts.SUMMARY['en']}"),))[-1].text == texts.COMPACT["en"][0]


def test_failures_break_the_turn() -> None:
    assert play("error 500")[0].http == 500
    assert play("error dead")[0].dead
    assert play("guardrail")[0].finish == "content_filter"


def test_a_slow_answer_takes_the_time_that_was_asked_for() -> None:
    assert [play(s)[0].seconds for s in ("slow", "slow 3", "slow 0.5", "slow 999999")] == [15, 3, 0.5, 600]


def test_a_long_answer_is_about_8_kb_of_markdown() -> None:
    for said in ("long", "长文"):
        text = play(said)[0].text
        assert 6_000 < len(text) < 10_000
        assert all(mark in text for mark in ("# ", "## ", "- ", "| ", "```python", "> ", "$"))
