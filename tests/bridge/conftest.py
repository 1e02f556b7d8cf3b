"""Bridges for the tests of this folder: one with the real Hermes and the tour, and ones with a faulty worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.bridge.running import RunningBridge, faulty_interpreter


@pytest.fixture
def start_faulty(tmp_path: Path) -> Iterator[Callable[..., RunningBridge]]:
    """Starts a Bridge whose Hermes is ``faulty_hermes.py``; ended after the test."""
    started: list[RunningBridge] = []

    def start(**environment: str) -> RunningBridge:
        interpreter = str(faulty_interpreter(tmp_path))
        bridge = RunningBridge(tmp_path, HERMES_PYTHON=interpreter, **environment)
        started.append(bridge)
        return bridge

    yield start
    for bridge in started:
        bridge.close()


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBridge]:
    """One for all tests of a module that leave it alive."""
    folder = tmp_path_factory.mktemp("faulty")
    bridge = RunningBridge(folder, HERMES_PYTHON=str(faulty_interpreter(folder)))
    yield bridge
    bridge.close()


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory, hermes_python: Path) -> Iterator[RunningBridge]:
    """The real Hermes Agent with the tour, since its home has no model. Its ``ls`` sleeps while the file ``slow-ls`` exists."""
    folder = tmp_path_factory.mktemp("real")
    ls = folder / "bin" / "ls"
    ls.parent.mkdir()
    ls.write_text(f'#!/bin/sh\n[ -e "{folder}/slow-ls" ] && exec sleep 300\nexec /bin/ls "$@"\n', encoding="utf-8")
    ls.chmod(0o755)
    (folder / "home").mkdir()
    (folder / "home" / ".profile").write_text(f'PATH="{ls.parent}:$PATH"\n', encoding="utf-8")  # Hermes' shell is a login shell
    bridge = RunningBridge(folder, HERMES_PYTHON=str(hermes_python))
    yield bridge
    bridge.close()
