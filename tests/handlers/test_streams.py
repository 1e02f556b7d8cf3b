"""Streams: resume without a gap or a double, sync, changes, slow and vanished readers (R18, R24). Pure timing, so scripted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jupyter_server.serverapp import ServerApp

from jupyter_hermes_chat.handlers import streams as stream_handlers
from jupyter_hermes_chat.protocol.events import ClarifyRequest, Notice, decode
from jupyter_hermes_chat.protocol.sse import HEARTBEAT
from jupyter_hermes_chat.reduce import reduce
from jupyter_hermes_chat.runs.service import Service
from tests.handlers.conftest import Call
from tests.handlers.sse import Stream, Streams
from tests.runs.scripted import ScriptedRun, ScriptedRuntime, until


async def begin(call: Call, scripted: ScriptedRuntime, message: str = "hi") -> tuple[str, str, ScriptedRun]:
    _, session = await call("POST", "sessions", {})
    _, run = await call("POST", f"sessions/{session['sessionId']}/runs", {"message": message})
    await until(lambda: run["runId"] in scripted.runs)
    return session["sessionId"], run["runId"], scripted.runs[run["runId"]]


def text_of(run_id: str, *streams: Stream) -> str:
    """What a client shows that has read these streams one after the other."""
    return reduce(run_id, [decode(json.dumps(event)) for stream in streams for event in stream.events]).text


@pytest.mark.requirement("R18")
async def test_a_run_stream_starts_at_once_numbers_its_frames_and_ends_with_the_run(
    call: Call, streams: Streams, scripted: ScriptedRuntime
) -> None:
    _, run_id, run = await begin(call, scripted)
    async with streams(f"runs/{run_id}/stream") as stream:
        assert stream.raw.startswith(b":" + b" " * 2048)
        run.say("one ", "two ")
        await stream.until(lambda: [e["kind"] for e in stream.events] == ["run_started", "answer"])
        run.say("three")
        run.end()
        await stream.end()
        assert [f.id for f in stream.frames] == [str(e.get("seqEnd", e["seq"])) for e in stream.events]
        assert stream.events[-1]["kind"] == "run_complete"
        assert text_of(run_id, stream) == "one two three"
        headers = stream.headers
        assert headers["Content-Type"].startswith("text/event-stream")
        assert headers["Cache-Control"] == "no-cache, no-transform"
        assert headers["X-Accel-Buffering"] == "no"


@pytest.mark.requirement("R18")
@pytest.mark.parametrize("how", ["header", "argument"])
async def test_a_reconnect_at_any_number_continues_exactly(
    call: Call, streams: Streams, scripted: ScriptedRuntime, how: str
) -> None:
    _, run_id, run = await begin(call, scripted)
    async with streams(f"runs/{run_id}/stream") as first:
        run.say(*"abc")
        await first.until(lambda: bool(first.events) and first.events[-1].get("seqEnd", first.events[-1]["seq"]) == 4)
    run.say(*"def")
    last = first.frames[-1].id
    headers, query = ({"Last-Event-ID": last}, {}) if how == "header" else ({}, {"lastEventId": last})
    async with streams(f"runs/{run_id}/stream", headers=headers, **query) as second:
        run.say(*"ghi")
        run.end()
        await second.end()
    assert second.events[0]["seq"] == 5
    assert text_of(run_id, first, second) == "abcdefghi"


@pytest.mark.requirement("R18", "R21")
@pytest.mark.parametrize("forgotten", [False, True], ids=["memory", "disk"])
async def test_a_finished_run_replays_in_full_and_then_ends(
    call: Call, streams: Streams, scripted: ScriptedRuntime, service: Service, forgotten: bool
) -> None:
    _, run_id, run = await begin(call, scripted)
    run.say(*"abc")
    run.end()
    await until(lambda: not service.channels.active())
    if forgotten:
        service.channels._channels.clear()
    async with streams(f"runs/{run_id}/stream") as stream:
        await stream.end()
        assert [e["kind"] for e in stream.events] == ["run_started", "answer", "run_complete"]
    async with streams(f"runs/{run_id}/stream", lastEventId=5) as nothing:
        await nothing.end()
        assert nothing.events == []


@pytest.mark.requirement("R18", "R23")
@pytest.mark.parametrize("forgotten", [False, True], ids=["memory", "disk"])
async def test_who_saw_more_than_the_log_holds_hears_the_end_of_the_run(
    call: Call, streams: Streams, scripted: ScriptedRuntime, service: Service, forgotten: bool
) -> None:
    """Server and Bridge died together: the last events were told and never stored, and the end took the next stored number."""
    _, run_id, run = await begin(call, scripted)
    run.say(*"abc")
    run.end()
    await until(lambda: not service.channels.active())
    if forgotten:
        service.channels._channels.clear()
    async with streams(f"runs/{run_id}/stream", lastEventId=99) as stream:
        await stream.end()
        assert [(e["seq"], e["kind"]) for e in stream.events] == [(5, "run_complete")]


@pytest.mark.requirement("R18", "R23")
@pytest.mark.parametrize("page", [False, True], ids=["run", "page"])
async def test_who_saw_more_than_a_running_log_holds_follows_it_from_there(
    call: Call, streams: Streams, scripted: ScriptedRuntime, service: Service, page: bool
) -> None:
    _, run_id, run = await begin(call, scripted)
    run.say(*"abc")
    await until(lambda: (c := service.channels.get(run_id)) is not None and c.last_seq == 4)
    path, query = ("stream", {"after": f"{run_id}:99"}) if page else (f"runs/{run_id}/stream", {"lastEventId": "99"})
    async with streams(path, **query) as stream:
        await stream.until(lambda: bool(stream.raw))
        run.end()
        await stream.until(lambda: any(f.data.get("kind") == "run_complete" for f in stream.frames))


@pytest.mark.requirement("R22", "R23")
async def test_a_run_that_was_taken_up_again_replays_disk_and_memory_as_one(
    call: Call, streams: Streams, scripted: ScriptedRuntime, service: Service
) -> None:
    _, run_id, run = await begin(call, scripted)
    run.say(*"abc")
    await until(lambda: (c := service.channels.get(run_id)) is not None and c.last_seq == 4)
    live = service._live[run_id]
    live.task.cancel()
    await until(lambda: run_id not in service._live)
    service.channels._channels.clear()
    run.say(*"def")
    async with streams(f"runs/{run_id}/stream") as stream:
        run.end()
        await stream.end()
        assert text_of(run_id, stream) == "abcdef"
        assert [e["seq"] for e in stream.events][:2] == [1, 2]


@pytest.mark.parametrize("wrong", ["-1", "x", "1e3"])
async def test_a_number_that_is_none_is_refused(call: Call, scripted: ScriptedRuntime, wrong: str) -> None:
    _, run_id, _ = await begin(call, scripted)
    status, answer = await call("GET", f"runs/{run_id}/stream", lastEventId=wrong)
    assert (status, answer["error"]["details"]["field"]) == (400, "lastEventId")
    status, answer = await call("GET", "stream", after=f"{run_id}:{wrong}")
    assert (status, answer["error"]["details"]["field"]) == (400, "after")


@pytest.mark.requirement("R18")
async def test_the_page_stream_begins_with_what_runs_and_then_carries_every_run_and_change(
    call: Call, streams: Streams, scripted: ScriptedRuntime
) -> None:
    session_id, run_id, run = await begin(call, scripted)
    run.say("before ")
    async with streams("stream") as stream:
        await stream.until(lambda: bool(stream.frames))
        first = stream.frames[0]
        assert first.event == "sync"
        assert first.id is None
        [active] = first.data["runs"]
        assert (active["runId"], active["sessionId"], active["waiting"]) == (run_id, session_id, False)
        assert first.data["revisions"][session_id] >= 2
        _, other, second = await begin(call, scripted, "other")
        run.say("after")
        second.say("elsewhere")
        second.add(ClarifyRequest(seq=0, run_id="", t=0, clarify_id="c", question="Which?"))
        run.end()
        await stream.until(lambda: any(e["kind"] == "run_complete" for e in stream.events))
        await stream.until(lambda: any(e["kind"] == "clarify_request" for e in stream.events))
        assert {e["runId"] for e in stream.events} == {run_id, other}
        assert all(f.id is None for f in stream.frames)
        changed = stream.named("session_changed")
        assert {c["sessionId"] for c in changed} == {session_id, other.rpartition(".")[0]}
        revisions = [c["revision"] for c in changed if c["sessionId"] == session_id]
        assert revisions == sorted(revisions)


@pytest.mark.requirement("R18")
async def test_the_page_stream_goes_on_behind_what_a_client_has(call: Call, streams: Streams, scripted: ScriptedRuntime) -> None:
    _, run_id, run = await begin(call, scripted)
    run.say(*"abc")
    async with streams("stream", after=f"{run_id}:2") as stream:
        run.say("d")
        await stream.until(lambda: "".join(e["text"] for e in stream.events).endswith("d"))
        assert stream.events[0]["seq"] <= 3
        assert text_of(run_id, await history(call, run_id, stop=2), stream) == "abcd"


async def history(call: Call, run_id: str, stop: int) -> Stream:
    """A client that had read up to *stop*: the first events, cut there."""
    _, page = await call("GET", f"messages/{run_id}/logs")
    known = []
    for event in page["events"]:
        if event["seq"] > stop:
            break
        if event.get("seqEnd", event["seq"]) > stop:
            event["text"] = event["text"][: stop - event["seq"] + 1]
            event["seqEnd"] = stop
        known.append(event)
    stream = Stream()
    stream.raw = b"".join(b"data: " + json.dumps(e).encode() + b"\n\n" for e in known)
    return stream


@pytest.mark.requirement("R24")
async def test_leaving_the_page_ends_its_stream_and_no_run(
    call: Call, streams: Streams, scripted: ScriptedRuntime, service: Service
) -> None:
    _, run_id, run = await begin(call, scripted)
    async with streams("stream"), streams(f"runs/{run_id}/stream"):
        assert service.channels.followers("ann") == 1
        assert (await call("GET", f"runs/{run_id}/state"))[1]["viewers"] == 1
    await until(lambda: service.channels.followers("ann") == 0)
    channel = service.channels.get(run_id)
    assert channel is not None
    await until(lambda: not channel._readers)
    run.say("still here")
    run.end()
    await until(lambda: not service.channels.active())
    assert (await call("GET", f"runs/{run_id}/state"))[1]["text"] == "still here"


async def test_an_idle_stream_breathes_and_is_no_activity(
    call: Call, streams: Streams, scripted: ScriptedRuntime, jp_serverapp: ServerApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_handlers, "HEARTBEAT_SECONDS", 0.02)
    _, run_id, run = await begin(call, scripted)
    before = jp_serverapp.web_app.settings["api_last_activity"]
    async with streams("stream") as page, streams(f"runs/{run_id}/stream") as stream:
        await stream.until(lambda: stream.raw.count(HEARTBEAT) >= 2)
        await page.until(lambda: page.raw.count(HEARTBEAT) >= 2)
        run.end()
        await stream.end()
    assert jp_serverapp.web_app.settings["api_last_activity"] == before


@pytest.mark.requirement("R32")
async def test_a_long_replay_comes_whole_and_in_pieces(
    call: Call, streams: Streams, scripted: ScriptedRuntime, service: Service
) -> None:
    _, run_id, run = await begin(call, scripted)
    for n in range(3000):
        run.events.append(Notice(seq=len(run.events) + 1, run_id=run_id, t=n, text=f"notice {n}"))
    run.wake()
    run.end()
    await until(lambda: not service.channels.active(), seconds=20)
    for _ in range(2):
        async with streams(f"runs/{run_id}/stream") as stream:
            await stream.end()
            assert [e["seq"] for e in stream.events] == list(range(1, 3003))
        service.channels._channels.clear()


@pytest.mark.requirement("R22")
async def test_state_tells_what_a_page_needs_without_its_stream(call: Call, scripted: ScriptedRuntime) -> None:
    session_id, run_id, run = await begin(call, scripted)
    run.say("so far")
    run.add(ClarifyRequest(seq=0, run_id="", t=0, clarify_id="c", question="Which?", choices=["a"]))

    async def waits() -> bool:
        return bool((await call("GET", f"runs/{run_id}/state"))[1]["pending"])

    await until(waits)
    _, state = await call("GET", f"runs/{run_id}/state")
    assert (state["status"], state["lastSeq"], state["text"], state["sessionId"]) == ("RUNNING", 3, "so far", session_id)
    [pause] = state["pending"]
    payload: dict[str, Any] = pause["payload"]
    assert payload == {"clarifyId": "c", "question": "Which?", "choices": ["a"], "allowOther": True, "expiresAt": None}
    _, listed = await call("GET", "sessions")
    assert listed["items"][0]["waitingForInput"] is True
    status, state = await call("POST", f"runs/{run_id}/resume", {"clarifyId": "c", "answer": "a"})
    assert (status, state["pending"]) == (200, [])
    status, answer = await call("POST", f"runs/{run_id}/resume", {"clarifyId": "c", "answer": "b"})
    assert (status, answer["error"]["code"]) == (409, "already_answered")
    status, answer = await call("POST", f"runs/{run_id}/resume", {"clarifyId": "other", "answer": "b"})
    assert (status, answer["error"]["code"]) == (404, "pause_not_found")
    status, answer = await call("POST", f"runs/{run_id}/stop", {})
    assert (status, answer) == (200, {"success": True, "cleaned": True})
