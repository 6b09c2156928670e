"""The marks of installations that have ended: how long they last, and of what."""

from collections.abc import Callable
from pathlib import Path

import pytest

from base.errors import ProvisioningError
from providers.host_provisioning.installation.evidence import Evidence
from providers.mark_file import Ended, MarkFile, marks
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


def is_marked(mark: MarkFile, machine: Identity, iso_sha256: str) -> bool:
    return Evidence(mark, lambda _: False, lambda: False).is_marked(machine, iso_sha256)


def mark(lines: list[str], address: str = "redfish-virtualmedia://bmc/redfish/v1/Systems/1") -> MarkFile:
    return MarkFile.of(address, lines.append)


def test_a_mark_outlives_its_run_and_is_of_one_machine_and_one_boot_iso(lines: list[str]) -> None:
    mark(lines).set(Ended(MACHINE, ISO))
    assert is_marked(mark(lines), MACHINE, ISO)
    assert is_marked(mark(lines), Identity("", MACHINE.serial), ISO), "some firmware reports a UUID only later"
    assert not is_marked(mark(lines), OTHER, ISO)
    assert not is_marked(mark(lines), MACHINE, OTHER_ISO)
    assert not is_marked(mark(lines, "redfish-virtualmedia://bmc/redfish/v1/Systems/2"), MACHINE, ISO)
    assert not is_marked(mark(lines), Identity("", ""), ISO)


def test_a_system_that_has_come_up_is_known_by_its_address(lines: list[str]) -> None:
    mark(lines, "redfish://other").set(Ended(OTHER, ISO))
    assert [each.address for each in marks()] == [""]
    mark(lines).set(Ended(MACHINE, ISO, "192.0.2.22"))
    assert sorted(each.address for each in marks()) == ["", "192.0.2.22"]
    assert is_marked(mark(lines), MACHINE, ISO)
    mark(lines).remove()
    assert [each.address for each in marks()] == [""]


def test_a_mark_that_is_removed_is_none(lines: list[str]) -> None:
    assert marks() == []
    mark(lines).set(Ended(MACHINE, ISO))
    mark(lines).remove()
    assert not is_marked(mark(lines), MACHINE, ISO)
    mark(lines).remove()


def damage(file: Path) -> None:
    file.write_text('{"machine": {')


def lock_away(file: Path) -> None:
    file.unlink()
    file.symlink_to(file.name)  # root may read whatever has no permission


@pytest.mark.parametrize(
    ("spoil", "why"), [(damage, "its content is damaged"), (lock_away, "Too many levels of symbolic links")]
)
def test_a_mark_that_cannot_be_read_is_not_none(lines: list[str], spoil: Callable[[Path], None], why: str) -> None:
    """Without one, the disk would be wiped, and the bootstrap VM built anew."""
    mark(lines).set(Ended(MACHINE, ISO))
    spoil(mark(lines).path)
    for read in (lambda: is_marked(mark(lines), MACHINE, ISO), marks):
        with pytest.raises(ProvisioningError) as caught:
            read()
        assert str(caught.value) == (
            f"{mark(lines).path}: cannot be read ({why}), so nobody knows what was installed from here. "
            "Fix: have this user read it; or, once each installed server is on, remove it; then run `pulumi up` again"
        )


def test_a_mark_that_cannot_be_written_is_a_warning(tmp_path: Path, lines: list[str]) -> None:
    (tmp_path / "okd-baremetal").write_text("a file where the folder should be")
    mark(lines).set(Ended(MACHINE, ISO))
    assert [line.partition(": ")[2].partition(":")[0] for line in lines] == [
        "cannot be written, so a run after a kill may install the server again"
    ]


def test_a_mark_that_cannot_be_removed_is_an_error(tmp_path: Path, lines: list[str]) -> None:
    """Without a folder there is no mark; one that stays would have the next run boot the old disk."""
    (tmp_path / "okd-baremetal").write_text("a file where the folder should be")
    mark(lines).remove()
    (tmp_path / "okd-baremetal").unlink()
    mark(lines).path.mkdir(parents=True)
    with pytest.raises(
        ProvisioningError, match=r"\.json: cannot be removed: .* Fix: remove it, then run `pulumi up`"
    ):
        mark(lines).remove()
