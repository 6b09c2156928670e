"""An independent client: sushy with its defaults. The program's own client: test_writes.py."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sushy

from testing.fakes.fleet.fleet import Fleet, Options, running, serial_of, uuid_of
from testing.fakes.fleet.vendors import VENDORS
from tests.unit.testing.raw import ISO_BYTES, medium, raw

CD, ONCE, UEFI = sushy.BootSource.CD, sushy.BootSourceOverrideEnabled.ONCE, sushy.BootSourceOverrideMode.UEFI


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    with running(Options(hosts=len(VENDORS), vendors=tuple(VENDORS))) as fleet:
        yield fleet


@pytest.fixture
def iso(tmp_path: Path) -> Iterator[str]:
    with medium(tmp_path) as url:
        yield url


def insert(drives: list[Any], url: str) -> Any:
    """Try one CD drive after the other, as a client must that knows no vendor."""
    for drive in drives:
        typed = sushy.VirtualMediaType.CD in drive.media_types
        if not typed and (drive.media_types or not drive.identity.startswith("CD")):
            continue
        try:
            drive.insert_media(url)
        except (sushy.exceptions.MissingActionError, sushy.exceptions.HTTPError):
            continue
        return drive
    raise AssertionError("no drive takes the medium")


# sushy fills no drive that can only be patched, and only with Image.
@pytest.mark.parametrize("name", [name for name in VENDORS if name != "hpe_ilo4"])
def test_sushy_installs_a_server(fleet: Fleet, iso: str, tmp_path: Path, name: str) -> None:
    host, vendor, ca = list(VENDORS).index(name), VENDORS[name], tmp_path / "ca.pem"
    ca.write_text(fleet.ca)
    if not vendor.media_enabled:
        with raw(fleet, host) as bmc:
            bmc.ask("POST", vendor.enable_path, {"RMediaState": "Enable"})
    fleet.forget()
    root = sushy.Sushy(fleet.base(host), fleet.options.username, fleet.options.password, verify=str(ca))
    try:
        system = root.get_system(vendor.system_path)
        assert (system.uuid, system.serial_number) == (uuid_of(host), serial_of(host))
        assert fleet.state(host).sessions == 1
        owner = system if vendor.media_on == "Systems" else system.managers[0]
        drive = insert(owner.virtual_media.get_members(), iso)
        if vendor.attributes:
            with raw(fleet, host) as bmc:
                chosen = {"ServerBoot.1.FirstBootDevice": "VCD-DVD", "ServerBoot.1.BootOnce": "Enabled"}
                bmc.ask("PATCH", f"{vendor.manager_path}/{vendor.attributes}", {"Attributes": chosen})
        else:
            system.set_system_boot_options(target=CD, enabled=ONCE, mode=UEFI if vendor.boot_mode != "" else None)
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
