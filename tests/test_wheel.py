"""The wheel as people get it: installed without Node, upgraded under a running Bridge, uninstalled.

A fresh environment borrows the packages of the environment that runs the tests through a ``.pth`` file, so that only our
own wheel is installed; data files such as extensions and their configuration are not borrowed.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import httpx
import pytest

from tests.conftest import private_environment

REPOSITORY = Path(__file__).parent.parent
T = TypeVar("T")
LABEXTENSION = "share/jupyter/labextensions/jupyter-hermes-chat"


def build(folder: Path, version: str | None = None) -> Path:
    """The wheel of this working tree (with another *version*, of a copy of it)."""
    source = REPOSITORY
    if version is not None:
        source = folder / "source"
        kept = [line.split("/")[0] for line in subprocess.check_output(["git", "ls-files"], cwd=REPOSITORY, text=True).split()]
        source.mkdir()
        for name in sorted(set(kept) - {"js", "tests", ".ci"}):
            here = REPOSITORY / name
            if here.is_dir():
                shutil.copytree(here, source / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(here, source / name)
        (source / "jupyter_hermes_chat" / "_version.py").write_text(f'__version__ = "{version}"\n')
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder / "dist", source]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PATH": "/nowhere"}, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next((folder / "dist").glob("*.whl"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (REPOSITORY / "jupyter_hermes_chat" / "static" / "manifest.json").exists():
        pytest.fail("the front end was not built: run `npm ci && npm run build` in js/")
    return build(tmp_path_factory.mktemp("wheel"))


class Environment:
    """A virtual environment with our wheel alone, and homes of its own; no Node on its PATH."""

    def __init__(self, folder: Path) -> None:
        self.prefix = folder / "venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.prefix], check=True)
        self.python = self.prefix / "bin" / "python"
        self.site = next(self.prefix.glob("lib/python*/site-packages"))
        (self.site / "borrowed.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
        lab = Path(sys.prefix) / "share" / "jupyter" / "lab"
        self.variables = private_environment(folder, PATH=f"{self.prefix / 'bin'}:/usr/bin:/bin", JUPYTERLAB_DIR=str(lab))
        tools = folder / "bin"  # /usr/bin has a Node on many machines
        tools.mkdir()
        for name in ("sh", "bash", "ls", "uname", "cat", "rm", "mkdir", "env"):
            if found := shutil.which(name):
                (tools / name).symlink_to(found)
        self.variables["PATH"] = f"{self.prefix / 'bin'}:{tools}"
        assert shutil.which("node", path=self.variables["PATH"]) is None
        for name in ("PYTHONPATH", "VIRTUAL_ENV"):
            self.variables.pop(name, None)

    def pip(self, *arguments: str | Path) -> None:
        command = [sys.executable, "-m", "pip", "--python", self.python, "--disable-pip-version-check", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def says(self, *arguments: str) -> str:
        done = subprocess.run(
            [self.python, *arguments], env=self.variables, cwd=self.prefix, capture_output=True, text=True, check=False, timeout=60
        )
        return done.stdout + done.stderr

    def files(self) -> set[str]:
        return {str(path.relative_to(self.prefix)) for path in self.prefix.rglob("*") if not path.is_dir()}

    @contextmanager
    def server(self) -> Iterator[httpx.Client]:
        """A Jupyter server; the client is at its base URL."""
        token = secrets.token_hex(8)
        command = [self.python, "-m", "jupyter_server", "--no-browser", "--allow-root", "--ServerApp.port=0"]
        command += [f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={self.prefix}"]
        log = (self.prefix.parent / f"server-{token}.log").open("w+b")
        process = subprocess.Popen(command, env=self.variables, cwd=self.prefix, stdout=log, stderr=log)
        runtime = Path(self.variables["JUPYTER_RUNTIME_DIR"])
        try:
            url = wait_for(lambda: server_url(runtime, process), "the server's file")
            with httpx.Client(base_url=url, headers={"Authorization": f"token {token}"}, timeout=60, trust_env=False) as client:
                wait_for(lambda: answers(client), "an answer of the server")
                yield client
        except Exception as error:
            log.seek(0)
            error.add_note(log.read().decode()[-4000:])
            raise
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)
            log.close()


def server_url(runtime: Path, process: subprocess.Popen[bytes]) -> str | None:
    assert process.poll() is None, "the server ended"
    file = runtime / f"jpserver-{process.pid}.json"
    try:
        return str(json.loads(file.read_text())["url"])
    except (FileNotFoundError, json.JSONDecodeError):
        return None


def answers(client: httpx.Client) -> bool:
    try:
        return client.get("api/status").is_success
    except httpx.TransportError:
        return False


def wait_for(ready: Callable[[], T | None], what: str, seconds: float = 30) -> T:
    deadline = time.monotonic() + seconds
    while not (found := ready()):
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        time.sleep(0.05)
    return found


def turn(client: httpx.Client, message: str) -> str:
    """The answer's text, read from the stream of a new session's run."""
    api = "hermes/api/chat/"
    session = client.post(api + "sessions", json={}).raise_for_status().json()["sessionId"]
    run = client.post(f"{api}sessions/{session}/runs", json={"message": message}).raise_for_status().json()["runId"]
    last = {}
    with client.stream("GET", f"{api}runs/{run}/stream") as stream:
        for line in stream.iter_lines():
            if line.startswith("data: "):
                last = json.loads(line.removeprefix("data: "))
    assert last["kind"] == "run_complete", last
    return str(last["text"])


def test_the_wheel_is_small_and_has_the_labextension_once(wheel: Path) -> None:
    assert wheel.stat().st_size <= 1_000_000
    names = zipfile.ZipFile(wheel).namelist()
    assert len(names) == len(set(names))
    assert not [name for name in names if name.startswith("jupyter_hermes_chat/labextension")]
    assert [name for name in names if name.endswith(f"{LABEXTENSION}/package.json")]
    assert [name for name in names if name.endswith(f"{LABEXTENSION}/install.json")]
    assert "jupyter_hermes_chat/static/manifest.json" in names
    assert "jupyter_hermes_chat/py.typed" in names
    assert [name for name in names if name.endswith("jupyter_server_config.d/jupyter_hermes_chat.json")]
    assert not [name for name in names if "node_modules" in name or name.startswith(("js/", "tests/"))]


@pytest.mark.agent
@pytest.mark.requirement("R1")
def test_installed_without_node_upgraded_under_a_bridge_and_removed(wheel: Path, hermes_python: Path, tmp_path: Path) -> None:
    environment = Environment(tmp_path)
    before = environment.files()

    environment.pip("install", "--no-index", "--no-deps", wheel)
    assert "jupyter-hermes-chat v" in (listed := environment.says("-m", "jupyterlab.labextensions", "list")), listed
    assert [line for line in listed.splitlines() if "jupyter-hermes-chat" in line and "enabled" in line and "OK" in line], listed
    listed = environment.says("-m", "jupyter_server.extension.serverextension", "list")
    assert [line for line in listed.splitlines() if "jupyter_hermes_chat" in line and "OK" in line], listed
    try:
        with environment.server() as client:
            assert turn(client, "hello")
            assert client.get("hermes/api/chat/health").json()["bridge"] == "running"

        newer = build(tmp_path, version="99.0.0")
        environment.pip("install", "--no-index", "--no-deps", "--upgrade", newer)
        with environment.server() as client:
            health = client.get("hermes/api/chat/health").json()
            assert (health["version"], health["bridge"]) == ("99.0.0", "running")
            assert turn(client, "hello")
            assert client.get("hermes/api/chat/sessions").json()["total"] == 2
    finally:
        environment.says("-m", "jupyter_hermes_chat.cli", "stop")

    environment.pip("uninstall", "--yes", "jupyter_hermes_chat")
    assert environment.files() == before
    assert [path.name for path in Path(environment.variables["JUPYTER_DATA_DIR"]).iterdir()] == ["hermes-chat"]
    assert "ModuleNotFoundError" in environment.says("-c", "import jupyter_hermes_chat")
