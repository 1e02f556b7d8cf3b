"""What can be chosen, as Hermes' files change under a running Bridge; and where a session may work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from jupyter_hermes_chat.bridge.workspace import private_folder
from jupyter_hermes_chat.protocol.errors import AgentError
from tests.bridge.running import RunningBridge


@pytest.mark.requirement("R44")
@pytest.mark.parametrize("tour", ["never", "always"])
def test_the_probe_runs_again_when_hermes_files_change_and_not_else(start_faulty: Callable[..., RunningBridge], tour: str) -> None:
    bridge = start_faulty(HERMES_CHAT_TOUR=tour)
    home = bridge.folder / ("hermes-home" if tour == "never" else "data/tour")
    script = bridge.folder / "python-of-a-faulty-hermes"

    def default() -> str:
        return str(bridge.client.get("/hermes/models").json()["default"]["model"])

    assert default() == "m"
    script.write_text(script.read_text(encoding="utf-8").replace('"model": "m"', '"model": "other"'), encoding="utf-8")
    assert default() == "m"
    (home / "config.yaml").write_text("model: other\n", encoding="utf-8")
    assert default() == "other"


def test_a_probe_that_says_nonsense_is_a_problem_and_no_exception(start_faulty: Callable[..., RunningBridge]) -> None:
    bridge = start_faulty()
    (bridge.folder / "python-of-a-faulty-hermes").write_text("#!/bin/sh\necho hello\n", encoding="utf-8")
    (bridge.folder / "hermes-home" / ".env").touch()
    found = bridge.client.get("/hermes/models").json()
    assert (found["problem"]["code"], found["models"], found["configured"]) == ("hermes_incompatible", [], False)


@pytest.mark.parametrize("mode", ["always", "never"])
def test_the_tour_can_be_switched_on_and_off(start_faulty: Callable[..., RunningBridge], mode: str) -> None:
    bridge = start_faulty(HERMES_CHAT_TOUR=mode)
    assert bridge.client.get("/hermes/models").json()["tour"] is (mode == "always")
    end = bridge.run("count 1", modelConfig={"provider": "tour", "model": "hermes-tour"})[-1]
    assert end.kind == ("run_complete" if mode == "always" else "run_error")
    assert end.data.get("code") == (None if mode == "always" else "not_configured")


@pytest.mark.requirement("R48")
def test_a_private_folder_that_others_can_enter_is_refused(tmp_path: Path) -> None:
    made = private_folder("s", tmp_path)
    assert private_folder("s", tmp_path) == made
    made.parent.chmod(0o755)
    with pytest.raises(AgentError, match="TMPDIR"):
        private_folder("s", tmp_path)


@pytest.mark.requirement("R48")
def test_a_private_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    made = private_folder("s", tmp_path)
    made.rmdir()
    made.symlink_to(tmp_path)
    with pytest.raises(AgentError):
        private_folder("s", tmp_path)
