"""What surrounds a process that runs Hermes: nothing that fails open, nothing of Jupyter, nothing that costs."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from jupyter_hermes_chat.bridge.environment import (
    FAIL_OPEN,
    MANAGED_CONFIG,
    PROBE,
    WORKER,
    administrator_folder,
    merged,
    worker_command,
    worker_environment,
    write_managed_config,
    write_tour_home,
)
from jupyter_hermes_chat.protocol.errors import AgentError

BASE = {
    "PATH": "/bin",
    "HOME": "/home/me",
    "LC_ALL": "C.UTF-8",
    "OPENROUTER_API_KEY": "k",
    "HTTPS_PROXY": "http://proxy",
    "HERMES_HOME": "/home/me/.hermes",
    "JUPYTER_DATA_DIR": "/home/me/data",
    "JUPYTER_TOKEN": "t",
    "JUPYTERHUB_API_TOKEN": "t",
    "JPY_API_TOKEN": "t",
    "PYTHONPATH": "/elsewhere",
    "VIRTUAL_ENV": "/venv",
    "HERMES_SESSION_PLATFORM": "telegram",
    **dict.fromkeys(FAIL_OPEN, "1"),
}


def environment(*, tour: bool, home: str | None = None, working_dir: str | None = None) -> dict[str, str]:
    return worker_environment(BASE, hermes_home=home, managed_dir="/managed", working_dir=working_dir, tour=tour)


@pytest.mark.requirement("R38")
@pytest.mark.parametrize("tour", [False, True])
def test_no_switch_that_skips_an_approval_is_passed_on(tour: bool) -> None:
    assert not set(FAIL_OPEN) & environment(tour=tour).keys()
    assert "HERMES_SESSION_PLATFORM" not in environment(tour=tour)


@pytest.mark.parametrize("tour", [False, True])
def test_nothing_of_jupyter_reaches_the_agents_shell(tour: bool) -> None:
    found = environment(tour=tour)
    assert "t" not in found.values()
    assert not any(name.startswith("PYTHON") or name == "VIRTUAL_ENV" for name in found)


def test_a_persons_keys_proxy_and_home_are_hermes_own() -> None:
    found = environment(tour=False)
    assert (found["OPENROUTER_API_KEY"], found["HTTPS_PROXY"]) == ("k", "http://proxy")
    assert found["HERMES_HOME"] == "/home/me/.hermes"
    assert found["HERMES_MANAGED_DIR"] == "/managed"
    assert environment(tour=False, home="/other")["HERMES_HOME"] == "/other"


def test_the_tour_gets_neither_key_nor_proxy() -> None:
    found = environment(tour=True, home="/tour")
    assert "OPENROUTER_API_KEY" not in found
    assert "HTTPS_PROXY" not in found
    assert found["NO_PROXY"] == "127.0.0.1"
    assert (found["PATH"], found["HOME"], found["LC_ALL"], found["HERMES_HOME"]) == ("/bin", "/home/me", "C.UTF-8", "/tour")


@pytest.mark.requirement("R48")
def test_a_working_directory_limits_the_file_tools() -> None:
    found = environment(tour=False, working_dir="/work")
    assert found["TERMINAL_CWD"] == found["HERMES_WRITE_SAFE_ROOT"] == "/work"
    assert "TERMINAL_CWD" not in environment(tour=False)


def test_what_is_run_is_there_and_is_run_apart_from_its_folder() -> None:
    assert WORKER.is_file()
    assert PROBE.is_file()
    command = worker_command("/hermes/python", warm=True)
    assert command[0] == "/hermes/python"
    assert "-P" in command
    assert command[-2:] == [str(WORKER), "--warm"]


@pytest.mark.requirement("R38")
def test_managed_configuration_asks_for_every_approval(tmp_path: Path) -> None:
    folder = write_managed_config(tmp_path / "managed", administrator=tmp_path / "none")
    assert json.loads((folder / "config.yaml").read_text())["approvals"]["mode"] == "manual"
    assert "HERMES_YOLO_MODE=\n" in (folder / ".env").read_text()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(f.stat().st_mode) for f in folder.iterdir()} == {0o600}


def test_an_administrators_configuration_is_laid_over_ours(tmp_path: Path) -> None:
    administrator = tmp_path / "etc"
    administrator.mkdir()
    (administrator / "config.yaml").write_text("approvals: {timeout: 60}\nmodel: {default: house/model}\n")
    (administrator / ".env").write_text("HOUSE=1\n")
    folder = write_managed_config(tmp_path / "managed", administrator=administrator)
    found = json.loads((folder / "config.yaml").read_text())
    assert found == merged(MANAGED_CONFIG, {"approvals": {"timeout": 60}, "model": {"default": "house/model"}})
    assert found["approvals"] == {"mode": "manual", "timeout": 60}
    assert (folder / ".env").read_text().endswith("HOUSE=1\n")


def test_an_administrators_file_that_cannot_be_read_is_no_permission(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("approvals: [")
    with pytest.raises(AgentError, match="not valid YAML"):
        write_managed_config(tmp_path / "managed", administrator=tmp_path)


def test_the_administrators_folder_is_found_as_hermes_finds_it() -> None:
    assert administrator_folder({}) == Path("/etc/hermes")
    assert administrator_folder({"HERMES_MANAGED_DIR": "/opt/policy"}) == Path("/opt/policy")


def test_the_tours_home_names_one_provider(tmp_path: Path) -> None:
    config = json.loads((write_tour_home(tmp_path, "http://127.0.0.1:1/v1") / "config.yaml").read_text())
    assert config["model"] == {"default": "hermes-tour", "provider": "tour"}
    assert list(config["providers"]) == ["tour"]
    assert config["providers"]["tour"]["base_url"] == "http://127.0.0.1:1/v1"


def test_a_home_that_says_the_same_is_left_alone_since_its_time_decides_whether_hermes_is_looked_at_again(tmp_path: Path) -> None:
    config = write_tour_home(tmp_path, "http://127.0.0.1:1/v1") / "config.yaml"
    before = config.stat()
    write_tour_home(tmp_path, "http://127.0.0.1:1/v1")
    after = config.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    write_tour_home(tmp_path, "http://127.0.0.1:2/v1")
    assert "127.0.0.1:2" in config.read_text()
