"""Who a request is, what the server's own user owns, and what counts as activity (R64, design §9)."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from jupyter_server.auth import Authorizer, IdentityProvider, User
from jupyter_server.serverapp import ServerApp

from jupyter_hermes_chat.extension import HermesChatApp
from jupyter_hermes_chat.handlers.access import Access
from jupyter_hermes_chat.handlers.base import Hermes
from jupyter_hermes_chat.runs.service import Service
from tests.handlers.conftest import Call
from tests.runs.scripted import ScriptedRuntime, until


class NamedUsers(IdentityProvider):
    """Tells users apart by a header, as a Hub does by its own means."""

    async def get_user(self, handler: Any) -> User | None:
        name = handler.request.headers.get("X-User")
        handler._token_authenticated = True
        return User(username=name) if name else None


class ReadOnly(Authorizer):
    def is_authorized(self, handler: Any, user: User, action: str, resource: str) -> bool:
        return resource != "hermes" or action == "read"


class NoAgents(Authorizer):
    def is_authorized(self, handler: Any, user: User, action: str, resource: str) -> bool:
        return action != "execute"


def extension(app: ServerApp) -> HermesChatApp:
    [found] = app.extension_manager.extension_apps["jupyter_hermes_chat"]
    assert isinstance(found, HermesChatApp)
    return found


class TestNamedUsers:
    @pytest.fixture
    def jp_server_config(self, jp_server_config: dict[str, Any]) -> dict[str, Any]:
        jp_server_config["ServerApp"]["identity_provider_class"] = NamedUsers
        return jp_server_config

    @pytest.mark.requirement("R64")
    async def test_rows_belong_to_names_and_kernels_to_the_servers_own_user(self, call: Call, jp_serverapp: ServerApp) -> None:
        hermes: Hermes = jp_serverapp.web_app.settings["hermes_chat"]
        users = {name: {"X-User": name} for name in ("bob", "eve")}
        kernel = {"Authorization": f"Bearer {hermes.access.token}"}
        assert (await call("GET", "sessions", headers={"Authorization": "none"}))[0] == 403
        _, made = await call("POST", "sessions", {}, headers=users["bob"])
        for headers, status in ((users["bob"], 200), (users["eve"], 404), (kernel, 404)):
            assert (await call("GET", f"sessions/{made['sessionId']}", headers=headers))[0] == status
        _, own = await call("POST", "sessions", {}, headers=kernel)
        assert hermes.service.store.open_session(own["sessionId"], "ann")


class TestReadOnly:
    @pytest.fixture
    def jp_server_config(self, jp_server_config: dict[str, Any]) -> dict[str, Any]:
        jp_server_config["ServerApp"]["authorizer_class"] = ReadOnly
        return jp_server_config

    async def test_who_may_only_read_changes_nothing_whatever_the_token(self, call: Call, jp_serverapp: ServerApp) -> None:
        hermes: Hermes = jp_serverapp.web_app.settings["hermes_chat"]
        kernel = {"Authorization": f"Bearer {hermes.access.token}"}
        assert (await call("GET", "sessions"))[0] == 200
        assert (await call("POST", "sessions", {}))[1]["error"]["code"] == "forbidden"
        assert (await call("POST", "sessions", {}, headers=kernel))[0] == 403


class TestNoAgents:
    @pytest.fixture
    def jp_server_config(self, jp_server_config: dict[str, Any]) -> dict[str, Any]:
        jp_server_config["ServerApp"]["authorizer_class"] = NoAgents
        return jp_server_config

    async def test_making_an_agent_act_needs_the_right_to_execute(self, call: Call) -> None:
        status, made = await call("POST", "sessions", {})
        assert status == 201
        assert (await call("POST", f"sessions/{made['sessionId']}/runs", {"message": "x"}))[0] == 403
        for path in ("resume", "approve", "stop"):
            assert (await call("POST", f"runs/{made['sessionId']}.2/{path}", {}))[0] == 403


async def test_an_agent_at_work_is_activity_and_polling_is_not(
    call: Call, jp_serverapp: ServerApp, scripted: ScriptedRuntime, service: Service
) -> None:
    settings = jp_serverapp.web_app.settings
    app = extension(jp_serverapp)
    assert not app.current_activity()
    _, made = await call("POST", "sessions", {})
    _, run = await call("POST", f"sessions/{made['sessionId']}/runs", {"message": "x"})
    await until(lambda: run["runId"] in scripted.runs)
    assert app.current_activity() == [run["runId"]]
    seen: datetime = settings["api_last_activity"]
    for path in (f"runs/{run['runId']}/state", "health", "models", "skills"):
        assert (await call("GET", path))[0] == 200
    assert settings["api_last_activity"] == seen
    before: datetime = settings["last_activity_times"]["hermes_chat"]
    scripted.runs[run["runId"]].say("word")
    await until(lambda: settings["last_activity_times"]["hermes_chat"] > before)
    assert jp_serverapp.web_app.last_activity() >= settings["last_activity_times"]["hermes_chat"]
    scripted.runs[run["runId"]].end()
    await until(lambda: not app.current_activity())


async def test_the_server_file_appears_when_the_server_starts_and_goes_with_it(jp_serverapp: ServerApp) -> None:
    await jp_serverapp._post_start()
    app = extension(jp_serverapp)
    path = app._server_file
    assert path is not None
    assert path.parent == Path(jp_serverapp.runtime_dir)
    assert path.exists()
    await app.stop_extension()
    assert not path.exists()


def test_tokens_are_long_and_never_the_same() -> None:
    one, two = Access("ann"), Access("ann")
    assert one.token != two.token
    assert len(one.token) >= 40
