"""Whole turns through the routes: a Jupyter server, the Bridge, the real Hermes Agent, the tour model (R1, R16–R25, R37)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server_process import Server, running_server

pytestmark = pytest.mark.agent


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, hermes_python: Path) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("turns"), HERMES_PYTHON=str(hermes_python)) as server:
        yield server


@pytest.fixture
def session_id(server: Server) -> str:
    made: str = server.call("POST", "sessions", {})["sessionId"]
    return made


def start(server: Server, session_id: str, message: str, **fields: Any) -> str:
    run_id: str = server.call("POST", f"sessions/{session_id}/runs", {"message": message, **fields})["runId"]
    return run_id


def state(server: Server, run_id: str, until: Callable[[Any], bool], seconds: float = 60) -> Any:
    deadline = time.monotonic() + seconds
    while not until(found := server.call("GET", f"runs/{run_id}/state")):
        assert time.monotonic() < deadline, found
        time.sleep(0.05)
    return found


def over(found: Any) -> bool:
    return bool(found["status"] != "RUNNING")


def turn(server: Server, session_id: str, message: str, **fields: Any) -> Any:
    return state(server, start(server, session_id, message, **fields), over)


def kinds(server: Server, run_id: str) -> list[str]:
    return [e["kind"] for e in server.call("GET", f"messages/{run_id}/logs")["events"]]


@pytest.mark.requirement("R1", "R4", "R17", "R44")
def test_a_plain_turn_is_answered_stored_and_found_again(server: Server, session_id: str) -> None:
    found = turn(server, session_id, "hello")
    assert found["status"] == "SUCCESS"
    assert found["text"]
    view = server.call("GET", f"sessions/{session_id}")
    assert [m["message"]["role"] for m in view["messages"]] == ["USER", "ASSISTANT"]
    assert view["messages"][1]["message"]["content"] == found["text"]
    assert view["messages"][1]["message"]["modelId"] == "tour/hermes-tour"
    assert view["messages"][1]["logs"][-1]["kind"] == "run_complete"
    assert view["session"]["title"] == "hello"
    deadline = time.monotonic() + 30
    while (health := server.call("GET", "health"))["tour"] is None and time.monotonic() < deadline:
        time.sleep(0.1)
    assert (health["bridge"], health["tour"], health["problem"]) == ("running", True, None)
    models = server.call("GET", "models")
    assert models["tour"] is True
    assert models["defaultId"] in [m["id"] for m in models["models"]]


@pytest.mark.requirement("R3", "R14")
def test_the_second_turn_knows_the_first_ones_tools_and_another_session_does_not(server: Server, session_id: str) -> None:
    assert "tool_result" in kinds(server, turn(server, session_id, "terminal")["runId"])
    again = turn(server, session_id, "do you remember?")["text"]
    assert "terminal" in again
    assert "exit_code" in again
    other = server.call("POST", "sessions", {})["sessionId"]
    assert "exit_code" not in turn(server, other, "do you remember?")["text"]


@pytest.mark.requirement("R22", "R37")
def test_a_question_waits_and_its_answer_wakes_the_same_run(server: Server, session_id: str) -> None:
    run_id = start(server, session_id, "ask me")
    [pause] = state(server, run_id, lambda s: bool(s["pending"]))["pending"]
    assert pause["kind"] == "clarify"
    assert pause["payload"]["choices"]
    answered = server.call("POST", f"runs/{run_id}/resume", {"clarifyId": pause["id"], "answer": "my own words"})
    assert answered["pending"] == []
    assert "my own words" in state(server, run_id, over)["text"]
    with pytest.raises(httpx.HTTPStatusError, match="409"):
        server.call("POST", f"runs/{run_id}/resume", {"clarifyId": pause["id"], "answer": "again"})


@pytest.mark.requirement("R38")
def test_a_dangerous_command_does_not_run_without_an_answer(server: Server, session_id: str) -> None:
    run_id = start(server, session_id, "dangerous")
    [pause] = state(server, run_id, lambda s: bool(s["pending"]))["pending"]
    assert pause["payload"]["command"].startswith("rm -rf")
    assert set(pause["payload"]["choices"]) == {"once", "session", "deny"}
    server.call("POST", f"runs/{run_id}/approve", {"approvalId": pause["id"], "choice": "deny"})
    assert state(server, run_id, over)["status"] == "SUCCESS"


@pytest.mark.requirement("R16", "R25")
def test_a_busy_session_refuses_and_a_stop_keeps_what_was_said(server: Server, session_id: str) -> None:
    run_id = start(server, session_id, "slow 30")
    state(server, run_id, lambda s: bool(s["text"]))
    with pytest.raises(httpx.HTTPStatusError, match="409"):
        start(server, session_id, "hello")
    began = time.monotonic()
    assert server.call("POST", f"runs/{run_id}/stop", {}) == {"success": True, "cleaned": True}
    assert time.monotonic() - began < 3.5
    found = server.call("GET", f"runs/{run_id}/state")
    assert found["status"] == "STOPPED"
    assert found["text"]
    assert turn(server, session_id, "hello")["status"] == "SUCCESS"


@pytest.mark.requirement("R19")
@pytest.mark.parametrize(("message", "code"), [("guardrail", "guardrail"), ("error 401", "model_refused")])
def test_a_model_that_refuses_is_a_failed_turn_with_a_sentence(server: Server, session_id: str, message: str, code: str) -> None:
    found = turn(server, session_id, message)
    assert found["status"] == "FAILED"
    assert found["error"]["code"] == code
    assert found["error"]["message"].endswith(".")
    assert "Traceback" not in found["error"]["message"]
    assert turn(server, session_id, "hello")["status"] == "SUCCESS"


@pytest.mark.requirement("R2")
def test_the_chosen_model_is_the_one_that_answers(server: Server, session_id: str) -> None:
    found = turn(server, session_id, "hello", modelId="tour/hermes-tour-mini")
    assert found["status"] == "SUCCESS"
    view = server.call("GET", f"sessions/{session_id}")
    assert view["messages"][1]["message"]["modelId"] == "tour/hermes-tour-mini"
    assert view["session"]["modelId"] == "tour/hermes-tour-mini"


def test_without_hermes_a_turn_fails_with_how_to_install_it(tmp_path: Path) -> None:
    with running_server(tmp_path, HERMES_PYTHON=str(tmp_path / "nowhere" / "python")) as server:
        session_id = server.call("POST", "sessions", {})["sessionId"]
        found = turn(server, session_id, "hello")
        assert found["status"] == "FAILED"
        assert found["error"]["code"] == "hermes_not_found"
        assert server.call("GET", "health")["problem"]["code"] == "hermes_not_found"
