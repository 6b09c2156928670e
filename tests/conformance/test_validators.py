"""DMTF's validators test each fake BMC. `make redfish-conformance` installs them, and runs this."""

from pathlib import Path

import pytest

from testing.dmtf import PROTOCOL, SERVICE, USE_CASES, Validator, failures
from testing.fakes.fleet.fleet import Options, running
from testing.fakes.fleet.unusable import EVERY
from tests.conformance.explained import EXPLAINED

pytestmark = pytest.mark.conformance


@pytest.mark.parametrize("fake", EVERY)
@pytest.mark.parametrize("validator", [SERVICE, PROTOCOL, USE_CASES], ids=lambda validator: validator.name)
def test_the_failures_are_those_that_are_explained(validator: Validator, fake: str, tmp_path: Path) -> None:
    with running(Options(vendors=(fake,))) as fleet:
        fleet.change(0, power="On")
        failed = failures(validator, fleet, tmp_path)
    explained = [reason for reason in EXPLAINED if reason.validator is validator and reason.has(EVERY[fake])]
    unexplained = [row for row in failed if not any(reason.covers(row) for reason in explained)]
    gone = [reason.why for reason in explained if not any(map(reason.covers, failed))]
    assert (unexplained, gone) == ([], [])
