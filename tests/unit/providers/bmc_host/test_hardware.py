"""A refresh compares a server of the fake fleet with the inventory that `discover` has made of it."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from cluster.inventory.drift import changes
from cluster.inventory.model import DiscoveredServer, Gap, Inventory
from providers.bmc_host import provider as bmc_host
from providers.bmc_host.provider import BmcHostProvider
from testing.fakes.clock import FakeClock
from testing.fakes.fleet.fleet import Fault, Fleet, Options, running, serial_of, uuid_of
from wires.bmc.access import BmcAccess
from wires.redfish.inventory.discovery import BmcDiscovery

MOST_REQUESTS = 12
"""More than a refresh sends without an inventory."""


class Desk:
    """A server, its state, and the inventory of its stack."""

    def __init__(self, fleet: Fleet, folder: Path) -> None:
        self.fleet, self.file = fleet, folder / "stacks" / "prod" / "inventory.json"
        self.file.parent.mkdir(parents=True)
        self.bmc = {"address": fleet.address(0), "username": fleet.options.username, "ca": fleet.ca}
        bmc = BmcDiscovery(BmcAccess.model_validate(self.bmc), SecretStr(fleet.options.password))
        self.server = bmc.server()
        bmc.close()
        self.keep(self.server)

    def keep(self, server: DiscoveredServer) -> None:
        inventory = Inventory(dated=datetime(2026, 11, 27, tzinfo=UTC), servers=(server,))
        self.file.write_text(inventory.model_dump_json())

    def refresh(self) -> int:
        """Refresh; return the number of requests."""
        before = len(self.fleet.figures().lines)
        found = {"override": {"target": "None", "enabled": "Disabled", "mode": ""}, "media": "", "secure_boot": ""}
        state: dict[str, Any] = {
            **{"host": "m0", "bmc": self.bmc, "password": self.fleet.options.password, "consent": serial_of(0)},
            **{"deadline_s": 60.0, "urn": "urn:pulumi:prod::okd::BmcHost::m0", "uuid": uuid_of(0)},
            **{"serial": serial_of(0), "model": "3500", "manufacturer": "Contoso", "bios_version": "P79 v1.45"},
            **{"bmc_version": "1.45.455b66-rev4", "found": found},
        }
        assert BmcHostProvider().read("u", state).outs == state
        return len(self.fleet.figures().lines) - before


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bmc_host, "SYSTEM_CLOCK", FakeClock())
    with running(Options()) as fleet:
        yield Desk(fleet, tmp_path)


def warned(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line for line in capsys.readouterr().err.splitlines() if not line.startswith("m0: state: ")]


def test_a_server_as_it_was_is_compared_with_few_requests(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    compared = desk.refresh()
    desk.file.unlink()
    assert 0 < compared - desk.refresh() <= MOST_REQUESTS
    assert warned(capsys) == []


def test_a_disk_and_a_card_that_are_others_now_are_named(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    (disk, larger, *rest), (card, *cards) = desk.server.disks, desk.server.cards
    disks = (disk.changed(serial="S-OLD"), larger.changed(size_bytes=1 << 30), *rest)
    desk.keep(desk.server.changed(disks=disks, cards=(card.changed(mac="52:54:00:00:00:99"), *cards)))
    desk.refresh()
    (line,) = warned(capsys)
    parts = [
        f"card {card.name} (52:54:00:00:00:99) is gone",
        f"card {card} is new",
        f"disk {disk.changed(serial='S-OLD')} is gone",
        f"disk {disk} is new",
        f"disk {larger} had 1 GiB",
    ]
    assert line == f"m0: since the inventory of 2026-11-27: {'; '.join(parts)}"


def test_of_what_was_not_read_nothing_is_known_to_be_gone(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    desk.fleet.fault(Fault("GET .*/(Drives|EthernetInterfaces)/", "status", status=500))
    desk.refresh()
    (line,) = warned(capsys)
    assert line.startswith("m0: since the inventory of 2026-11-27: cards ")
    assert (line.count(" not compared (cannot read /redfish/v1/"), line.count(" is gone")) == (
        len(desk.server.cards) + len(desk.server.disks),
        0,
    )
    desk.fleet.heal()
    desk.keep(desk.server.changed(disks=(), gaps=(Gap(what="clock, disks", why="38 requests were sent"),)))
    desk.refresh()
    assert warned(capsys) == []


def test_beside_a_disk_that_cannot_be_read_all_others_are_compared(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    unread, other, *rest = desk.server.disks
    desk.keep(desk.server.changed(disks=(unread, other.changed(size_bytes=1 << 30), *rest)))
    desk.fleet.fault(Fault(f"GET .*/Drives/{unread.name}$", "status", status=500))
    desk.refresh()
    (line,) = warned(capsys)
    assert f"disk {unread.name} not compared (cannot read /redfish/v1/" in line
    assert f"disk {other} had 1 GiB" in line
    assert "is gone" not in line


def test_disks_that_a_volume_hid_are_not_new_without_it(desk: Desk) -> None:
    """Where a BMC's drives link no volumes, those of an unread one look like disks of the system."""
    drive, *rest = desk.server.disks
    volume = drive.changed(name="Volume.1", serial="", wwn="0x5000000000000001", raid="RAID1", drives=(drive.serial,))
    kept = desk.server.changed(disks=(volume, *rest))
    unread = Gap(what="volumes", why="HTTP 500")
    now = desk.server.changed(gaps=(unread,))
    assert [*changes(kept, now)] == ["volumes not compared (HTTP 500)"]
    assert f"disk {drive} is new" in [*changes(kept, desk.server)]


def test_a_bmc_that_does_not_tell_fails_no_refresh(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    kept = desk.file.read_text()
    desk.file.unlink()
    asked = len(desk.fleet.figures().lines)
    desk.refresh()
    system = "GET /redfish/v1/Systems/1"
    without = desk.fleet.figures().lines[asked:].count(system)
    desk.file.write_text(kept)
    desk.fleet.fault(Fault(f"{system}$", "status", status=403, skip=without))
    desk.refresh()
    (line,) = warned(capsys)
    assert line.startswith("m0: not compared with its inventory: cannot read the system: HTTP 403")


def test_an_inventory_that_cannot_be_read_fails_no_refresh(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    desk.file.write_text("{")
    desk.refresh()
    (line,) = warned(capsys)
    assert line.startswith("m0: not compared with its inventory: stacks/prod/inventory.json: Invalid JSON")
