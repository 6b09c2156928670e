"""Fixtures of the Redfish tests."""

from collections.abc import Iterator

import pytest

from tests.unit.wires.redfish.one_bmc import OneBmc, one_bmc
from wires.redfish.client.logins import ACCEPTED, REFUSED


@pytest.fixture(autouse=True)
def _no_known_logins() -> None:
    """Have each test know as little of logins as a new process: another BMC may get the same port."""
    ACCEPTED.clear()
    REFUSED.clear()


@pytest.fixture
def it(request: pytest.FixtureRequest) -> Iterator[OneBmc]:
    """A BMC of no vendor, or of the vendor that a test names by indirect parametrization."""
    with one_bmc(getattr(request, "param", "generic")) as made:
        yield made
