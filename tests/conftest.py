"""Options and fixtures of all tiers."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from cluster.plan import ClusterPlan
from testing import plans
from testing.certificates import authority
from testing.own_run import forget_run
from testing.processes import accept_interrupts

accept_interrupts()
for proxy in [name for name in os.environ if name.lower().endswith("_proxy")]:
    del os.environ[proxy]  # an emulator would ask that of the machine, which is not reached from a test
pytest_plugins = ["pytester", "testing.skips", "testing.tiers", "testing.remnants"]
settings.register_profile("default", max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), max_examples=100, derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """`make accept` rewrites the golden files."""
    parser.addoption("--accept-golden", action="store_true", help="rewrite tests/golden from today's renders")


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


@pytest.fixture(autouse=True)
def _own_run() -> Iterator[None]:
    """No test gets what the resources of another one have told each other."""
    yield
    forget_run()


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
