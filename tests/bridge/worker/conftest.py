"""Fixtures of the worker's tests: one tour and one worker a module, since starting them costs more than most tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bridge.worker.rig import Tour, Worker, tour_environment


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tour]:
    endpoint = Tour(tmp_path_factory.mktemp("tour"))
    yield endpoint
    endpoint.close()


@pytest.fixture(scope="module")
def worker(hermes_python: Path, tour: Tour, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    folder = tmp_path_factory.mktemp("worker")
    process = Worker(tour_environment(folder, tour.url), hermes_python, folder)
    yield process
    process.close()
