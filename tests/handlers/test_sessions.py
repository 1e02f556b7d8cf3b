"""``sessions``, ``messages`` and what every route does with a request that is wrong (R41, R64)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from jupyter_server.serverapp import ServerApp

from jupyter_hermes_chat.handlers import resources
from jupyter_hermes_chat.runs.service import Service
from tests.handlers.conftest import Call
from tests.runs.scripted import ScriptedRuntime, until

UNKNOWN = "00000000-0000-4000-8000-000000000000"


async def new_session(call: Call, **body: Any) -> str:
    status, answer = await call("POST", "sessions", body)
    assert status == 201
    session_id: str = answer["sessionId"]
    return session_id


async def finish(scripted: ScriptedRuntime, service: Service, run_id: str, text: str) -> None:
    await until(lambda: run_id in scripted.runs)
    scripted.runs[run_id].say(text)
    scripted.runs[run_id].end()
    await until(lambda: not service.channels.active())


@pytest.mark.requirement("R41", "R4", "R5")
async def test_a_session_is_made_listed_opened_and_deleted(call: Call, scripted: ScriptedRuntime, service: Service) -> None:
    older, newer = await new_session(call, title="older"), await new_session(call)
    status, run = await call("POST", f"sessions/{older}/runs", {"message": "Good\nmorning"})
    assert status == 202
    assert run["messageId"] == run["runId"] == f"{older}.2"
    assert run["userMessageId"] == f"{older}.1"
    status, listed = await call("GET", "sessions")
    assert [item["session"]["id"] for item in listed["items"]] == [older, newer]
    assert (listed["items"][0]["hasActiveRun"], listed["items"][0]["activeRunId"]) == (True, run["runId"])
    assert (await call("DELETE", f"sessions/{older}"))[0] == 409
    await finish(scripted, service, run["runId"], "Good morning to you")
    status, view = await call("GET", f"sessions/{older}")
    assert status == 200
    assert [m["message"]["content"] for m in view["messages"]] == ["Good\nmorning", "Good morning to you"]
    assert [e["kind"] for e in view["messages"][1]["logs"]] == ["run_started", "answer", "run_complete"]
    assert view["activeRunId"] is None
    assert view["session"]["title"] == "older"
    assert await call("DELETE", f"sessions/{older}") == (204, None)
    assert (await call("GET", f"sessions/{older}"))[1]["error"]["code"] == "session_not_found"


@pytest.mark.requirement("R41")
async def test_pages_of_messages_and_sessions_fit_together(call: Call, scripted: ScriptedRuntime, service: Service) -> None:
    session_id = await new_session(call)
    scripted.auto = lambda run: run.end()
    for n in range(4):
        await call("POST", f"sessions/{session_id}/runs", {"message": f"m{n}"})
        await until(lambda: not service.channels.active())
    ids = [f"{session_id}.{n}" for n in range(1, 9)]
    status, page = await call("GET", f"sessions/{session_id}/messages", limit=3)
    assert ([m["message"]["id"] for m in page["messages"]], page["hasMore"]) == (ids[5:], True)
    status, page = await call("GET", f"sessions/{session_id}/messages", limit=5, before=ids[5])
    assert ([m["message"]["id"] for m in page["messages"]], page["hasMore"]) == (ids[:5], False)
    status, answer = await call("GET", f"sessions/{session_id}/messages", before=f"{session_id}.77")
    assert (status, answer["error"]["code"]) == (404, "message_not_found")
    await new_session(call)
    status, listed = await call("GET", "sessions", limit=1, offset=0)
    assert (listed["total"], listed["hasMore"], len(listed["items"])) == (2, True, 1)


@pytest.mark.requirement("R9", "R43")
async def test_logs_are_filtered_by_kind(call: Call, scripted: ScriptedRuntime, service: Service) -> None:
    session_id = await new_session(call)
    _, run = await call("POST", f"sessions/{session_id}/runs", {"message": "x"})
    await finish(scripted, service, run["runId"], "answer")
    _, every = await call("GET", f"messages/{run['runId']}/logs")
    assert ([e["kind"] for e in every["events"]], every["lastSeq"]) == (["run_started", "answer", "run_complete"], 3)
    _, some = await call("GET", f"messages/{run['runId']}/logs", kind="answer,thinking")
    assert ([e["kind"] for e in some["events"]], some["lastSeq"]) == (["answer"], 3)
    _, none = await call("GET", f"messages/{run['userMessageId']}/logs")
    assert none == {"events": [], "lastSeq": 0}


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", f"sessions/{UNKNOWN}", "session_not_found"),
        ("GET", "sessions/..", "session_not_found"),
        ("GET", f"sessions/{UNKNOWN}/messages", "session_not_found"),
        ("DELETE", f"sessions/{UNKNOWN}", "session_not_found"),
        ("POST", f"sessions/{UNKNOWN}/runs", "session_not_found"),
        ("GET", f"runs/{UNKNOWN}.2/stream", "run_not_found"),
        ("GET", f"runs/{UNKNOWN}.2/state", "run_not_found"),
        ("POST", f"runs/{UNKNOWN}.2/stop", "run_not_found"),
        ("POST", "runs/nonsense/stop", "run_not_found"),
        ("GET", f"messages/{UNKNOWN}.2/logs", "message_not_found"),
    ],
)
async def test_what_does_not_exist_is_not_found(call: Call, method: str, path: str, code: str) -> None:
    status, answer = await call(method, path, {"message": "x"} if path.endswith("/runs") else None)
    assert (status, answer["error"]["code"]) == (404, code)


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("runs", {"message": 5}, "$.message"),
        ("runs", {"message": "x", "colour": "red"}, "$.colour"),
        ("runs", {"message": "x", "context": [{"kind": "cell", "label": 3, "text": "t"}]}, "$.context[0].label"),
        ("runs", {}, "$.message"),
        ("runs", b"{not json", "$"),
        ("runs", b"[]", "$"),
        ("runs", b'{"message":"\\ud800"}', "$"),
        ("stop", {"force": "yes"}, "$.force"),
        ("resume", {"answer": "x"}, "$.clarifyId"),
        ("approve", {"approvalId": "a", "choice": "maybe"}, "$.choice"),
    ],
)
async def test_a_body_that_does_not_fit_is_refused_by_field(
    call: Call, scripted: ScriptedRuntime, path: str, body: Any, field: str
) -> None:
    session_id = await new_session(call)
    if path != "runs":
        _, run = await call("POST", f"sessions/{session_id}/runs", {"message": "x"})
    status, answer = await call("POST", f"sessions/{session_id}/runs" if path == "runs" else f"runs/{run['runId']}/{path}", body)
    assert (status, answer["error"]["code"], answer["error"]["details"]["field"]) == (400, "bad_request", field)


async def test_a_message_above_a_megabyte_is_too_large(call: Call) -> None:
    session_id = await new_session(call)
    status, answer = await call("POST", f"sessions/{session_id}/runs", {"message": "x" * 1_000_001})
    assert (status, answer["error"]["code"]) == (413, "message_too_large")


@pytest.mark.parametrize(("name", "value"), [("limit", "0"), ("limit", "201"), ("offset", "-1"), ("limit", "ten")])
async def test_a_page_that_cannot_be_is_refused(call: Call, name: str, value: str) -> None:
    status, answer = await call("GET", "sessions", **{name: value})
    assert (status, answer["error"]["details"]["field"]) == (400, name)


@pytest.mark.requirement("R64")
async def test_rows_of_another_owner_are_not_found(call: Call, service: Service) -> None:
    theirs = service.store.create_session("bob").id
    assert (await call("GET", f"sessions/{theirs}"))[0] == 404
    assert (await call("POST", f"sessions/{theirs}/runs", {"message": "x"}))[0] == 404
    assert (await call("GET", "sessions"))[1]["total"] == 0


async def test_a_large_result_is_an_attachment_that_no_browser_shows(call: Call, service: Service, jp_fetch: Any) -> None:
    session_id = await new_session(call)
    folder = service.store.open_session(session_id, "ann").folder / "blobs"
    folder.mkdir(exist_ok=True)
    name = "ab" * 32
    (folder / name).write_bytes(b"<script>x</script>" * 40_000)
    response = await jp_fetch("hermes", "api", "chat", "sessions", session_id, "blobs", name)
    assert response.body == b"<script>x</script>" * 40_000
    assert response.headers["Content-Type"] == "application/octet-stream"
    assert response.headers["Content-Disposition"].startswith("attachment")
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in response.headers["Content-Security-Policy"]
    for wrong in ("cd" * 32, "tree.jsonl", "..%2Ftree.jsonl"):
        assert (await call("GET", f"sessions/{session_id}/blobs/{wrong}"))[0] == 404


async def test_health_answers_without_starting_anything(call: Call, service: Service) -> None:
    status, health = await call("GET", "health")
    assert status == 200
    assert health["bridge"] == "stopped"
    assert health["dataFolder"] == str(service.store.data_folder)
    assert health["problem"] is None
    assert not await service.runtime.alive()


async def test_health_does_not_wait_for_a_slow_look_at_hermes(
    call: Call, scripted: ScriptedRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never() -> dict[str, object]:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(resources, "HEALTH_SECONDS", 0.05)
    monkeypatch.setattr(scripted, "health", never)
    _, health = await call("GET", "health")
    assert (health["bridge"], health["tour"], health["problem"]) == ("running", None, None)


def server_files(app: ServerApp) -> list[Path]:
    return list(Path(app.runtime_dir).glob("hermes-chat-server-*"))


class TestUnusableDataFolder:
    @pytest.fixture
    def jp_server_config(self, jp_server_config: dict[str, Any], tmp_path: Path) -> dict[str, Any]:
        (tmp_path / "hermes-data").write_text("a file, not a folder")
        return jp_server_config

    async def test_jupyter_lives_and_every_route_says_why(self, call: Call, jp_serverapp: ServerApp) -> None:
        await jp_serverapp._post_start()
        status, answer = await call("POST", "sessions", {})
        assert (status, answer["error"]["code"]) == (500, "store_error")
        assert "data" in answer["error"]["message"]
        status, health = await call("GET", "health")
        assert (status, health["problem"]) == (200, answer["error"])
        assert server_files(jp_serverapp) == []


async def test_an_error_is_json_and_says_nothing_of_the_inside(
    call: Call, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("secret-token")

    monkeypatch.setattr(service.store, "list_sessions", broken)
    status, answer = await call("GET", "sessions")
    assert status == 500
    assert answer["error"]["code"] == "error"
    assert "secret-token" not in json.dumps(answer)
