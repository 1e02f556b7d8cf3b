"""Which worker serves which session; with real processes, the faulty worker in place of Hermes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from jupyter_hermes_chat.bridge import pool as pool_module
from jupyter_hermes_chat.bridge.environment import worker_command
from jupyter_hermes_chat.bridge.pool import Pool, Setting
from jupyter_hermes_chat.bridge.process import WorkerLog, WorkerProcess
from tests.bridge.running import faulty_interpreter

A = Setting(interpreter=Path("/a"), hermes_home=None, tour_url=None)
B = Setting(interpreter=Path("/a"), hermes_home="/elsewhere", tour_url=None)


async def until(what: Callable[[], bool]) -> None:
    async with asyncio.timeout(15):
        while not what():  # noqa: ASYNC110 - other processes do not tell
            await asyncio.sleep(0.01)


@asynccontextmanager
async def pool_in(folder: Path, max_idle: int = 8) -> AsyncIterator[tuple[Pool, list[tuple[Setting, bool]]]]:
    """A pool, and what it has started: (setting, warm)."""
    command = worker_command(faulty_interpreter(folder))
    output = WorkerLog(folder / "worker.log")
    started: list[tuple[Setting, bool]] = []

    async def start(setting: Setting, warm: bool) -> WorkerProcess:
        started.append((setting, warm))
        return await WorkerProcess.start(command, os.environ, folder, output)

    pool = Pool(start, max_idle)
    try:
        yield pool, started
    finally:
        await pool.close()
        output.close()


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), 60))  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def refill_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "REFILL_SECONDS", 0.0)


@pytest.mark.requirement("R3")
def test_a_session_keeps_its_worker_and_another_gets_its_own(tmp_path: Path) -> None:
    async def test() -> None:
        async with pool_in(tmp_path) as (pool, _):
            first = await pool.take("s", A)
            pool.give_back("s")
            assert await pool.take("s", A) is first
            assert await pool.take("t", A) is not first

    run(test)


def test_a_spare_is_made_warm_taken_and_made_again(tmp_path: Path) -> None:
    async def test() -> None:
        async with pool_in(tmp_path) as (pool, started):
            pool.want_spare(A)
            await until(lambda: pool.spares == 1)
            assert started == [(A, True)]
            worker = await pool.take("s", A)
            assert started == [(A, True)]
            await until(lambda: pool.spares == 1)
            assert started == [(A, True)] * 2
            assert worker.pid not in {w.pid for w in [await pool.take("t", A)]}

    run(test)


def test_a_spare_of_another_setting_is_not_taken_and_makes_room(tmp_path: Path) -> None:
    async def test() -> None:
        async with pool_in(tmp_path) as (pool, started):
            pool.want_spare(A)
            await until(lambda: pool.spares == 1)
            await pool.take("s", B)
            assert started[:2] == [(A, True), (B, False)]
            await until(lambda: started[2:] == [(B, True)] and pool.spares == 1)

    run(test)


@pytest.mark.requirement("R47")
def test_the_least_recently_used_idle_worker_goes_first_and_a_running_one_never(tmp_path: Path) -> None:
    async def test() -> None:
        async with pool_in(tmp_path, max_idle=2) as (pool, _):
            workers = {name: await pool.take(name, A) for name in ("running", "old", "middle", "new")}
            for name in ("middle", "old", "new"):
                pool.give_back(name)
            await until(lambda: workers["middle"].ended.is_set())
            assert [name for name, w in workers.items() if not w.ended.is_set()] == ["running", "old", "new"]

    run(test)


def test_another_setting_replaces_the_sessions_worker(tmp_path: Path) -> None:
    async def test() -> None:
        async with pool_in(tmp_path) as (pool, _):
            first = await pool.take("s", A)
            pool.give_back("s")
            assert await pool.take("s", B) is not first
            await until(first.ended.is_set)

    run(test)


@pytest.mark.requirement("R47")
def test_a_worker_that_died_is_not_given_out_again(tmp_path: Path) -> None:
    async def test() -> None:
        async with pool_in(tmp_path) as (pool, _):
            first = await pool.take("s", A)
            psutil.Process(first.pid).kill()
            await first.ended.wait()
            pool.give_back("s")
            assert await pool.take("s", A) is not first

    run(test)


def test_close_ends_every_worker(tmp_path: Path) -> None:
    async def test() -> None:
        async with pool_in(tmp_path) as (pool, _):
            workers = [await pool.take(name, A) for name in "abc"]
            pool.give_back("b")
            await pool.close()
            assert all(w.ended.is_set() for w in workers)

    run(test)
