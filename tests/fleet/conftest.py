"""The development server that all tests of this tier share."""

from collections.abc import Iterator

import pytest

from fleet.server.development import DevelopmentServer, running


@pytest.fixture(scope="session")
def development(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevelopmentServer]:
    """A running server, in a folder that only root can reach."""
    with running(tmp_path_factory.mktemp("server"), print) as server:
        yield server
