from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_hermes_chat.client import HermesClient
from tests.notebook.kernels import Kernel, kernel_of
from tests.servers import Running, running_server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, hermes_python: Path) -> Iterator[Running]:
    with running_server(tmp_path_factory.mktemp("server"), hermes_python) as running:
        yield running


@pytest.fixture(scope="session")
def _kernel(server: Running) -> Iterator[Kernel]:
    with kernel_of(server) as kernel:
        yield kernel


@pytest.fixture
def kernel(_kernel: Kernel) -> Iterator[Kernel]:
    """One kernel and one chat for all tests, since both cost seconds. Nothing of a test runs on behind it."""
    yield _kernel
    _kernel.run("%hermes stop --force")


@pytest.fixture
def client(server: Running) -> Iterator[HermesClient]:
    with HermesClient(server.file) as client:
        yield client
