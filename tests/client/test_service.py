"""A server of the kernel's own, where none is in reach."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.servers import environment_for, wait_for

PROGRAM = """
import json, sys
from jupyter_hermes_chat.client import HermesClient
from jupyter_hermes_chat.client.service import find_or_start
from jupyter_hermes_chat.protocol.errors import HermesChatError
try:
    server = find_or_start()
except HermesChatError as error:
    print(json.dumps({"code": error.code, "message": error.message}))
    sys.exit()
assert find_or_start() == server, "a second look finds the first one's"
with HermesClient(server) as client:
    print(json.dumps({"pid": server.pid, "total": client.sessions().total}))
"""


def run(folder: Path, **environment: str) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**environment_for(folder, None), **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=90,
    )
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


@pytest.mark.requirement("R59")
def test_it_is_started_found_again_and_ends_with_the_program(tmp_path: Path) -> None:
    answer = run(tmp_path)
    assert answer["total"] == 0
    wait_for(lambda: None if psutil.pid_exists(int(str(answer["pid"]))) else True)
    left = [p.name for p in (tmp_path / "jupyter-runtime").iterdir() if p.name.startswith("hermes-chat-")]
    assert left == []


def test_one_that_does_not_start_is_a_sentence_that_names_its_log(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "jupyter_server.py").write_text("raise SystemExit('no server here')")
    answer = run(tmp_path, PYTHONPATH=f"{broken}:{environment_for(tmp_path, None)['PYTHONPATH']}")
    assert answer["code"] == "server_not_found"
    log = Path(str(answer["message"]).split("see ")[1].split(" for ")[0])
    assert "no server here" in log.read_text()
