"""The servers that all tests of this tier share."""

import asyncio
from collections.abc import Iterator

import pytest

from testing.rollouts import DEADLINE_S, rollouts
from testing.sites.postgres import Postgres, postgres
from testing.sites.temporal import TemporalServer, temporal_server
from tests.fleet.scenarios import Play, Scenario


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


@pytest.fixture
def play(temporal: TemporalServer) -> Play:
    """Play a scenario at a site of the scenario's name, which has a worker."""

    def played(name: str, scenario: Scenario) -> None:
        async def at_site() -> None:
            async with (
                rollouts(temporal.address, name) as found,
                found.site.worker(found.client, name),
                asyncio.timeout(DEADLINE_S),
            ):
                await scenario(found)

        asyncio.run(at_site())

    return played
