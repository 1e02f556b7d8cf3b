"""``%hermes`` and ``%%hermes`` in a real kernel, against a real server, Bridge and Hermes Agent with the tour model."""

from __future__ import annotations

import threading
from typing import Any

import httpx
import pytest

from jupyter_hermes_chat.client import HermesClient
from jupyter_hermes_chat.protocol.errors import TurnFailed
from jupyter_hermes_chat.reduce import ClarifyPart, from_json
from tests.notebook.kernels import Cell, Kernel
from tests.servers import Running, wait_for

MIME = "application/vnd.hermes-chat.turn+json"
pytestmark = pytest.mark.agent


def is_final(data: dict[str, Any]) -> bool:
    return not data[MIME]["live"]


@pytest.mark.requirement("R55", "R57")
def test_a_cell_keeps_the_whole_turn_in_three_forms(kernel: Kernel) -> None:
    cell = kernel.run("%%hermes\nhello")
    assert cell.status == "ok"
    assert set(cell.data) == {MIME, "text/markdown", "text/plain"}
    turn = cell.data[MIME]
    assert (turn["version"], turn["live"]) == (1, False)
    state = from_json(turn["state"])
    assert (state.run_id, state.phase) == (turn["run"], "complete")
    assert state.text in cell.data["text/markdown"]
    assert cell.data["text/plain"] == state.text
    assert turn["session"] == kernel.value("_.session")


@pytest.mark.requirement("R57")
def test_the_reply_is_the_cells_value_and_is_not_shown_twice(kernel: Kernel) -> None:
    cell = kernel.run("%%hermes\nhello")
    assert [o["output_type"] for o in cell.outputs] == ["display_data"]
    assert kernel.value("(_.status, _.text == str(_), type(_).__name__)") == ("complete", True, "Reply")
    kernel.run("reply = %hermes hello")
    again = kernel.run("reply")
    assert [o["output_type"] for o in again.outputs] == ["execute_result"]
    assert is_final(again.data)


@pytest.mark.requirement("R57")
def test_a_reply_holds_thinking_tools_todos_and_usage(kernel: Kernel) -> None:
    kernel.run("reply = %hermes todo")
    assert kernel.value("[t.status for t in reply.todos]")
    assert "todo" in kernel.value("[t.tool for t in reply.tools]")
    assert kernel.value("reply.usage.input") > 0
    kernel.run("reply = %hermes think")
    assert kernel.value("reply.thinking")
    kernel.run("reply = %hermes long")
    assert kernel.value("[c.language for c in reply.code]")


@pytest.mark.requirement("R55")
def test_while_a_turn_is_live_its_json_never_changes(kernel: Kernel) -> None:
    cell = kernel.run("%%hermes\nslow 3")
    live = [d for d in cell.displays if not is_final(d)]
    assert len({repr(d[MIME]) for d in live}) == 1
    assert set(live[0][MIME]) == {"version", "run", "session", "live"}
    assert len({d["text/markdown"] for d in live}) > 1, "readers of Markdown see it grow"
    assert len(live) < 12, "and not at every token"
    assert [is_final(d) for d in cell.displays] == [False] * len(live) + [True]


@pytest.mark.requirement("R55", "R25")
def test_an_interrupt_stops_the_run_and_keeps_what_there_is(kernel: Kernel, client: HermesClient) -> None:
    pressed = threading.Event()

    def press(data: dict[str, Any]) -> None:
        if "Writing the answer" in data["text/markdown"] and not pressed.is_set():
            pressed.set()
            kernel.manager.interrupt_kernel()

    cell = kernel.run("%%hermes\nslow 60", on_display=press)
    assert pressed.is_set()
    assert cell.status == "ok"
    assert [o["output_type"] for o in cell.outputs] == ["display_data"], "no stack trace"
    state = from_json(cell.data[MIME]["state"])
    assert (state.phase, kernel.value("_.status")) == ("stopped", "stopped")
    assert state.text
    assert "Stopped" in cell.data["text/plain"]
    assert client.state(state.run_id).status == "STOPPED"


@pytest.mark.requirement("R56")
def test_a_question_that_nobody_can_answer_ends_the_cell_as_waiting(kernel: Kernel) -> None:
    cell = kernel.run("%%hermes\nask me")
    assert cell.status == "ok"
    assert kernel.value("_.status") == "waiting"
    assert not is_final(cell.data)
    assert "%hermes answer" in cell.data["text/markdown"]
    assert "1. " in cell.data["text/plain"]
    wrong = kernel.run("%hermes approve once")
    assert "Nothing waits for this here. A question waits" in wrong.text
    answered = kernel.run("reply = %hermes answer 1")
    assert is_final(answered.data)
    choice = next(p for p in from_json(answered.data[MIME]["state"]).parts if isinstance(p, ClarifyPart)).choices[0]
    assert kernel.value("reply.status") == "complete"
    assert choice in kernel.value("reply.text")
    late = kernel.run("late = %hermes answer 2")
    assert "Nothing waits for this here." in late.text
    assert kernel.value("late is reply")


@pytest.mark.requirement("R56")
def test_a_question_is_asked_at_the_keyboard_where_no_page_is_open(kernel: Kernel) -> None:
    cell = kernel.run("reply = %hermes ask me", stdin=lambda _: "2")
    (asked,) = cell.asked
    assert "  2. " in asked
    choice = asked.split("  2. ")[1].splitlines()[0]
    assert kernel.value("reply.status") == "complete"
    assert choice in kernel.value("reply.text")


@pytest.mark.requirement("R37", "R56")
def test_a_question_is_left_to_the_page_where_one_is_open(kernel: Kernel, client: HermesClient, server: Running) -> None:
    headers = {"Authorization": f"Bearer {server.file.token}"}

    def answer(data: dict[str, Any]) -> None:
        waiting = client.state(data[MIME]["run"]).pending if not is_final(data) else []
        for pause in waiting:
            client.answer(pause.run_id, pause.id, "from the page")

    with (
        httpx.Client(base_url=server.file.url, headers=headers, trust_env=False, timeout=30) as http,
        http.stream("GET", "hermes/api/chat/stream") as page,
    ):
        chunks = page.iter_bytes()  # held, or the connection is closed with it
        next(chunks)
        cell = kernel.run("reply = %hermes ask me", stdin=lambda _: "from the keyboard", on_display=answer)
    assert (cell.status, cell.asked) == ("ok", [])
    assert "from the page" in kernel.value("reply.text")


@pytest.mark.requirement("R38")
def test_a_dangerous_command_waits_for_approve(kernel: Kernel) -> None:
    cell = kernel.run("%%hermes\ndangerous")
    assert "%hermes approve" in cell.data["text/markdown"]
    assert "rm" in cell.data["text/plain"]
    bad = kernel.run("%hermes approve maybe")
    assert bad.status == "error"
    assert "none of the choices" in bad.text
    kernel.run("reply = %hermes approve deny")
    assert kernel.value("reply.status") == "complete"
    assert kernel.value("[p.choice for p in reply.state.parts if type(p).__name__ == 'ApprovalPart']") == ["deny"]


@pytest.mark.requirement("R55")
def test_a_background_turn_returns_at_once_and_is_whole_at_its_end(kernel: Kernel) -> None:
    cell = kernel.run("%%hermes --background\nslow 2")
    assert not is_final(cell.data)
    (output,) = cell.outputs
    kernel.run("reply = _")
    assert kernel.value("reply.wait(30).status") == "complete"
    assert is_final(kernel.settled(output, is_final))


def test_a_failed_turn_is_one_line_that_says_what_to_do(kernel: Kernel) -> None:
    cell = kernel.run("%%hermes\nerror 401")
    assert cell.status == "error"
    assert cell.error["ename"] == TurnFailed.__name__
    assert cell.error["traceback"] == [f"TurnFailed: {cell.error['evalue']}"]
    (shown,) = [o for o in cell.outputs if o["output_type"] == "display_data"]
    assert from_json(shown["data"][MIME]["state"]).phase == "error"
    assert cell.error["evalue"] in shown["data"]["text/plain"]


def one_line(cell: Cell) -> str:
    assert cell.status == "error"
    (line,) = cell.error["traceback"]
    return str(line)


def test_what_the_server_refuses_is_one_line_too(kernel: Kernel) -> None:
    assert "BadRequest: modelId" in one_line(kernel.run("%%hermes --model nonsense\nhello"))


def test_chats_are_listed_and_used_by_number_title_and_id(kernel: Kernel, client: HermesClient) -> None:
    alpha, beta = (client.create_session(title=f"{name} of this test").session_id for name in ("Alpha", "Beta"))
    kernel.run("%hermes hello")

    def current() -> str:
        (line,) = [x for x in kernel.run("%hermes list").text.splitlines() if x[4:5] == "*"]
        return line

    assert "Beta" not in current()
    assert kernel.run("%hermes list").text.splitlines()[1:3] == [
        f"  2   Beta of this test  ({beta[:8]})",
        f"  3   Alpha of this test  ({alpha[:8]})",
    ]
    for reference, title in (("3", "Alpha"), ("beta OF this test", "Beta"), ("alpha of", "Alpha"), (beta[:8], "Beta")):
        assert f"{title} of this test" in kernel.run(f"%hermes use {reference}").text
        assert title in current()
    assert "2 chats match" in kernel.run("%hermes use of this test").text
    assert "No chat is called" in kernel.run("%hermes use Gamma of this test").text
    kernel.run(f"%%hermes --session {alpha[:8]}\nhello")
    assert kernel.value("_.session") == alpha
    kernel.run("%hermes new Delta of this test")
    kernel.run("%hermes hello")
    assert "  1 * Delta of this test" in current()


@pytest.mark.requirement("R25")
def test_stop_ends_what_runs_in_this_chat(kernel: Kernel, client: HermesClient) -> None:
    assert "Nothing runs" in kernel.run("%hermes stop").text
    kernel.run("%%hermes --background\nslow 60")
    run_id = kernel.value("_.run")
    wait_for(lambda: client.state(run_id).text or None)
    assert "Stopped." in kernel.run("%hermes stop").text
    assert client.state(run_id).status == "STOPPED"


def test_status_names_server_hermes_model_and_chat(kernel: Kernel, server: Running) -> None:
    text = kernel.run("%hermes status").text
    assert server.file.url in text
    assert server.file.token not in text
    assert "Tour: scripted replies, no model" in text
    assert "Bridge " in text


def test_help_and_misuse_are_sentences(kernel: Kernel) -> None:
    assert "%hermes answer" in kernel.run("%hermes help").text
    assert kernel.run("%hermes").text == kernel.run("%hermes help").text
    for code, said in {
        "%%hermes\n  ": "Write your message",
        "%%hermes --colour red\nhello": "--colour",
        "%hermes answer": "Say what to answer",
        "%hermes use": "Say which",
        "%hermes stop now": "--force",
    }.items():
        cell = kernel.run(code)
        assert cell.status == "error", code
        assert said in cell.text, code


def test_a_subcommand_that_takes_no_words_stands_alone(kernel: Kernel) -> None:
    kernel.run("reply = %hermes list hello")
    assert kernel.value("reply.text.startswith('Hello')")


def test_a_line_that_ends_in_a_question_mark_is_a_question(kernel: Kernel) -> None:
    """IPython would look up ``this`` instead."""
    kernel.run("reply = %hermes hello, what is this?")
    assert kernel.value("reply.status") == "complete"
    assert is_final(kernel.run("%hermes hello, are you there?").data)


@pytest.mark.requirement("R57")
def test_a_prompt_reaches_the_agent_as_it_was_written(kernel: Kernel, client: HermesClient) -> None:
    kernel.run("name = 'filled in'")
    for code in ("%hermes hello {name} $name ${name}", "%%hermes\nhello {name} $name ${name}"):
        session = kernel.run(code).data[MIME]["session"]
        assert client.session(session).messages[-2].message.content == "hello {name} $name ${name}"


def test_loading_twice_changes_nothing(kernel: Kernel) -> None:
    kernel.run("before = get_ipython().magics_manager.magics['line']['hermes'].__self__")
    kernel.run("%reload_ext jupyter_hermes_chat\n%load_ext jupyter_hermes_chat")
    assert kernel.value("get_ipython().magics_manager.magics['line']['hermes'].__self__ is before")
    assert kernel.value("str(get_ipython().input_transformers_cleanup).count('keep_questions')") == 1


@pytest.mark.requirement("R34")
def test_chat_shows_the_widget(kernel: Kernel) -> None:
    cell = kernel.run("%hermes chat")
    assert "application/vnd.jupyter.widget-view+json" in cell.data
