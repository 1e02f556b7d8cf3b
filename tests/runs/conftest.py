"""Asynchronous tests run to their end in a loop of their own."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from jupyter_hermes_chat.runs.service import Service
from tests.runs.scripted import ScriptedRuntime, make_service


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


Serving = Callable[..., AbstractAsyncContextManager[Service]]


@pytest.fixture
def serving(tmp_path: Path) -> Serving:
    """``async with serving(runtime) as service``: a service over the same data folder each time, closed at the end."""

    @asynccontextmanager
    async def serve(runtime: ScriptedRuntime, **limits: int) -> AsyncIterator[Service]:
        service = make_service(tmp_path / "data", runtime, **limits)
        try:
            yield service
        finally:
            await service.close()

    return serve
