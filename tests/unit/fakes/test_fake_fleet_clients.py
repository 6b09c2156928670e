"""Two clients that know nothing of the fake: sushy with its defaults, and our own wire."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sushy

from providers.redfish.access import Access
from providers.redfish.bmc import Power
from providers.redfish.sushy_bmc import SushyBmc
from tests.fakes.fleet.fleet import Fleet, Options, running, serial_of, uuid_of
from tests.fakes.fleet.tree import ENABLE_MEDIA
from tests.fakes.fleet.vendors import VENDORS
from tests.unit.fakes.raw import ISO_BYTES, medium, raw

CD, ONCE, UEFI = sushy.BootSource.CD, sushy.BootSourceOverrideEnabled.ONCE, sushy.BootSourceOverrideMode.UEFI
NEEDS_MORE = {
    "lenovo": "takes the first drive",
    "lenovo_patch": "sends no If-Match for the boot override",
    "ami": "lists no drive until remote media are enabled",
    "openbmc": "takes the first drive",
}
"""What our wire does not do yet."""


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    with running(Options(hosts=len(VENDORS), vendors=tuple(VENDORS))) as fleet:
        yield fleet


@pytest.fixture
def iso(tmp_path: Path) -> Iterator[str]:
    with medium(tmp_path) as url:
        yield url


def insert(drives: list[Any], url: str) -> Any:
    """Try one disc drive after the other, as a client must that knows no vendor."""
    for drive in drives:
        if sushy.VirtualMediaType.CD not in drive.media_types:
            continue
        try:
            drive.insert_media(url)
        except (sushy.exceptions.MissingActionError, sushy.exceptions.HTTPError):
            continue
        return drive
    raise AssertionError("no drive takes the medium")


@pytest.mark.parametrize("name", VENDORS)
def test_sushy_installs_a_server(fleet: Fleet, iso: str, tmp_path: Path, name: str) -> None:
    host, vendor, ca = list(VENDORS).index(name), VENDORS[name], tmp_path / "ca.pem"
    ca.write_text(fleet.ca)
    if not vendor.media_enabled:
        with raw(fleet, host) as bmc:
            bmc.ask("POST", f"{vendor.manager_path}/{ENABLE_MEDIA}", {"RMediaState": "Enable"})
    fleet.forget()
    root = sushy.Sushy(fleet.base(host), fleet.options.username, fleet.options.password, verify=str(ca))
    try:
        system = root.get_system(vendor.system_path)
        assert (system.uuid, system.serial_number) == (uuid_of(host), serial_of(host))
        assert fleet.state(host).sessions == 1
        home = system if vendor.media_on == "Systems" else system.managers[0]
        drive = insert(home.virtual_media.get_members(), iso)
        system.set_system_boot_options(target=CD, enabled=ONCE, mode=UEFI)
        system.reset_system(sushy.ResetType.ON)
        states = [sushy.PowerState.OFF]
        while states[-1] is not sushy.PowerState.OFF or sushy.PowerState.ON not in states:
            system.invalidate()
            system.refresh(force=False)
            states.append(system.power_state)
        drive.refresh()
        drive.eject_media()
        while drive.inserted:
            drive.refresh()
    finally:
        root._conn._auth.close()
    done = fleet.figures(host)
    assert (done.booted, done.installs, done.fetched, done.resets) == ([iso], 1, ISO_BYTES, {"On": 1})
    assert (done.inserts, done.ejects, fleet.state(host).image) == ([iso], 1, "")
    assert fleet.state(host).sessions == 0


@pytest.mark.parametrize("name", [name for name in VENDORS if name not in NEEDS_MORE])
def test_our_wire_installs_a_server(iso: str, name: str) -> None:
    with running(Options(vendors=(name,))) as fleet:
        access = Access(fleet.address(0), fleet.options.username, fleet.options.password, ca=fleet.ca)
        bmc = SushyBmc(access)
        try:
            assert (bmc.identity().uuid, bmc.identity().serial) == (uuid_of(0), serial_of(0))
            assert bmc.bmc_version() == VENDORS[name].bmc_version
            bmc.insert(iso)
            assert bmc.media() == iso
            bmc.set_override("Cd", "Once")
            bmc.request_power(Power.ON)
            seen = [Power.OFF]
            while seen[-1] is not Power.OFF or Power.ON not in seen:
                seen.append(bmc.power())
            bmc.eject()
            while bmc.media():
                pass
        finally:
            bmc.close()
        done = fleet.figures()
        assert (done.booted, done.installs, done.resets, done.ejects) == ([iso], 1, {"On": 1}, 1)
        assert (done.connections, done.requests.total()) == (1, bmc.requests)
