"""How a worker begins and ends, what it refuses, and what it leaves of the person's Hermes: everything as it was."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_hermes_chat.bridge.environment import worker_environment, write_managed_config, write_tour_home
from tests.bridge.worker.rig import Tour, Worker, tour_environment

pytestmark = pytest.mark.agent

CONFIG = """\
# the person's own, with a comment and odd spacing
model:   {default: hermes-tour, provider: local}
providers:
    local: {base_url: "%s", api_key: "${LOCAL_KEY}", models: {hermes-tour: {context_length: 128000}}}
agent: {api_max_retries: 1}
approvals: {mode: "off"}   # asks nobody on the command line
"""
DOTENV = "LOCAL_KEY=sk-local-0123456789abcdef\nHERMES_YOLO_MODE=1\n"
SOUL = "You are terse.\n"


@pytest.fixture
def home(tmp_path: Path, tour: Tour) -> Path:
    """A person's Hermes home: another provider, a key, no approvals."""
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "config.yaml").write_text(CONFIG % tour.url)
    (folder / ".env").write_text(DOTENV)
    (folder / "SOUL.md").write_text(SOUL)
    return folder


@pytest.fixture
def own(home: Path, tmp_path: Path, hermes_python: Path) -> Iterator[Worker]:
    """A worker on it, as the Bridge starts one for a person with a model, warm as every spare."""
    managed = write_managed_config(tmp_path / "managed", administrator=tmp_path / "none")
    base = {**os.environ, "HOME": str(tmp_path), "HERMES_YOLO_MODE": "1"}
    environment = worker_environment(base, hermes_home=home, managed_dir=managed, working_dir=None, tour=False)
    worker = Worker(environment, hermes_python, tmp_path, warm=True)
    yield worker
    worker.close()


@pytest.mark.requirement("R38", "R46")
def test_a_persons_own_hermes_is_used_asked_and_left_as_it_was(own: Worker, home: Path) -> None:
    denied: list[str] = []

    def deny(event: dict[str, str]) -> None:
        if event["kind"] == "approval_request":
            denied.append(event["command"])
            own.send("approve", runId=event["runId"], approvalId=event["approvalId"], choice="deny")

    (own.working_dir / "scratch").mkdir()
    ended = own.run("delete", hook=deny)
    assert ended.events[0]["provider"] == "local"
    assert ended.of("notice") == []  # approvals are on, whatever config.yaml and .env say
    assert denied == ["rm -rf ./scratch"]
    assert (own.working_dir / "scratch").exists()
    always = own.run("delete", hook=lambda e: own.send("approve", runId=e["runId"], approvalId=e["approvalId"], choice="always")
                     if e["kind"] == "approval_request" else None)  # fmt: skip
    assert always.end["text"].startswith("The command ran")
    assert own.close() == 0
    assert (home / "config.yaml").read_text().splitlines()[0] == CONFIG.splitlines()[0]
    assert (home / "config.yaml").read_bytes() == (CONFIG % own_url(home)).encode()
    assert (home / ".env").read_bytes() == DOTENV.encode()
    assert (home / "SOUL.md").read_bytes() == SOUL.encode()


def own_url(home: Path) -> str:
    return (home / "config.yaml").read_text().split('"')[1]


def test_ready_tells_versions_and_what_this_hermes_can_do(worker: Worker) -> None:
    assert worker.ready["type"] == "ready"
    assert worker.ready["hermes"][0].isdigit()
    assert worker.ready["python"].startswith("3.")
    assert worker.ready["pid"] == worker.process.pid
    assert {"clarify", "approvals", "interrupt", "steer"} <= set(worker.ready["capabilities"])


def test_an_interpreter_without_hermes_is_told_with_what_is_missing(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    worker = Worker(environment, Path(sys.executable), tmp_path)
    assert worker.ready["type"] == "fatal"
    assert worker.ready["code"] == "hermes_incompatible"
    assert "run_agent:AIAgent" in worker.ready["message"]
    assert "jupyter hermes-chat setup" in worker.ready["message"]
    assert worker.process.wait(10) == 1
    worker.close()


def test_a_worker_ends_when_its_bridge_does(tour: Tour, hermes_python: Path, tmp_path: Path) -> None:
    """The Bridge may be killed in the middle of a run; its pipes close, and nothing of the worker stays."""
    worker = Worker(tour_environment(tmp_path, tour.url), hermes_python, tmp_path)
    worker.start("slow 60")
    while worker.line()["event"]["kind"] != "answer":
        pass
    assert worker.process.stdin is not None
    worker.process.stdin.close()
    assert worker.process.wait(10) == 0
    worker._reader.join(10)
    assert worker.process.stdout is not None
    worker.process.stdout.close()


def test_a_context_below_64000_tokens_is_told_with_a_way_out(tour: Tour, hermes_python: Path, tmp_path: Path) -> None:
    environment = tour_environment(tmp_path, tour.url)
    config = tmp_path / "hermes-home" / "config.yaml"
    small = json.loads(config.read_text())
    small["model"]["context_length"] = 32_000
    config.write_text(json.dumps(small))
    worker = Worker(environment, hermes_python, tmp_path, warm=True)
    ended = worker.run("hello")
    assert ended.end["status"] == "error"
    assert ended.end["error"]["code"] == "context_too_small"
    assert "64,000" in ended.end["error"]["message"]
    assert [m["role"] for m in ended.messages] == ["user", "assistant"]
    worker.close()


def test_without_any_model_a_turn_says_how_to_choose_one(hermes_python: Path, tmp_path: Path) -> None:
    home = tmp_path / "empty"
    home.mkdir()
    worker = Worker(tour_environment(tmp_path, "", home), hermes_python, tmp_path, warm=True)
    ended = worker.run("hello")
    assert ended.end["error"]["code"] == "not_configured"
    assert "hermes model" in ended.end["error"]["message"]
    unknown = worker.run("hello", modelConfig={"provider": "nobody", "model": "nothing"})
    assert unknown.end["status"] == "error"
    worker.close()


def test_a_provider_that_hermes_does_not_know_is_refused(worker: Worker) -> None:
    ended = worker.run("hello", modelConfig={"provider": "nobody", "model": "nothing"})
    assert ended.end["error"]["code"] == "model_refused"
    assert worker.run("hello").end["status"] == "complete"


@pytest.mark.requirement("R38")
def test_approvals_that_an_administrator_switched_off_are_told(tour: Tour, hermes_python: Path, tmp_path: Path) -> None:
    administrator = tmp_path / "etc"
    administrator.mkdir()
    (administrator / "config.yaml").write_text("approvals: {mode: 'off'}\n")
    managed = write_managed_config(tmp_path / "managed", administrator=administrator)
    home = write_tour_home(tmp_path / "hermes-home", tour.url)
    environment = worker_environment(
        {**os.environ, "HOME": str(tmp_path)}, hermes_home=home, managed_dir=managed, working_dir=None, tour=True
    )
    worker = Worker(environment, hermes_python, tmp_path)
    (notice,) = worker.run("hello").of("notice")
    assert notice["code"] == "approvals_off"
    worker.close()
