"""The Bridge as a runtime: found or started, streams and answers as types, lost and found again; with a scripted worker."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from jupyter_hermes_chat._version import __version__
from jupyter_hermes_chat.protocol.bridge import BRIDGE_FILE, BRIDGE_LOCK, PROTOCOL, BridgeFile, RunRequest
from jupyter_hermes_chat.protocol.errors import (
    AlreadyAnswered,
    BridgeLost,
    BridgeUnavailable,
    PauseNotFound,
    RunNotFound,
    SessionBusy,
)
from jupyter_hermes_chat.protocol.events import ClarifyRequest, RunComplete, is_terminal, kind_of
from jupyter_hermes_chat.runtimes.base import EventFrame, Frame, GapFrame, TurnFrame
from jupyter_hermes_chat.runtimes.bridge import BridgeRuntime
from jupyter_hermes_chat.runtimes.launch import is_locked, read_place, runtime_folder
from tests.bridge.running import faulty_interpreter, session_id, wait_for
from tests.conftest import private_environment


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A data folder in an environment of its own; every Bridge that serves it is killed at the end."""
    (tmp_path / "tmp").mkdir()
    environment = private_environment(tmp_path, TMPDIR=str(tmp_path / "tmp"), HERMES_PYTHON=str(faulty_interpreter(tmp_path)))
    for name in set(os.environ) - set(environment):
        monkeypatch.delenv(name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    yield tmp_path / "data"
    for process in psutil.process_iter(["cmdline"]):
        if any(word.startswith(str(tmp_path)) for word in process.info["cmdline"] or []):
            process.kill()


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), 60))  # type: ignore[arg-type]


@asynccontextmanager
async def runtime_on(data: Path, **options: Any) -> AsyncGenerator[BridgeRuntime, None]:
    runtime = BridgeRuntime(data, **options)
    try:
        yield runtime
    finally:
        await runtime.close()


def request(message: str, session: str | None = None) -> RunRequest:
    session = session or session_id()
    return RunRequest(run_id=f"{session}.2", session_id=session, hermes_session=f"chat-{session}", user_message=message)


async def collect(frames: AsyncGenerator[Frame, None]) -> list[Frame]:
    return [frame async for frame in frames]


async def first(kind: str, frames: AsyncGenerator[Frame, None]) -> Any:
    async for frame in frames:
        if isinstance(frame, EventFrame) and kind_of(frame.event) == kind:
            return frame.event
    raise AssertionError(f"no {kind}")


async def ends(runtime: BridgeRuntime) -> None:
    async with asyncio.timeout(15):
        while await runtime.alive():  # noqa: ASYNC110 - another process does not tell
            await asyncio.sleep(0.02)


# ---- found or started -------------------------------------------------------------------------------------------------


def test_the_first_need_starts_a_bridge_and_everybody_finds_the_same(data: Path) -> None:
    async def test() -> None:
        async with runtime_on(data) as one, runtime_on(data) as other:
            assert not await one.alive()
            with pytest.raises(BridgeUnavailable):
                await one.health()
            found = await asyncio.gather(one.bridges.ensure(), other.bridges.ensure(), one.bridges.ensure())
            assert len({f.pid for f in found}) == 1
            assert await other.alive()
            assert (await other.health())["pid"] == found[0].pid
            os.kill(found[0].pid, signal.SIGTERM)
            await ends(one)

    run(test)


@pytest.mark.requirement("R23")
def test_a_bridge_outlives_whoever_started_it(data: Path) -> None:
    code = (
        "import asyncio, sys, time; from pathlib import Path; from jupyter_hermes_chat.runtimes.launch import LocalBridges\n"
        "asyncio.run(LocalBridges(Path(sys.argv[1])).ensure()); print('up', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(data)], stdout=subprocess.PIPE, start_new_session=True) as starter:
        assert starter.stdout is not None
        assert starter.stdout.readline() == b"up\n"
        os.killpg(starter.pid, signal.SIGKILL)

    async def test() -> None:
        async with runtime_on(data) as runtime:
            assert await runtime.alive()
            assert isinstance((await collect(runtime.generate(request("count 1"))))[-1], EventFrame)

    run(test)


def test_a_bridge_that_cannot_start_is_told_with_its_log(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_CHAT_TOUR", "perhaps")

    async def test() -> None:
        async with runtime_on(data) as runtime:
            with pytest.raises(BridgeUnavailable, match=r"bridge\.log"):
                await runtime.inventory()

    run(test)


def test_proxy_settings_are_ignored_on_loopback(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    async def test() -> None:
        async with runtime_on(data) as runtime:
            assert (await runtime.inventory()).default.model == "m"

    run(test)


def test_hosts_boots_and_data_folders_have_places_of_their_own(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = runtime_folder(data)
    assert runtime_folder(data.parent / "." / "data") == here != runtime_folder(tmp_path / "other")
    monkeypatch.setattr(socket, "gethostname", lambda: "elsewhere/../x")
    assert runtime_folder(data) != here
    assert runtime_folder(data).parent == here.parent


# ---- streams ----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("R18", "R23")
def test_frames_come_in_order_and_resume_goes_on_behind_a_number(data: Path) -> None:
    async def test() -> None:
        async with runtime_on(data) as runtime:
            asked = request("count 30")
            async with aclosing(runtime.generate(asked)) as frames:
                head = [await anext(frames) for _ in range(5)]
            rest = await collect(runtime.resume(asked.run_id, 5))
            events = [f.event for f in [*head, *rest] if isinstance(f, EventFrame)]
            assert [e.seq for e in events] == list(range(1, 34))
            assert isinstance(events[-1], RunComplete)
            assert isinstance(rest[-2], TurnFrame)
            await runtime.confirm(asked.run_id, 32)
            gap = (await collect(runtime.resume(asked.run_id, 5)))[0]
            assert gap == GapFrame(first=33)
            await runtime.confirm(asked.run_id, 33)
            with pytest.raises(RunNotFound):
                await collect(runtime.resume(asked.run_id, 0))

    run(test)


@pytest.mark.requirement("R16", "R25", "R37")
def test_refusals_arrive_as_the_types_that_were_meant(data: Path) -> None:
    async def test() -> None:
        async with runtime_on(data) as runtime:
            asked = request("ask")
            async with aclosing(runtime.generate(asked)) as frames:
                question: ClarifyRequest = await first("clarify_request", frames)
                with pytest.raises(SessionBusy):
                    await collect(runtime.generate(msgspec.structs.replace(asked, run_id="x.4")))
                with pytest.raises(PauseNotFound):
                    await runtime.answer(asked.run_id, "other", "a", "me")
                with pytest.raises(RunNotFound):
                    await runtime.stop("x.9")
                await runtime.answer(asked.run_id, question.clarify_id, "b", "me")
                with pytest.raises(AlreadyAnswered):
                    await runtime.answer(asked.run_id, question.clarify_id, "a", "you")
                assert is_terminal([f.event async for f in frames if isinstance(f, EventFrame)][-1])
            assert await runtime.stop(asked.run_id)

    run(test)


@pytest.mark.requirement("R23")
def test_a_killed_bridge_is_lost_then_gone_and_the_next_run_starts_another(data: Path) -> None:
    async def test() -> None:
        async with runtime_on(data) as runtime:
            asked = request("ask")
            async with aclosing(runtime.generate(asked)) as frames:
                await first("clarify_request", frames)
                psutil.Process((await runtime.bridges.ensure()).pid).kill()
                with pytest.raises(BridgeLost):
                    await anext(frames)
            await ends(runtime)
            with pytest.raises(BridgeLost):
                await collect(runtime.resume(asked.run_id, 2))
            with pytest.raises(BridgeLost):
                await runtime.stop(asked.run_id)
            assert isinstance((await collect(runtime.generate(request("count 1"))))[-1], EventFrame)
            with pytest.raises(RunNotFound):
                await collect(runtime.resume(asked.run_id, 2))

    run(test)


# ---- other versions ---------------------------------------------------------------------------------------------------


def test_an_older_bridge_drains_and_its_run_is_still_answered(data: Path) -> None:
    """``pip install -U`` with a Bridge running, then a turn."""
    old_code = (
        "import sys, jupyter_hermes_chat._version as v; v.__version__ = '0.0.9'\n"
        "from jupyter_hermes_chat.bridge.__main__ import main; sys.exit(main())"
    )
    place = runtime_folder(data)
    with subprocess.Popen([sys.executable, "-c", old_code, "--runtime-dir", str(place), "--data-dir", str(data)]) as old:
        wait_for(lambda: read_place(place))

        async def test() -> None:
            async with runtime_on(data) as runtime:
                asked = request("ask")
                asking = runtime._frames(runtime.bridges.known()[0], "POST", "/hermes/run", msgspec.json.encode(asked))
                async with aclosing(asking) as frames:
                    await first("clarify_request", frames)
                assert isinstance((await collect(runtime.generate(request("count 1"))))[-1], EventFrame)
                assert [f.version for f in runtime.bridges.known()] == [__version__, "0.0.9"]
                await runtime.answer(asked.run_id, "q1", "still here", "me")
                *_, end = await collect(runtime.resume(asked.run_id, 0))
                assert isinstance(end, EventFrame)
                assert isinstance(end.event, RunComplete)
                await runtime.confirm(asked.run_id, end.event.seq)
                assert await asyncio.to_thread(old.wait, 15) == 0
                assert await runtime.alive()

        run(test)


def test_a_newer_bridge_is_not_touched(data: Path) -> None:
    place = runtime_folder(data)
    place.mkdir(parents=True)
    newer = BridgeFile(url="http://127.0.0.1:9", token="t", pid=1, protocol=PROTOCOL + 1, version="9.0")
    (place / BRIDGE_FILE).write_bytes(msgspec.json.encode(newer))
    with (place / BRIDGE_LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        async def test() -> None:
            async with runtime_on(data) as runtime:
                with pytest.raises(BridgeUnavailable, match=r"9\.0"):
                    await runtime.inventory()

        run(test)


def test_a_file_without_a_lock_is_nobody(data: Path) -> None:
    place = runtime_folder(data)
    place.mkdir(parents=True)
    stale = BridgeFile(url="http://127.0.0.1:9", token="t", pid=1, protocol=PROTOCOL, version=__version__)
    (place / BRIDGE_FILE).write_bytes(msgspec.json.encode(stale))
    (place / BRIDGE_LOCK).touch()
    assert not is_locked(place)
    assert read_place(place) is None


def test_a_file_that_a_killed_bridge_left_is_not_taken_for_the_next_ones(data: Path) -> None:
    place = runtime_folder(data)
    place.mkdir(parents=True)
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    stale = BridgeFile(url="http://127.0.0.1:9", token="t", pid=ended.pid, protocol=PROTOCOL, version=__version__)
    (place / BRIDGE_FILE).write_bytes(msgspec.json.encode(stale))
    with (place / BRIDGE_LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the next one has the place, and has not announced itself
        assert read_place(place) is None


# ---- one that somebody else runs --------------------------------------------------------------------------------------


def test_a_bridge_of_somebody_elses_is_used_as_it_is(data: Path) -> None:
    async def test() -> None:
        async with runtime_on(data) as owner:
            file = await owner.bridges.ensure()
            async with runtime_on(data.parent / "mine", bridge_url=file.url + "/", bridge_token=file.token) as guest:
                assert (await guest.health())["pid"] == file.pid
                assert await guest.alive()
            for token in ("wrong", None):
                async with runtime_on(data.parent / "mine", bridge_url=file.url, bridge_token=token) as stranger:
                    with pytest.raises(BridgeUnavailable, match="bridge_token"):
                        await collect(stranger.generate(request("count 1")))
            assert not runtime_folder(data.parent / "mine").exists()

    run(test)


def test_nobody_at_a_given_address_is_told_and_not_replaced(data: Path) -> None:
    async def test() -> None:
        async with runtime_on(data, bridge_url="http://127.0.0.1:9", bridge_token="t") as runtime:
            assert not await runtime.alive()
            with pytest.raises(BridgeUnavailable):
                await runtime.inventory()
            with pytest.raises(BridgeUnavailable):
                await collect(runtime.generate(request("count 1")))
        assert not runtime_folder(data).exists()

    run(test)
