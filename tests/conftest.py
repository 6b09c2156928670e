"""Options and fixtures of all tiers."""

import pytest

from cluster.plan import ClusterPlan
from tests import plans


def pytest_addoption(parser: pytest.Parser) -> None:
    """`make accept` rewrites the golden files."""
    parser.addoption("--accept-golden", action="store_true", help="rewrite tests/golden from today's renders")


@pytest.fixture
def accept_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are rewritten instead of compared."""
    return bool(request.config.getoption("--accept-golden"))


@pytest.fixture(scope="session")
def plan() -> ClusterPlan:
    """The rehearsal's plan, phase `bootstrap`."""
    return plans.plan()
