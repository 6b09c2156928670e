"""The profile that a buyer gives to a vendor says of each fake BMC what an installation says."""

from dataclasses import replace
from pathlib import Path

import pytest

from base.errors import OkdBaremetalError
from testing.bmc_profile import DOCUMENT
from testing.dmtf import INTEROP, accepts
from testing.fakes.fleet.fleet import Options, running
from testing.fakes.fleet.parts import Firmware
from testing.fakes.fleet.unusable import EVERY
from testing.fakes.fleet.vendors import GENERIC_SYSTEM, LENOVO_PATCH, SUPERMICRO
from testing.server_under_test import ServedMedia, server

pytestmark = pytest.mark.conformance

VARIATIONS = (
    replace(GENERIC_SYSTEM, name="no_virtual_cd", targets=("None", "Pxe", "Hdd", "UefiHttp")),
    replace(GENERIC_SYSTEM, name="no_disk", targets=("None", "Pxe", "Cd", "UefiHttp")),
    replace(GENERIC_SYSTEM, name="only_legacy", firmware=Firmware(modes=("Legacy",)), boot_mode="Legacy"),
    replace(SUPERMICRO, name="only_usb_cd", targets=("None", "Pxe", "Hdd", "UsbCd")),
    replace(LENOVO_PATCH, name="patch_on_the_system", media_on="Systems"),
)
"""BMCs that no other test needs."""


class OverHttps(ServedMedia):
    """The media of a site that serves the boot ISOs over https, which every BMC accepts."""

    def publish(self, host: str) -> str:
        return super().publish(host).replace("http:", "https:", 1)


def passes_the_profile(fake: str, folder: Path) -> bool:
    """Whether a BMC has all that the profile wants. Virtual media is switched on, as buy-servers.md has it."""
    with running(Options(vendors=(fake,))) as fleet:
        fleet.change(0, media_enabled=True)
        return accepts(INTEROP, fleet, folder, str(DOCUMENT))


def installs(fake: str, folder: Path) -> bool:
    """Whether the program installs a server through this BMC."""
    with server(folder, fake) as it:
        it.media = OverHttps(it.media.server, it.media.iso)
        try:
            it.from_start_to_end()
        except OkdBaremetalError:
            return False
        return it.is_installed()


@pytest.mark.parametrize("fake", [*EVERY, *(vendor.name for vendor in VARIATIONS)])
def test_the_profile_accepts_the_bmcs_through_which_servers_are_installed(
    fake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for vendor in VARIATIONS:
        monkeypatch.setitem(EVERY, vendor.name, vendor)
    report = tmp_path / "report"
    report.mkdir()
    profile, installation = passes_the_profile(fake, report), installs(fake, tmp_path)
    print(f"profile {profile!s:5} installation {installation}")
    assert profile is installation
