"""Plain IPython, with no server in reach (R59)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers import end_bridges, environment_for


@pytest.mark.agent
@pytest.mark.requirement("R59")
def test_a_terminal_finds_or_starts_everything_and_prints_the_answer_once(tmp_path: Path, hermes_python: Path) -> None:
    environment = environment_for(tmp_path, hermes_python)
    script = tmp_path / "talk.ipy"
    script.write_text("%load_ext jupyter_hermes_chat\nreply = %hermes hello\nprint('kept:', reply.status)\n%hermes ask me\n")
    try:
        done = subprocess.run(
            [sys.executable, "-m", "IPython", "--colors=nocolor", script],
            env=environment,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
    finally:
        end_bridges(Path(environment["JUPYTER_RUNTIME_DIR"]))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("Hello! I am the tour") == 1
    assert "kept: complete" in done.stdout
    assert "1. Blue" in done.stdout
    assert "%hermes answer" in done.stdout
