"""The extension inside real Jupyter servers: who may enter, what is left behind, and that Jupyter always starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from jupyter_server.auth import passwd

from tests.conftest import private_environment
from tests.server_process import REPOSITORY, Server, running_server

CHECK_AUTH = """
import warnings
from jupyter_server.serverapp import JupyterServerAuthWarning, ServerApp
warnings.simplefilter("error", JupyterServerAuthWarning)
app = ServerApp(
    allow_unauthenticated_access=False, allow_root=True, port=0, open_browser=False,
    jpserver_extensions={"jupyter_hermes_chat": True}, reraise_server_extension_failures=True,
)
app.initialize(argv=[], find_extensions=False)
from jupyter_hermes_chat.handlers import handlers
print(len(handlers("/")), "routes")
"""


@pytest.mark.requirement("R64")
def test_every_route_asks_who_is_there(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHECK_AUTH],
        env=private_environment(tmp_path, PYTHONPATH=str(REPOSITORY)),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout.split()[0]) >= 15


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Server:
    with running_server(
        tmp_path_factory.mktemp("server"), "--ServerApp.base_url=/user/ann%20b/", "--IdentityProvider.token=jupyter-token"
    ) as server:
        yield server


def test_the_server_file_is_private_and_says_how_a_kernel_enters(server: Server) -> None:
    assert server.file_path.stat().st_mode & 0o777 == 0o600
    assert server.file.pid == server.process.pid
    assert server.file.url.endswith("/user/ann%20b/")
    assert server.file.root == str(server.file_path.parent.parent / "root")
    assert Path(server.file.data_folder).is_dir()
    assert server.call("GET", "health")["dataFolder"] == server.file.data_folder


@pytest.mark.requirement("R64")
def test_the_server_files_token_opens_our_routes_and_no_others(server: Server) -> None:
    bearer = {"Authorization": f"Bearer {server.file.token}"}
    with httpx.Client(base_url=server.file.url, trust_env=False, timeout=20) as client:
        assert client.get("hermes/api/chat/sessions", headers=bearer).status_code == 200
        assert client.get("api/contents", headers=bearer).status_code == 403
        assert client.get("hermes/api/chat/sessions", headers={"Authorization": "Bearer wrong"}).status_code == 403
        assert client.get("hermes/api/chat/sessions", headers={"Authorization": f"token {server.file.token}"}).status_code == 403
        nobody = client.get("hermes/api/chat/sessions")
        assert (nobody.status_code, nobody.json()["error"]["code"]) == (403, "forbidden")
        assert client.post("hermes/api/chat/sessions", json={}).status_code == 403


def test_jupyters_own_token_opens_our_routes_too_and_a_cookie_needs_the_xsrf_header(server: Server) -> None:
    with httpx.Client(base_url=server.file.url, trust_env=False, timeout=20) as browser:
        assert browser.get("hermes/api/chat/sessions?token=jupyter-token").status_code == 200
        assert browser.post("hermes/api/chat/sessions", json={}).status_code == 403
        browser.get("nothing-here")  # Jupyter's own pages set the cookie
        xsrf = {"X-XSRFToken": browser.cookies["_xsrf"]}
        assert browser.post("hermes/api/chat/sessions", json={}, headers=xsrf).status_code == 201


@pytest.mark.requirement("R64", "R18")
def test_two_browsers_and_a_kernel_see_the_same_sessions(server: Server) -> None:
    """Jupyter's own identity provider invents a user per browser; what was written must not disappear with a cookie."""
    made = server.call("POST", "sessions", {"title": "from a kernel"})["sessionId"]
    for _ in range(2):
        with httpx.Client(base_url=server.file.url, trust_env=False, timeout=20) as browser:
            listed = browser.get("hermes/api/chat/sessions?token=jupyter-token").json()
            assert made in [item["session"]["id"] for item in listed["items"]]


def test_a_server_on_a_unix_socket_with_a_password_is_reached_by_its_file_which_goes_with_it(tmp_path: Path) -> None:
    socket, password = tmp_path / "s", passwd("secret", algorithm="sha1")
    with running_server(tmp_path, f"--ServerApp.sock={socket}", f"--PasswordIdentityProvider.hashed_password={password}") as server:
        assert server.file.socket == str(socket)
        assert server.call("GET", "sessions")["total"] == 0
        assert server.file_path.exists()
    assert server.process.returncode == 0
    assert not server.file_path.exists()


def test_the_owner_is_the_systems_user_unless_a_hub_names_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from jupyter_hermes_chat.extension import HermesChatApp

    monkeypatch.delenv("JUPYTERHUB_USER", raising=False)
    monkeypatch.setenv("LOGNAME", "ann")
    assert HermesChatApp().owner == "ann"
    monkeypatch.setenv("JUPYTERHUB_USER", "bob")
    assert HermesChatApp().owner == "bob"
    assert os.environ["LOGNAME"] == "ann"
