"""Fixtures of the tests of the wire to a BMC."""

from collections.abc import Iterator

import pytest

from tests.unit.wires.redfish.one_bmc import OneBmc, one_bmc


@pytest.fixture
def it(request: pytest.FixtureRequest) -> Iterator[OneBmc]:
    """A BMC of no vendor; of the one that a test names by indirect parametrization."""
    with one_bmc(getattr(request, "param", "generic")) as made:
        yield made
