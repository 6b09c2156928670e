"""The installation of a host whose UEFI fetches its boot ISO by HTTP."""

import pytest

from base.errors import ProvisioningError
from providers.host_provisioning.installation.boot_procedures import HttpBoot
from testing.fakes.media import DIGEST
from tests.unit.providers.host_provisioning.installation.rig import NAME, Rig

INSTALLED = ["override UefiHttp Once", "On", "override Hdd Once", "On"]


def rig_by_http() -> Rig:
    rig = Rig()
    rig.boot_procedure = HttpBoot(rig.bmc, rig.media, NAME, rig.clock)
    rig.bmc.boot_over_network = lambda: rig.media.boot(NAME) if rig.bmc.uri == rig.media.url(NAME) else None
    return rig


def test_the_host_boots_its_iso_once_then_from_its_disk() -> None:
    rig = rig_by_http()
    installation = rig.run()
    assert rig.bmc.writes == INSTALLED
    assert (installation.iso_sha256, rig.bmc.installs, rig.bmc.booted_from) == (DIGEST, 1, "disk")
    assert "installing by UEFI HTTP" in installation.seconds


def test_its_iso_is_served_and_known_to_the_bmc_only_while_it_is_installed() -> None:
    rig, served = rig_by_http(), []
    rig.bmc.lost = lambda write: served.append((write, NAME in rig.media.enabled, bool(rig.bmc.uri)))
    rig.run()
    assert served == [
        ("override UefiHttp Once", False, True),
        ("On", True, True),
        ("override Hdd Once", False, False),
        ("On", False, False),
    ]


def test_the_iso_of_an_earlier_run_is_replaced_at_the_same_target() -> None:
    rig = rig_by_http()
    rig.bmc.set_override("UefiHttp", "Once", uri=rig.media.url(NAME, "cd" * 32))
    rig.bmc.writes.clear()
    rig.run()
    assert (rig.bmc.writes, rig.bmc.installs) == (INSTALLED, 1)


def test_firmware_that_fetches_nothing_is_an_error_without_the_path() -> None:
    rig = rig_by_http()
    rig.bmc.boot_over_network = lambda: None
    with pytest.raises(ProvisioningError, match=r"never fetched the boot ISO from http://media .*by DHCP") as caught:
        rig.run()
    assert DIGEST not in str(caught.value)
    assert (rig.bmc.installs, rig.media.enabled) == (0, set())


def test_a_host_without_a_fitting_disk_boots_no_installer_again() -> None:
    rig = rig_by_http()
    rig.media.report = "refused no disk has it"
    with pytest.raises(ProvisioningError, match="nothing was wiped: no disk has it"):
        rig.run()
    assert rig.bmc.writes == ["override UefiHttp Once", "On", "Off", "override Hdd Once"]
    assert (rig.bmc.uri, rig.media.enabled) == ("", set())


def test_an_iso_that_breaks_off_is_fetched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = rig_by_http()
    rig.bmc.sticky, installs = False, rig.bmc.install_s
    monkeypatch.setattr(rig.media, "size", lambda _: 2)
    rig.bmc.install_s = 1e9

    def second_boot() -> str | None:
        url = rig.media.boot(NAME)
        if url and rig.bmc.writes.count("Off"):
            rig.media.read[url], rig.bmc.install_s = 3, installs
        return url

    rig.bmc.boot_over_network = second_boot
    rig.run()
    assert rig.bmc.writes == ["override UefiHttp Once", "On", "Off", *INSTALLED]


def test_a_host_that_runs_from_its_disk_is_adopted_and_only_read() -> None:
    rig = rig_by_http()
    rig.bmc.run_from_disk()
    assert (rig.run().iso_sha256, rig.bmc.writes) == ("", [])
