from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_hermes_chat.client import HermesClient
from tests.servers import Running, running_server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, hermes_python: Path) -> Iterator[Running]:
    with running_server(tmp_path_factory.mktemp("server"), hermes_python) as running:
        yield running


@pytest.fixture
def client(server: Running) -> Iterator[HermesClient]:
    with HermesClient(server.file) as client:
        yield client
