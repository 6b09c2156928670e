"""What the live system says of the disks, and what follows from it."""

import pytest

from base.errors import ProvisioningError
from tests.unit.providers.host_provisioning.installation.rig import DEADLINE_S, INSERTED, Rig

CHOSEN = "chosen deviceName: /dev/sda, model: X"
REFUSED = "refused no disk fits hctl: 0:0:0:1. Disks found: deviceName: /dev/sda, hctl: 0:0:0:0"


def reporting(words: str) -> Rig:
    """Return an installation whose live system, once it runs, says this and goes on."""
    rig = Rig()

    def say(write: str) -> None:
        if write == "On":
            rig.bmc.install_s, rig.media.report = DEADLINE_S, words

    rig.bmc.lost = say
    return rig


@pytest.mark.parametrize(
    ("says", "disk"),
    [
        pytest.param(CHOSEN, "deviceName: /dev/sda, model: X", id="chosen"),
        pytest.param("", "", id="not-reached"),
        pytest.param("refusedly chosen", "", id="another-word"),
    ],
)
def test_the_disk_that_the_live_system_chose_is_recorded(says: str, disk: str) -> None:
    rig = Rig()
    rig.media.report = says
    assert rig.run().disk == disk
    assert rig.is_installed()


def test_a_live_system_without_a_fitting_disk_is_stopped_with_its_report() -> None:
    rig = reporting(REFUSED)
    before = rig.clock.now()
    with pytest.raises(ProvisioningError) as caught:
        rig.run()
    assert str(caught.value) == (
        "https://bmc/redfish/v1/Systems/1: nothing was wiped: no disk fits hctl: 0:0:0:1. "
        "Disks found: deviceName: /dev/sda, hctl: 0:0:0:0. "
        "Fix: correct the host's rootDeviceHints, or its disks, then run `pulumi up` again"
    )
    assert rig.bmc.writes == [*INSERTED, "On", "Off", "eject"]
    assert rig.clock.now() < before + 120
    assert rig.bmc.installs == 0


def test_a_live_system_with_a_stale_disk_is_stopped_with_its_report() -> None:
    rig = reporting("stale /dev/sdb3 is labelled boot: serialNumber: S1")
    with pytest.raises(ProvisioningError) as caught:
        rig.run()
    assert str(caught.value) == (
        "https://bmc/redfish/v1/Systems/1: nothing was wiped: stale disks: /dev/sdb3 is labelled boot: "
        "serialNumber: S1. Fix: take each of them out, or erase it; or, if all that is on it may be lost, list a "
        "serialNumber or wwn that only it has in wipe_disks.okd-master-0, then run `pulumi up` again"
    )
    assert rig.bmc.writes == [*INSERTED, "On", "Off", "eject"]


def test_what_coreos_installer_said_last_reaches_the_error() -> None:
    """ISO-WORD: it was an hour of waiting, and `look at the server's console`."""
    rig = reporting("failed Error: opening /dev/sda: Read-only file system")
    before = rig.clock.now()
    with pytest.raises(ProvisioningError) as caught:
        rig.run()
    assert str(caught.value) == (
        "https://bmc/redfish/v1/Systems/1: coreos-installer failed: Error: opening /dev/sda: Read-only file system. "
        "Fix: correct what it names, the disk or the boot ISO, then run `pulumi up` again"
    )
    assert rig.bmc.writes == [*INSERTED, "On", "Off", "eject"]
    assert rig.clock.now() < before + 120


def test_a_refusing_system_that_is_switched_off_is_not_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = Rig()
    monkeypatch.setattr(rig.media, "disk_report", lambda _: REFUSED if rig.bmc.installs else "")
    with pytest.raises(ProvisioningError, match="nothing was wiped"):
        rig.run()
    assert "override Hdd Once" not in rig.bmc.writes
