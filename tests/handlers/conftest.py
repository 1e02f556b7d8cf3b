"""A Jupyter server with the extension in the test's own loop, and short words for asking it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_server.serverapp import ServerApp
from pytest_jupyter.jupyter_server import *  # noqa: F403
from pytest_jupyter.jupyter_server import pytest_pycollect_makeitem, pytest_pyfunc_call  # noqa: F401
from tornado.httpclient import HTTPResponse

from jupyter_hermes_chat.handlers.base import Hermes
from jupyter_hermes_chat.runs.service import Service
from jupyter_hermes_chat.runtimes.bridge import BridgeRuntime
from tests.handlers.sse import Streams
from tests.runs.scripted import ScriptedRuntime

API = ("hermes", "api", "chat")


@pytest.fixture
def jp_server_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "hermes-home"))
    monkeypatch.setenv("HERMES_CHAT_TOUR_PACE", "0.1")
    return {
        "ServerApp": {"jpserver_extensions": {"jupyter_hermes_chat": True}, "reraise_server_extension_failures": True},
        "HermesChatApp": {"data_dir": str(tmp_path / "hermes-data"), "owner": "ann"},
    }


Call = Callable[..., Awaitable[tuple[int, Any]]]


@pytest.fixture
def call(jp_fetch: Callable[..., Awaitable[HTTPResponse]]) -> Call:
    """``await call("POST", "sessions", {…})`` → status and JSON. Keyword arguments are query arguments."""

    async def ask(
        method: str, path: str, body: Any = None, *, headers: dict[str, str] | None = None, **query: Any
    ) -> tuple[int, Any]:
        raw = body if isinstance(body, bytes) else None if body is None and method in ("GET", "DELETE") else json.dumps(body or {})
        response = await jp_fetch(
            *API, *path.split("/"), method=method, body=raw, params=query, headers=headers, raise_error=False, request_timeout=60
        )
        return response.code, json.loads(response.body) if response.body else None

    return ask


@pytest.fixture
def service(jp_serverapp: ServerApp) -> Service:
    hermes: Hermes = jp_serverapp.web_app.settings["hermes_chat"]
    return hermes.service


@pytest.fixture
def scripted(service: Service) -> ScriptedRuntime:
    """Takes the Bridge's place: for streams and races that no agent makes on demand."""
    service.runtime = ScriptedRuntime()
    return service.runtime


@pytest.fixture
def real_bridge(
    service: Service, hermes_python: Path, jp_asyncio_loop: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[BridgeRuntime]:
    """The real Bridge and the real agent with the tour model, ended with the test."""
    monkeypatch.setenv("HERMES_PYTHON", str(hermes_python))
    assert isinstance(service.runtime, BridgeRuntime)
    yield service.runtime
    jp_asyncio_loop.run_until_complete(service.runtime.shutdown())


@pytest.fixture
def streams(jp_serverapp: ServerApp, http_server_client: Any, jp_auth_header: dict[str, str]) -> Streams:
    return Streams("127.0.0.1", http_server_client.get_http_port(), jp_serverapp.base_url, jp_auth_header)
