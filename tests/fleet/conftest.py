"""The development server that all tests of this tier share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fleet.server.development import DevelopmentServer, running


@pytest.fixture(scope="session")
def server_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The server's folder, which only root can reach."""
    return tmp_path_factory.mktemp("server")


@pytest.fixture(scope="session")
def development(server_folder: Path) -> Iterator[DevelopmentServer]:
    """A running server."""
    with running(server_folder, print) as server:
        yield server
