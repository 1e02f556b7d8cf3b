"""The Bridge with the real Hermes Agent and the tour: a turn, its people, its end."""

from __future__ import annotations

import time

import pytest

from tests.bridge.running import RunningBridge, gone, is_sleep, session_id, wait_for

pytestmark = pytest.mark.agent


@pytest.mark.requirement("R1", "R45", "R46")
def test_without_a_model_the_tour_answers_and_says_so(real: RunningBridge) -> None:
    found = real.client.get("/hermes/models").json()
    assert (found["configured"], found["tour"], found["default"]["provider"]) == (False, True, "tour")
    assert [m["id"] for m in found["models"]] == ["tour/hermes-tour", "tour/hermes-tour-mini"]
    frames = real.run("hello", modelConfig={"provider": "tour", "model": "hermes-tour-mini"})
    assert (frames[0].data["provider"], frames[0].data["model"]) == ("tour", "hermes-tour-mini")
    end = frames[-1].data
    assert (end["kind"], end["text"]) == ("run_complete", "".join(f.data["text"] for f in frames if f.kind == "answer"))
    assert end["usage"]["input"] > 0


@pytest.mark.requirement("R46")
def test_a_home_that_was_named_and_has_no_model_gets_the_tour_too(real: RunningBridge) -> None:
    home = real.folder / "another-home"
    home.mkdir()
    frames = real.run("hello", hermesHome=str(home))
    assert (frames[0].data["provider"], frames[-1].kind) == ("tour", "run_complete")


@pytest.mark.requirement("R44")
def test_skills_are_listed(real: RunningBridge) -> None:
    assert real.client.get("/hermes/skills").json()["skills"]


@pytest.mark.requirement("R19", "R37")
def test_a_clarify_is_answered_once_and_the_answer_reaches_the_agent(real: RunningBridge) -> None:
    with real.started("ask me", "clarify_request") as (run_id, asked):
        path = f"/hermes/runs/{run_id}/clarify"
        answer = {"clarifyId": asked.data["clarifyId"], "answer": "neither, thanks"}
        assert [real.post(path, answer).status_code for _ in range(2)] == [200, 409]
    events = real.events(run_id)
    assert [f.data["answer"] for f in events if f.kind == "clarify_resolved"] == ["neither, thanks"]
    assert "neither, thanks" in events[-1].data["text"]


@pytest.mark.requirement("R38")
def test_a_dangerous_command_waits_and_a_denial_is_kept(real: RunningBridge) -> None:
    with real.started("dangerous", "approval_request") as (run_id, asked):
        assert asked.data["choices"] == ["once", "session", "deny"]
        real.post(f"/hermes/runs/{run_id}/approve", {"approvalId": asked.data["approvalId"], "choice": "deny"})
    events = real.events(run_id)
    assert [f.data["choice"] for f in events if f.kind == "approval_resolved"] == ["deny"]
    assert events[-1].kind == "run_complete"


@pytest.mark.requirement("R3", "R23")
def test_a_worker_killed_in_a_turn_costs_that_turn_only(real: RunningBridge) -> None:
    session = session_id()
    history: list[dict[str, object]] = []
    first = real.run("hello", session)
    history += first[-2].data["messages"]
    with real.started("slow 20", "answer", session) as (run_id, _):
        next(worker for worker in real.workers() if session in worker.cwd()).kill()
    *_, turn, end = real.events(run_id)
    assert (end.kind, end.data["code"]) == ("run_error", "worker_lost")
    assert end.data["text"]
    history += turn.data["messages"]
    *_, end = real.run("remember", session, history=history)
    assert end.kind == "run_complete"
    assert "hello" in end.data["text"]


@pytest.mark.requirement("R25")
def test_stop_ends_a_streaming_answer_at_once_and_keeps_what_was_said(real: RunningBridge) -> None:
    with real.started("slow 30", "answer") as (run_id, _):
        before = time.monotonic()
        assert real.post(f"/hermes/runs/{run_id}/interrupt").json() == {"success": True, "cleaned": True}
        assert time.monotonic() - before < 2
    events = real.events(run_id)
    said = "".join(f.data["text"] for f in events if f.kind == "answer")
    assert events[-1].kind == "run_stopped"
    assert events[-1].data["text"] == said != ""


@pytest.mark.requirement("R25")
def test_force_ends_a_running_terminal_command(real: RunningBridge) -> None:
    slow = real.folder / "slow-ls"
    slow.touch()
    try:
        with real.started("list files", "tool_call") as (run_id, _):
            commands = wait_for(lambda: list(filter(is_sleep, real.processes())))
            assert real.post(f"/hermes/runs/{run_id}/interrupt", {"force": True}).json()["cleaned"] is True
            wait_for(lambda: gone(commands), 2)
    finally:
        slow.unlink()
    end = real.events(run_id)[-1].data
    assert (end["kind"], end["cleaned"]) == ("run_stopped", False)


@pytest.mark.requirement("R45")
def test_shutdown_leaves_no_process(real: RunningBridge) -> None:
    assert real.run("hello")[-1].kind == "run_complete"
    processes = real.processes()
    assert any("jupyter_hermes_chat.tour" in p.cmdline() for p in processes)
    real.shut_down()
    wait_for(lambda: gone(processes), 2)
