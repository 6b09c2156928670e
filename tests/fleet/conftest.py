"""The servers that all tests of this tier share."""

from collections.abc import Iterator

import pytest

from testing.sites.postgres import Postgres, postgres
from testing.sites.temporal import TemporalServer, temporal_server


@pytest.fixture(scope="session")
def temporal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TemporalServer]:
    """A running Temporal."""
    with temporal_server(tmp_path_factory.mktemp("temporal")) as server:
        yield server


@pytest.fixture(scope="session")
def database() -> Iterator[Postgres]:
    """A running database, for Pulumi's state."""
    with postgres() as server:
        yield server
