"""DMTF's programs judge each fake BMC. `make redfish-conformance` installs them, and runs this."""

from pathlib import Path

import pytest

from testing.dmtf import PROTOCOL, SERVICE, USE_CASES, Program, Service, failures
from testing.fakes.fleet.fleet import Options, running
from testing.fakes.fleet.unusable import EVERY
from tests.conformance.explained import EXPLAINED

pytestmark = pytest.mark.conformance


@pytest.mark.parametrize("fake", EVERY)
@pytest.mark.parametrize("program", [SERVICE, PROTOCOL, USE_CASES], ids=lambda program: program.name)
def test_the_failures_are_those_that_are_explained(program: Program, fake: str, tmp_path: Path) -> None:
    with running(Options(vendors=(fake,))) as fleet:
        fleet.change(0, power="On")
        failed = failures(program, Service.of(fleet), tmp_path)
    explained = [reason for reason in EXPLAINED if reason.program is program and reason.has(EVERY[fake])]
    unexplained = [row for row in failed if not any(reason.covers(row) for reason in explained)]
    gone = [reason.why for reason in explained if not any(map(reason.covers, failed))]
    assert (unexplained, gone) == ([], [])
