"""The client against a real Jupyter server, the real Bridge and the real Hermes Agent with the tour model."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import httpx
import msgspec
import pytest

from jupyter_hermes_chat.client import AsyncHermesClient, HermesClient
from jupyter_hermes_chat.client.calls import check
from jupyter_hermes_chat.client.client import _options
from jupyter_hermes_chat.protocol import events as e
from jupyter_hermes_chat.protocol.errors import (
    AlreadyAnswered,
    BadRequest,
    HermesChatError,
    RunNotFound,
    ServerUnreachable,
    SessionBusy,
    SessionNotFound,
    UnexpectedAnswer,
)
from jupyter_hermes_chat.protocol.records import StartRun
from jupyter_hermes_chat.protocol.server_file import ServerFile
from jupyter_hermes_chat.reduce import ClarifyPart, initial, reduce
from tests.servers import Running, running_server

NOBODY = "00000000-0000-4000-8000-000000000000"


def file_of(url: str) -> ServerFile:
    return ServerFile(url=url, token="secret", data_folder="", pid=0, version="", root="")


@contextmanager
def breaking_wire(to: str, after: int, times: int) -> Iterator[tuple[str, list[int]]]:
    """A relay in front of the server at *to*: of its first *times* answers only *after* bytes come through. Its address, and
    a list that holds how many breaks are left."""
    target = httpx.URL(to)
    listener = socket.create_server(("127.0.0.1", 0))
    left = [times]

    def relay(near: socket.socket) -> None:
        with near, socket.create_connection((target.host, target.port or 80)) as far:
            up = threading.Thread(target=pump, args=(near, far, None), daemon=True)
            up.start()
            limit = after if left[0] > 0 else None
            left[0] = max(0, left[0] - 1)
            pump(far, near, limit)

    def pump(source: socket.socket, sink: socket.socket, limit: int | None) -> None:
        try:
            while (data := source.recv(4096)) and (limit is None or limit > 0):
                sink.sendall(data if limit is None else data[:limit])
                limit = None if limit is None else limit - len(data)
            sink.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

    def accept() -> None:
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=relay, args=(near,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    with listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/", left


@pytest.mark.agent
@pytest.mark.requirement("R1", "R18")
def test_a_turn_from_message_to_log(client: HermesClient) -> None:
    session_id = client.create_session(title="First").session_id
    run_id = client.start(session_id, StartRun(message="hello")).run_id
    events = list(client.stream(run_id))
    assert e.is_terminal(events[-1])
    assert events[0].seq == 1
    states = list(client.follow(run_id))
    assert states[-1].phase == "complete"
    assert states[-1].text
    assert states[-1] == reduce(run_id, events)
    stored = [e.decode(json.dumps(row)) for row in client.logs(run_id).events]
    assert reduce(run_id, stored) == states[-1]
    assert client.state(run_id).status == "SUCCESS"
    view = client.session(session_id)
    assert [m.message.role for m in view.messages] == ["USER", "ASSISTANT"]
    assert view.session.title == "First"
    assert session_id in [item.session.id for item in client.sessions().items]
    client.delete_session(session_id)
    with pytest.raises(SessionNotFound):
        client.session(session_id)


@pytest.mark.agent
@pytest.mark.requirement("R18", "R24")
def test_a_stream_goes_on_where_its_connection_broke(client: HermesClient) -> None:
    session_id = client.create_session().session_id
    run_id = client.start(session_id, StartRun(message="todo")).run_id
    whole = reduce(run_id, list(client.stream(run_id)))
    with (
        breaking_wire(client.server.url, after=4000, times=3) as (url, left),
        HermesClient(msgspec.structs.replace(client.server, url=url)) as far,
    ):
        events = list(far.stream(run_id))
    assert left == [0]
    assert reduce(run_id, events) == whole
    assert [b.seq - a.last_seq for a, b in pairwise(events)] == [1] * (len(events) - 1)


@pytest.mark.agent
@pytest.mark.requirement("R18", "R23")
def test_who_was_shown_more_than_was_stored_hears_the_end_and_shows_what_was_stored(client: HermesClient) -> None:
    """What the end of server and Bridge together leaves behind: a log that is shorter than what a client saw."""
    session_id = client.create_session().session_id
    run_id = client.start(session_id, StartRun(message="hello")).run_id
    stored = list(client.follow(run_id))[-1]
    assert [e.kind_of(event) for event in client.stream(run_id, after=10_000)] == ["run_complete"]
    shown = msgspec.structs.replace(initial(run_id), seq=10_000)
    assert list(client.follow(run_id, shown))[-1] == stored


@pytest.mark.agent
def test_half_a_character_does_not_lose_the_message(client: HermesClient) -> None:
    session_id = client.create_session().session_id
    run = client.start(session_id, StartRun(message="hello \ud83d, \ud83d\ude00"))
    list(client.stream(run.run_id))
    assert client.session(session_id).messages[0].message.content == "hello \ufffd, \N{GRINNING FACE}"


@pytest.mark.agent
def test_the_async_client_does_the_same(client: HermesClient, server: Running) -> None:
    async def talk() -> str:
        async with AsyncHermesClient(server.file) as there:
            session_id = (await there.create_session()).session_id
            run_id = (await there.start(session_id, StartRun(message="hello"))).run_id
            texts = [state.text async for state in there.follow(run_id)]
            with pytest.raises(SessionNotFound):
                await there.session(NOBODY)
            return texts[-1] if (await there.state(run_id)).status == "SUCCESS" else ""

    text = asyncio.run(talk())
    assert text.startswith("Hello")


@pytest.mark.agent
@pytest.mark.requirement("R37", "R25")
def test_a_question_is_answered_once_and_a_run_is_stopped(client: HermesClient) -> None:
    session_id = client.create_session().session_id
    run_id = client.start(session_id, StartRun(message="ask me")).run_id
    waiting = next(s for s in client.follow(run_id) if s.pending)
    part = waiting.pending[0]
    assert isinstance(part, ClarifyPart)
    with pytest.raises(SessionBusy):
        client.start(session_id, StartRun(message="hello"))
    client.answer(run_id, part.clarify_id, part.choices[0])
    with pytest.raises(AlreadyAnswered):
        client.answer(run_id, part.clarify_id, part.choices[1])
    *_, last = client.follow(run_id, waiting)
    assert part.choices[0] in last.text
    slow = client.start(session_id, StartRun(message="slow 30")).run_id
    next(s for s in client.follow(slow) if s.text)
    assert client.stop(slow).cleaned
    *_, stopped = client.follow(slow)
    assert stopped.phase == "stopped"
    assert stopped.text


def test_errors_are_the_types_that_the_server_meant(client: HermesClient) -> None:
    with pytest.raises(SessionNotFound):
        client.session(NOBODY)
    with pytest.raises(RunNotFound):
        client.state(f"{NOBODY}.2")
    with pytest.raises(RunNotFound):
        next(client.stream(f"{NOBODY}.2"))
    session_id = client.create_session().session_id
    with pytest.raises(BadRequest, match="message"):
        client.start(session_id, StartRun(message=" "))


def test_a_code_of_a_newer_server_is_still_an_error_with_its_sentence() -> None:
    body = {"error": {"code": "from_tomorrow", "message": "Do this.", "details": {"message": "m"}}}
    with pytest.raises(HermesChatError, match="Do this") as caught:
        check(httpx.Response(418, json=body))
    assert caught.value.details == {"message": "m"}


def test_something_else_at_the_address_is_named(server: Running) -> None:
    with HermesClient(file_of(server.file.url + "not-here/")) as client, pytest.raises(UnexpectedAnswer, match="extension"):
        client.health()


def test_nobody_at_the_address_is_a_sentence_without_the_token() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with HermesClient(file_of(f"http://127.0.0.1:{port}/")) as client, pytest.raises(ServerUnreachable) as caught:
        client.health()
    assert "secret" not in str(caught.value)


def test_proxies_and_certificates_count_for_remote_servers_only() -> None:
    for url, remote in {
        "http://127.0.0.1:1/": False, "https://localhost:1/": False, "http://[::1]:1/": False, "https://hub.example/": True,
    }.items():  # fmt: skip
        options = _options(file_of(url))
        assert (options["trust_env"], options["verify"]) == (remote, remote)


def test_a_unix_socket_under_a_prefix_with_escaped_characters(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> None:
    folder = tmp_path_factory.getbasetemp().parent  # a socket's path is short
    path = folder / "hermes.sock"
    with (
        running_server(tmp_path, None, f"--ServerApp.sock={path}", "--ServerApp.base_url=/user/m%40e%20x/") as running,
        HermesClient(running.file) as client,
    ):
        assert running.file.socket == str(path)
        assert client.sessions().total == 0
