"""The profile that a buyer gives to a vendor says of each fake what an installation says."""

from pathlib import Path

import pytest

from base.errors import OkdBaremetalError
from testing.bmc_profile import DOCUMENT
from testing.dmtf import INTEROP, Service, accepts
from testing.fakes.fleet.fleet import Options, running
from testing.fakes.fleet.unusable import EVERY
from testing.server_under_test import ServedMedia, server

pytestmark = pytest.mark.conformance


class OverHttps(ServedMedia):
    """The media of a site that serves the boot ISOs over https, which every BMC accepts."""

    def publish(self, host: str) -> str:
        return super().publish(host).replace("http:", "https:", 1)


def passes_the_profile(fake: str, folder: Path) -> bool:
    """Whether a BMC has all that the profile wants. Virtual media is switched on, as buy-servers.md has it."""
    with running(Options(vendors=(fake,))) as fleet:
        fleet.change(0, media_enabled=True)
        return accepts(INTEROP, Service.of(fleet), folder, str(DOCUMENT))


def installs(fake: str, folder: Path) -> bool:
    """Whether the program installs a server through this BMC."""
    with server(folder, fake) as it:
        it.media = OverHttps(it.media.server, it.media.iso)
        try:
            it.from_start_to_end()
        except OkdBaremetalError:
            return False
        return it.is_installed()


def test_the_profile_accepts_the_bmcs_through_which_servers_are_installed(tmp_path: Path) -> None:
    verdicts = {}
    for fake in EVERY:
        (tmp_path / fake / "report").mkdir(parents=True)
        verdicts[fake] = passes_the_profile(fake, tmp_path / fake / "report"), installs(fake, tmp_path / fake)
        print(f"{fake:20} profile {verdicts[fake][0]!s:5} installation {verdicts[fake][1]}")
    assert {fake for fake, (profile, installation) in verdicts.items() if profile is not installation} == set()
