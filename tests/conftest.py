"""Options and fixtures of all tiers, and how they run beside each other."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from cluster.plan import ClusterPlan
from testing import plans
from testing.certificates import authority

pytest_plugins = ["pytester", "testing.skips"]
TESTS = Path(__file__).parent
WAITING = {"e2e": 900, "wire": 300}
"""Seconds for a test of the tiers that wait for machines and engines, the longest tests first: they begin first."""

settings.register_profile("default", max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), max_examples=100, derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """`make accept` rewrites the golden files."""
    parser.addoption("--accept-golden", action="store_true", help="rewrite tests/golden from today's renders")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests first that wait: others work meanwhile."""
    tiers = [*WAITING]
    for item in items:
        tier = _tier(item)
        if tier in WAITING and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(WAITING[tier]))
    items.sort(key=lambda item: tiers.index(_tier(item)) if _tier(item) in WAITING else len(tiers))


def _tier(item: pytest.Item) -> str:
    return item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else ""


@pytest.fixture
def accept_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are rewritten instead of compared."""
    return bool(request.config.getoption("--accept-golden"))


@pytest.fixture(autouse=True)
def _tracebacks() -> Iterator[None]:
    """A provider's error switches tracebacks off for its process; Pulumi's program side cannot work without."""
    before = getattr(sys, "tracebacklimit", None)
    yield
    if before is None:
        vars(sys).pop("tracebacklimit", None)
    else:
        sys.tracebacklimit = before


@pytest.fixture(scope="session")
def plan() -> ClusterPlan:
    """The rehearsal's plan, phase `bootstrap`."""
    return plans.plan()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Path of a key and certificate for `api.okd.lab.test`, signed by `test-ca`."""
    path: Path = tmp_path_factory.mktemp("tls") / "api.pem"
    pair = authority("test-ca").issue(["api.okd.lab.test"])
    path.write_text(pair.key + pair.certificate)
    return str(path)
