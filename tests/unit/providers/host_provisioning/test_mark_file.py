"""The marks of installations that have ended: how long they last, and of what."""

from pathlib import Path

import pytest

from providers.host_provisioning.mark_file import MarkFile
from testing.fakes.bmc import FakeBmc
from testing.fakes.clock import FakeClock
from wires.bmc.client import Identity

MACHINE = FakeBmc(FakeClock()).machine
OTHER = Identity("c0ffee00-0000-4000-8000-000000000002", "SN-2")
ISO, OTHER_ISO = "ab" * 32, "cd" * 32


@pytest.fixture
def lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return []


def mark(lines: list[str], address: str = "redfish-virtualmedia://bmc/redfish/v1/Systems/1") -> MarkFile:
    return MarkFile.of(address, lines.append)


def test_a_mark_outlives_its_run_and_is_of_one_machine_and_one_boot_iso(lines: list[str]) -> None:
    mark(lines).set(MACHINE, ISO)
    assert mark(lines).is_of(MACHINE, ISO)
    assert mark(lines).is_of(Identity("", MACHINE.serial), ISO), "some firmware reports a UUID only later"
    assert not mark(lines).is_of(OTHER, ISO)
    assert not mark(lines).is_of(MACHINE, OTHER_ISO)
    assert not mark(lines, "redfish-virtualmedia://bmc/redfish/v1/Systems/2").is_of(MACHINE, ISO)
    assert not mark(lines).is_of(Identity("", ""), ISO)


def test_a_mark_that_is_removed_or_damaged_is_none(lines: list[str]) -> None:
    mark(lines).set(MACHINE, ISO)
    mark(lines).remove()
    assert not mark(lines).is_of(MACHINE, ISO)
    mark(lines).remove()
    mark(lines).set(MACHINE, ISO)
    mark(lines).path.write_text('{"machine": {')
    assert not mark(lines).is_of(MACHINE, ISO)


def test_a_mark_that_cannot_be_written_is_a_warning(tmp_path: Path, lines: list[str]) -> None:
    (tmp_path / "okd-baremetal").write_text("a file where the folder should be")
    mark(lines).set(MACHINE, ISO)
    assert [line.partition(": ")[2].partition(":")[0] for line in lines] == [
        "cannot be written, so a run after a kill may install the server again"
    ]
