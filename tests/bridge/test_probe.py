"""What the probe says of a Hermes home, with the network refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jupyter_hermes_chat.bridge.environment import PROBE, probe_command, worker_environment, write_managed_config, write_tour_home

SKILL = "---\nname: count-words\ndescription: Counts words.\n---\n\n# Count\n\nUse wc.\n"


def probe(interpreter: Path | str, home: Path, tmp_path: Path, *, tour: bool = True, **more: str) -> dict[str, Any]:
    managed = write_managed_config(tmp_path / "managed", administrator=tmp_path / "none")
    base = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **more}
    environment = worker_environment(base, hermes_home=home, managed_dir=managed, working_dir=None, tour=tour)
    done = subprocess.run(probe_command(interpreter), env=environment, capture_output=True, timeout=60, check=True, cwd=tmp_path)
    (line,) = done.stdout.splitlines()
    found: dict[str, Any] = json.loads(line)
    return found


@pytest.mark.agent
@pytest.mark.requirement("R36", "R44")
def test_the_tours_home_has_its_two_models(hermes_python: Path, tmp_path: Path) -> None:
    home = write_tour_home(tmp_path / "home", "http://127.0.0.1:1/v1")
    found = probe(hermes_python, home, tmp_path)
    assert found["configured"]
    assert found["default"] == {"provider": "tour", "model": "hermes-tour"}
    (provider,) = found["providers"]
    assert (provider["slug"], provider["models"]) == ("tour", ["hermes-tour", "hermes-tour-mini"])
    assert provider["contextLengths"] == {"hermes-tour": 128_000, "hermes-tour-mini": 128_000}
    assert found["hermes"][0].isdigit()
    assert "error" not in found


@pytest.mark.agent
def test_an_empty_home_has_nothing_configured_and_gets_no_configuration(hermes_python: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    found = probe(hermes_python, home, tmp_path, tour=False)
    assert not found["configured"]
    assert found["default"] == {"provider": None, "model": None}
    assert not (home / "config.yaml").exists()
    assert not (home / ".env").exists()


@pytest.mark.agent
def test_a_key_in_the_environment_is_a_configuration(hermes_python: Path, tmp_path: Path) -> None:
    found = probe(hermes_python, tmp_path / "home", tmp_path, tour=False, OPENROUTER_API_KEY="sk-or-1234567890")
    assert found["configured"]
    assert "sk-or-1234567890" not in json.dumps(found)


@pytest.mark.agent
@pytest.mark.requirement("R2", "R44")
def test_skills_of_the_home_are_listed_and_bundled_ones_are_put_there_first(hermes_python: Path, tmp_path: Path) -> None:
    bundled = tmp_path / "bundled" / "writing" / "count-words"
    bundled.mkdir(parents=True)
    (bundled / "SKILL.md").write_text(SKILL)
    own = tmp_path / "home" / "skills" / "mine"
    own.mkdir(parents=True)
    (own / "SKILL.md").write_text(SKILL.replace("count-words", "mine"))
    found = probe(hermes_python, tmp_path / "home", tmp_path, tour=False, HERMES_BUNDLED_SKILLS=str(tmp_path / "bundled"))
    assert {s["name"] for s in found["skills"]} == {"count-words", "mine"}
    assert next(s for s in found["skills"] if s["name"] == "count-words")["description"] == "Counts words."


@pytest.mark.parametrize(
    "attempt",
    [
        "socket.create_connection(('127.0.0.1', 9))",
        "socket.socket().connect(('127.0.0.1', 9))",
        "socket.getaddrinfo('example.org', 80)",
        "subprocess.run(['true'])",
    ],
)
def test_network_and_programs_are_refused(attempt: str) -> None:
    code = (
        "import importlib.util, socket, subprocess, sys\n"
        f"spec = importlib.util.spec_from_file_location('probe', {str(PROBE)!r})\n"
        "probe = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(probe)\n"
        "sys.addaudithook(probe.refuse_network)\n"
        f"try:\n    {attempt}\nexcept probe.Offline:\n    print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout == "refused\n"


def test_an_interpreter_without_hermes_is_told_in_the_answer(tmp_path: Path) -> None:
    assert "hermes_cli" in probe(sys.executable, tmp_path / "home", tmp_path)["error"]
