"""The doctor looks at real parts: a real Bridge, the real Hermes, and the tour instead of a model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import private_environment

HOPS = ["extension", "dataFolder", "interpreter", "bridge", "model", "hermes", "roundTrip"]


def run(env: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "jupyter_hermes_chat.cli", *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=100, check=False)


def findings(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.agent
def test_every_hop_is_checked_up_to_a_round_trip(tmp_path: Path, hermes_python: Path) -> None:
    env = private_environment(tmp_path, HERMES_PYTHON=str(hermes_python))
    try:
        done = run(env, "doctor", "--json")
        found = findings(done)
        assert [(c["key"], c["ok"]) for c in found["checks"]] == [(hop, True) for hop in HOPS], done.stdout
        assert done.returncode == 0
        assert found["ok"] is True
        assert found["interpreter"] == str(hermes_python)
        assert found["hermes"].startswith("0.")
        assert found["model"] == "tour/hermes-tour"
        assert "skills" in next(c["message"] for c in found["checks"] if c["key"] == "hermes")
    finally:
        ended = run(env, "stop")
    assert ended.stdout == "The Bridge has ended.\n", ended.stderr
    assert run(env, "stop").stdout == "No Bridge is running.\n"


def test_a_missing_hermes_is_named_with_how_to_install_it(tmp_path: Path) -> None:
    env = private_environment(tmp_path, HERMES_PYTHON=str(tmp_path / "nowhere" / "python"))
    try:
        done = run(env, "doctor", "--json")
    finally:
        run(env, "stop")
    by_key = {c["key"]: c for c in findings(done)["checks"]}
    assert done.returncode == 1
    assert by_key["interpreter"]["ok"] is False
    assert "jupyter hermes-chat setup" in by_key["interpreter"]["message"]
    assert by_key["roundTrip"]["ok"] is None
    assert by_key["roundTrip"]["message"].startswith("Not checked")


def test_a_data_folder_that_cannot_be_written_says_which_setting_to_change(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    env = private_environment(tmp_path, HERMES_CHAT_DATA_DIR=os.fspath(blocked / "below"))
    done = run(env, "doctor", "--no-round-trip")
    assert done.returncode == 1
    assert "c.HermesChatApp.data_dir" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
