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
def test_each_failure_is_explained_and_each_explained_one_is_there(
    program: Program, fake: str, tmp_path: Path
) -> None:
    with running(Options(vendors=(fake,))) as fleet:
        fleet.change(0, power="On")
        failed = failures(program, Service.of(fleet), tmp_path)
    explained = [row for row in EXPLAINED if row.program is program and fake in row.fakes]
    unexplained = [row for row in failed if not any(reason.covers(row) for reason in explained)]
    gone = [reason for reason in explained if not any(map(reason.covers, failed))]
    assert (unexplained, gone) == ([], [])
