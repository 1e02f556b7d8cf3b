"""The Bridge over HTTP: numbers, readers, answers, ends; with a worker that misbehaves on demand."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psutil
import pytest

from tests.bridge.running import RunningBridge, gone, session_id, wait_for

Start = Callable[..., RunningBridge]

ROUTES = [
    ("POST", "/hermes/run"),
    ("GET", "/hermes/runs"),
    ("GET", "/hermes/runs/x.1/events"),
    ("POST", "/hermes/runs/x.1/ack"),
    ("POST", "/hermes/runs/x.1/interrupt"),
    ("POST", "/hermes/runs/x.1/clarify"),
    ("POST", "/hermes/runs/x.1/approve"),
    ("POST", "/hermes/runs/x.1/steer"),
    ("POST", "/hermes/sessions/x/reset"),
    ("GET", "/hermes/models"),
    ("GET", "/hermes/skills"),
    ("GET", "/hermes/health"),
    ("POST", "/hermes/drain"),
    ("POST", "/hermes/shutdown"),
    ("GET", "/elsewhere"),
]


@pytest.mark.requirement("R45")
@pytest.mark.parametrize("header", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer"}])
def test_every_route_wants_the_token(faulty: RunningBridge, header: dict[str, str]) -> None:
    with httpx.Client(base_url=faulty.file["url"], headers=header, trust_env=False) as stranger:
        assert {stranger.request(method, path).status_code for method, path in ROUTES} == {401}


def test_an_unknown_route_is_an_error_of_the_same_shape(faulty: RunningBridge) -> None:
    response = faulty.client.get("/elsewhere")
    assert (response.status_code, response.json()["error"]["code"]) == (404, "not_found")


@pytest.mark.requirement("R45")
def test_the_file_and_the_logs_are_private_and_hold_no_token_but_the_files_own(faulty: RunningBridge) -> None:
    faulty.run("count 1")
    modes = {f.name: stat.S_IMODE(f.stat().st_mode) for f in faulty.runtime.iterdir() if f.name.startswith(("bridge", "worker"))}
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(faulty.runtime.stat().st_mode) == 0o700
    written = [f for f in faulty.folder.rglob("*") if f.is_file() and f.name != "bridge.json"]
    assert not [f for f in written if faulty.file["token"].encode() in f.read_bytes()]


def test_a_second_bridge_refuses_the_same_place(faulty: RunningBridge) -> None:
    second = faulty.launch()
    assert second.wait(15) == 3
    assert json.loads((faulty.runtime / "bridge.json").read_bytes()) == faulty.file


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"runId": "x"}, "sessionId"),
        ({"maxIterations": "many"}, "maxIterations"),
        ({"modelConfig": {"model": 3}}, "modelConfig.model"),
    ],
)
def test_a_body_that_does_not_fit_names_the_field(faulty: RunningBridge, body: dict[str, object], field: str) -> None:
    whole = body if "runId" in body else {**faulty.request("count 1"), **body}
    error = faulty.post("/hermes/run", whole).json()["error"]
    assert (error["code"], error["details"]) == ("bad_request", {"field": field})


def test_an_unknown_run_is_not_found(faulty: RunningBridge) -> None:
    answers = [
        faulty.client.get("/hermes/runs/x.1/events"),
        faulty.post("/hermes/runs/x.1/interrupt"),
        faulty.post("/hermes/runs/x.1/ack", {"seq": 1}),
    ]
    assert [(a.status_code, a.json()["error"]["code"]) for a in answers] == [(404, "run_not_found")] * 3


# ---- events -----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("R17", "R19")
def test_events_are_numbered_from_one_and_carry_the_envelope(faulty: RunningBridge) -> None:
    request = faulty.request("count 3", userMessageId="u.1")
    with faulty.stream("POST", "/hermes/run", json=request) as stream:
        frames = list(stream)
    events = [f for f in frames if f.name == "message"]
    assert [f.data["kind"] for f in events] == ["run_started", "answer", "thinking", "thinking", "thinking", "run_complete"]
    assert [f.data["seq"] for f in events] == [int(f.id) for f in events] == [1, 2, 3, 4, 5, 6]
    assert {f.data["runId"] for f in events} == {request["runId"]}
    assert {("sessionId" in f.data, f.data["kind"] in ("answer", "thinking")) for f in events} == {(True, False), (False, True)}
    assert [f.data["messageId"] for f in events if "messageId" in f.data] == [request["runId"]] * 2
    assert [f.data["t"] for f in events] == sorted(f.data["t"] for f in events)


def test_the_turn_comes_once_right_before_the_terminal_event_and_again_for_a_late_reader(faulty: RunningBridge) -> None:
    request = faulty.request("count 1")
    with faulty.stream("POST", "/hermes/run", json=request) as stream:
        frames = list(stream)
    assert [f.name for f in frames].index("turn") == len(frames) - 2
    assert frames[-2].data["messages"][0] == {"role": "user", "content": "count 1"}
    assert [f.name for f in faulty.events(request["runId"], after=3)] == ["turn", "message"]


@pytest.mark.requirement("R18", "R23")
def test_two_readers_and_one_that_comes_back_get_the_same_complete_list(faulty: RunningBridge) -> None:
    request = faulty.request("count 4000")
    run_id = request["runId"]
    with faulty.stream("POST", "/hermes/run", json=request) as stream:
        head = [next(stream) for _ in range(40)]  # then it is cut off in the middle
    with ThreadPoolExecutor(2) as pool:
        lists = [f.result() for f in [pool.submit(faulty.events, run_id), pool.submit(faulty.events, run_id)]]
    rest = faulty.events(run_id, after=int(head[-1].id))
    assert lists[0] == lists[1] == head + rest
    assert [int(f.id) for f in lists[0] if f.name == "message"] == list(range(1, 4004))


@pytest.mark.requirement("R20")
def test_confirmed_events_are_dropped_and_an_older_number_is_told_as_a_gap(faulty: RunningBridge) -> None:
    session = session_id()
    with faulty.started("ask", "clarify_request", session) as (run_id, _):
        faulty.post(f"/hermes/runs/{run_id}/ack", {"seq": 2})
        with faulty.stream("GET", f"/hermes/runs/{run_id}/events?after=0") as frames:
            first, second = next(frames), next(frames)
        assert (first.name, first.data, second.data["seq"]) == ("gap", {"first": 3}, 3)
        faulty.post(f"/hermes/runs/{run_id}/clarify", {"clarifyId": "q1", "answer": "a"})
    wait_for(lambda: _state(faulty, run_id)["ended"])
    faulty.post(f"/hermes/runs/{run_id}/ack", {"seq": 99})
    assert run_id not in _runs(faulty)


def test_a_run_id_that_is_sent_again_gives_the_same_run(faulty: RunningBridge) -> None:
    request = faulty.request("count 5")
    for _ in range(2):
        with faulty.stream("POST", "/hermes/run", json=request) as frames:
            assert [f.data["seq"] for f in frames if f.name == "message"] == list(range(1, 9))


# ---- a worker that misbehaves -----------------------------------------------------------------------------------------


@pytest.mark.requirement("R23", "R25")
def test_a_worker_that_dies_ends_its_run_with_what_it_had_said(faulty: RunningBridge) -> None:
    session = session_id()
    *_, turn, end = faulty.run("die", session)
    assert (end.kind, end.data["code"], end.data["text"]) == ("run_error", "worker_lost", "begun")
    assert [m["content"] for m in turn.data["messages"]] == ["die", "begun"]
    assert faulty.run("count 1", session)[-1].kind == "run_complete"


def test_garbage_from_a_worker_is_one_notice_and_an_unknown_kind_passes_through(faulty: RunningBridge) -> None:
    frames = faulty.run("garbage")
    assert [f.kind for f in frames] == ["run_started", "answer", "notice", "hologram", "turn", "run_complete"]
    assert (frames[2].data["code"], "not JSON" in frames[2].data["text"]) == ("malformed_event", True)
    assert frames[3].data["depth"] == 3
    assert frames[-1].data["text"] == "begun"


def test_a_line_without_end_kills_the_worker_and_ends_the_run(faulty: RunningBridge) -> None:
    assert faulty.run("flood")[-1].data["code"] == "worker_lost"


def test_an_end_that_makes_no_sense_still_ends_the_run(faulty: RunningBridge) -> None:
    *_, turn, end = faulty.run("nonsense")
    assert (end.kind, end.data["code"], end.data["text"]) == ("run_error", "agent_error", "begun")
    assert turn.data["messages"][1]["content"] == "begun"


@pytest.mark.parametrize(("start", "code"), [("fatal", "hermes_incompatible"), ("exit", "worker_lost")])
def test_a_worker_that_cannot_start_ends_the_run_with_a_sentence(start_faulty: Start, start: str, code: str) -> None:
    bridge = start_faulty(FAULTY_START=start)
    *_, end = bridge.run("count 1")
    assert (end.kind, end.data["code"]) == ("run_error", code)
    assert end.data["message"].endswith(".")


def test_without_hermes_a_run_and_the_health_say_how_to_install_it(start_faulty: Start) -> None:
    bridge = start_faulty()
    (bridge.folder / "python-of-a-faulty-hermes").unlink()
    *_, end = bridge.run("count 1")
    assert (end.data["code"], "jupyter hermes-chat setup" in end.data["message"]) == ("hermes_not_found", True)
    assert bridge.client.get("/hermes/health").json()["problem"]["code"] == "hermes_not_found"


# ---- people -----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("R37")
def test_a_clarify_is_answered_once_and_a_second_answer_is_refused(faulty: RunningBridge) -> None:
    request = faulty.request("ask")
    path = f"/hermes/runs/{request['runId']}/clarify"
    with faulty.stream("POST", "/hermes/run", json=request) as frames:
        next(f for f in frames if f.kind == "clarify_request")
        assert _state(faulty, request["runId"])["waiting"]
        assert faulty.post(path, {"clarifyId": "q9", "answer": "a"}).json()["error"]["code"] == "pause_not_found"
        assert faulty.post(path, {"clarifyId": "q1", "answer": "b", "by": "ada"}).status_code == 200
        second = faulty.post(path, {"clarifyId": "q1", "answer": "a"})
        assert (second.status_code, second.json()["error"]["code"]) == (409, "already_answered")
        resolved, _turn, end = list(frames)
    assert {k: resolved.data[k] for k in ("kind", "status", "answer", "by")} == {
        "kind": "clarify_resolved", "status": "answered", "answer": "b", "by": "ada",
    }  # fmt: skip
    assert end.data["text"] == "b"


@pytest.mark.requirement("R38")
def test_an_approval_takes_only_what_it_offers(faulty: RunningBridge) -> None:
    with faulty.started("approve", "approval_request") as (run_id, _):
        path = f"/hermes/runs/{run_id}/approve"
        refused = faulty.post(path, {"approvalId": "a1", "choice": "always"})
        assert (refused.status_code, refused.json()["error"]["details"]) == (400, {"field": "choice"})
        assert faulty.post(path, {"approvalId": "a1", "choice": "deny", "by": "ada"}).status_code == 200
        assert faulty.post(path, {"approvalId": "a1", "choice": "once"}).status_code == 409
    kinds = [f.kind for f in faulty.events(run_id)]
    assert kinds[-3:] == ["approval_resolved", "turn", "run_complete"]


@pytest.mark.requirement("R37")
def test_a_question_of_a_stopped_run_is_told_as_interrupted_and_takes_no_answer(faulty: RunningBridge) -> None:
    with faulty.started("ask", "clarify_request") as (run_id, _):
        assert faulty.post(f"/hermes/runs/{run_id}/interrupt").json() == {"success": True, "cleaned": True}
    events = [f for f in faulty.events(run_id) if f.name == "message"]
    assert [(f.kind, f.data.get("status")) for f in events[-2:]] == [("clarify_resolved", "interrupted"), ("run_stopped", None)]
    late = faulty.post(f"/hermes/runs/{run_id}/clarify", {"clarifyId": "q1", "answer": "a"})
    assert (late.status_code, late.json()["error"]["code"]) == (409, "run_ended")


@pytest.mark.requirement("R16")
def test_a_second_run_in_a_busy_session_is_refused_and_another_session_runs(faulty: RunningBridge) -> None:
    session = session_id()
    with faulty.started("ask", "clarify_request", session) as (run_id, _):
        busy = faulty.post("/hermes/run", faulty.request("count 1", session))
        assert (busy.status_code, busy.json()["error"]["code"]) == (409, "session_busy")
        assert faulty.post(f"/hermes/sessions/{session}/reset").status_code == 409
        assert faulty.run("count 1")[-1].kind == "run_complete"
        faulty.post(f"/hermes/runs/{run_id}/interrupt")


@pytest.mark.requirement("R25")
def test_a_deaf_worker_is_not_cleaned_in_three_seconds_and_force_ends_it(faulty: RunningBridge) -> None:
    with faulty.started("deaf", "answer") as (run_id, _):
        before = time.monotonic()
        assert faulty.post(f"/hermes/runs/{run_id}/interrupt").json()["cleaned"] is False
        assert 2.9 < time.monotonic() - before < 4
        before = time.monotonic()
        assert faulty.post(f"/hermes/runs/{run_id}/interrupt", {"force": True}).json()["cleaned"] is True
        assert time.monotonic() - before < 2
    end = faulty.events(run_id)[-1].data
    assert (end["kind"], end["text"], end["cleaned"]) == ("run_stopped", "begun", False)


@pytest.mark.requirement("R25")
def test_force_ends_the_commands_that_the_worker_started_in_sessions_of_their_own(faulty: RunningBridge) -> None:
    with faulty.started("spawn", "status") as (run_id, told):
        command = psutil.Process(int(told.data["text"]))
        faulty.post(f"/hermes/runs/{run_id}/interrupt", {"force": True})
        wait_for(lambda: gone([command]), 2)


@pytest.mark.requirement("R48")
def test_a_session_without_a_working_folder_gets_a_private_one_and_keeps_it(faulty: RunningBridge) -> None:
    session, other = session_id(), session_id()
    told = [json.loads(faulty.run("where", s)[-1].data["text"]) for s in (session, session, other)]
    assert told[0]["cwd"] == told[1]["cwd"] != told[2]["cwd"]
    assert stat.S_IMODE(Path(told[0]["cwd"]).stat().st_mode) == 0o700
    os.umask(umask := os.umask(0o022))
    assert told[0]["umask"] == umask  # what the agent writes for a person is not the Bridge's secret


def test_a_working_folder_that_does_not_exist_ends_the_run_with_a_sentence(faulty: RunningBridge) -> None:
    end = faulty.run("where", workingDir="/nowhere/at/all")[-1].data
    assert (end["code"], "/nowhere/at/all" in end["message"]) == ("bad_request", True)


@pytest.mark.requirement("R44")
def test_models_and_skills_come_from_the_probe(faulty: RunningBridge) -> None:
    found = faulty.client.get("/hermes/models").json()
    assert found == faulty.client.get("/hermes/skills").json()
    assert (found["configured"], found["tour"], found["default"]) == (True, False, {"provider": "p", "model": "m"})
    assert found["models"] == [{"id": "p/m", "provider": "p", "model": "m", "name": "P (m)", "contextLength": 64000}]
    assert [s["folder"] for s in found["skills"]] == ["s"]


# ---- the end ----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("R37", "R45")
def test_an_idle_bridge_ends_and_one_with_an_open_question_does_not(start_faulty: Start) -> None:
    bridge = start_faulty(HERMES_CHAT_IDLE_SECONDS="1.5")
    request = bridge.request("ask")
    run_id = request["runId"]
    with bridge.stream("POST", "/hermes/run", json=request) as frames:
        next(f for f in frames if f.kind == "clarify_request")
        with pytest.raises(subprocess.TimeoutExpired):
            bridge.process.wait(3.5)
        bridge.post(f"/hermes/runs/{run_id}/clarify", {"clarifyId": "q1", "answer": "a"})
        last = int(list(frames)[-1].id)
    bridge.post(f"/hermes/runs/{run_id}/ack", {"seq": last})
    assert bridge.process.wait(15) == 0
    assert not (bridge.runtime / "bridge.json").exists()


@pytest.mark.requirement("R45")
def test_shutdown_ends_runs_as_stopped_and_leaves_no_process(start_faulty: Start) -> None:
    bridge = start_faulty()
    bridge.run("count 1")
    request = bridge.request("spawn")
    with bridge.stream("POST", "/hermes/run", json=request) as frames:
        next(f for f in frames if f.kind == "status")
        processes = bridge.processes()
        assert len(processes) >= 2
        bridge.post("/hermes/shutdown")
        assert [f.kind for f in frames][-1] == "run_stopped"
    assert bridge.process.wait(15) == 0
    assert gone(processes)


@pytest.mark.requirement("R23")
def test_a_killed_bridge_leaves_no_worker(start_faulty: Start) -> None:
    bridge = start_faulty()
    bridge.run("count 1")
    workers = bridge.workers()
    assert workers
    bridge.process.kill()
    bridge.process.wait()
    wait_for(lambda: gone(workers))


def test_a_draining_bridge_frees_its_place_finishes_its_runs_and_ends(start_faulty: Start) -> None:
    bridge = start_faulty()
    with bridge.started("ask", "clarify_request") as (run_id, _):
        assert bridge.post("/hermes/drain").status_code == 200
        assert not (bridge.runtime / "bridge.json").exists()
        refused = bridge.post("/hermes/run", bridge.request("count 1"))
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "bridge_unavailable")
        moved = json.loads(next(bridge.runtime.glob("draining-*/bridge.json")).read_bytes())
        assert moved == bridge.file
        bridge.post(f"/hermes/runs/{run_id}/clarify", {"clarifyId": "q1", "answer": "a"})
    last = bridge.events(run_id)[-1]
    assert last.kind == "run_complete"
    assert bridge.process.poll() is None  # not before its events are confirmed
    bridge.post(f"/hermes/runs/{run_id}/ack", {"seq": int(last.id)})
    assert bridge.process.wait(15) == 0
    assert not list(bridge.runtime.glob("draining-*"))


def _runs(bridge: RunningBridge) -> dict[str, dict[str, object]]:
    return {r["runId"]: r for r in bridge.client.get("/hermes/runs").json()["runs"]}


def _state(bridge: RunningBridge, run_id: str) -> dict[str, object]:
    return _runs(bridge)[run_id]
