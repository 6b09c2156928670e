"""The rules by which `init --discover` proposes card, disk and role."""

from datetime import UTC, datetime

import pytest

from cluster.install_config import read
from cluster.inventory.choice import boot_card, names_of, root_disk
from cluster.inventory.hosts import bmc_address, proposed
from cluster.inventory.model import GIB, Card, DiscoveredServer, Disk, Inventory, Link
from cluster.values.role import Role
from testing import clusters, plans

SMALL, NVME = Disk(name="sd", size_bytes=60 * GIB, serial="A"), Disk(name="n0", size_bytes=900 * GIB, serial="B")
HDD = Disk(name="h0", size_bytes=400 * GIB, serial="C", media="HDD")
USB = Disk(name="u0", size_bytes=200 * GIB, serial="D", protocol="USB")
NAMELESS = Disk(name="x0", size_bytes=300 * GIB)
VOLUME = Disk(name="v0", size_bytes=500 * GIB, wwn="0x600508b1", raid="RAID1")


def server(
    *parts: Card | Disk, bmc: str = "https://10.0.0.1/redfish/v1/Systems/1", model: str = ""
) -> DiscoveredServer:
    cards = tuple(part for part in parts if isinstance(part, Card))
    disks = tuple(part for part in parts if isinstance(part, Disk))
    return DiscoveredServer(bmc=bmc, cards=cards, disks=disks, ways=("redfish-virtualmedia",), model=model)


def card(name: str, link: Link = "", *, to_bmc: bool = False) -> Card:
    return Card(name=name, mac=f"52:54:00:00:00:0{name}", link=link, to_bmc=to_bmc)


@pytest.mark.parametrize(
    ("disks", "chosen"),
    [
        ((SMALL, NVME), "n0"),
        ((HDD, NVME), "n0"),
        ((HDD,), "h0"),
        ((USB, NVME), "n0"),
        ((NAMELESS, NVME), "n0"),
        ((NVME, VOLUME), "v0"),
        ((NVME.changed(name="n1", serial="E"), NVME), "n0"),
    ],
)
def test_the_disk_is_the_smallest_that_is_large_enough_and_has_a_name(disks: tuple[Disk, ...], chosen: str) -> None:
    disk, why = root_disk(server(*disks))
    assert (disk and disk.name, why) == (chosen, "")


@pytest.mark.parametrize(
    ("disks", "why"),
    [
        ((), "the BMC tells no disk"),
        ((SMALL, USB), "none of 2 is known to have 100 GiB"),
        ((NAMELESS,), "none of 1 large enough has a serial number or WWN of its own"),
    ],
)
def test_no_disk_has_a_reason(disks: tuple[Disk, ...], why: str) -> None:
    assert root_disk(server(*disks)) == (None, why)


def test_a_serial_that_two_disks_have_names_neither() -> None:
    both = (NVME, NVME.changed(name="n1"))
    assert [names_of(server(*both), disk) for disk in both] == [{}, {}]


def test_a_volume_is_named_by_its_wwn_and_an_eui_is_no_hint() -> None:
    assert names_of(server(VOLUME), VOLUME) == {"wwn": "0x600508b1"}
    eui = NAMELESS.changed(wwn="eui.0025")
    assert names_of(server(eui), eui) == {}


@pytest.mark.parametrize(
    ("cards", "chosen"),
    [
        ((card("1", "down"), card("2", "up"), card("3", "up")), "2"),
        ((card("1"),), "1"),
        ((card("1", "up", to_bmc=True), card("2", "down")), "2"),
        ((card("1"), card("2")), None),
        ((card("1", "up", to_bmc=True),), None),
    ],
)
def test_the_card_has_a_link_or_is_the_only_one(cards: tuple[Card, ...], chosen: str | None) -> None:
    found, why = boot_card(server(*cards))
    assert (found and found.name, bool(why)) == (chosen, chosen is None)


@pytest.mark.parametrize(
    ("bmc", "address"),
    [
        ("https://10.0.0.1/redfish/v1/Systems/1", "redfish-virtualmedia://10.0.0.1/redfish/v1/Systems/1"),
        ("https://10.0.0.1:8443/x", "redfish-virtualmedia://10.0.0.1:8443/x"),
        ("http://[fd00::1]/x", "redfish-virtualmedia+http://[fd00::1]/x"),
    ],
)
def test_the_address_has_the_best_type_and_the_transport(bmc: str, address: str) -> None:
    assert bmc_address(server(bmc=bmc)) == address


def test_a_control_plane_of_unlike_servers_is_said_to_be_one() -> None:
    names = [f"https://10.0.0.{number}/x" for number in range(1, 6)]
    servers = tuple(server(NVME, card("1", "up"), bmc=bmc, model=bmc) for bmc in names)
    config = read(plans.INSTALL_CONFIG.read_text()).config
    found = proposed(config, Inventory(dated=datetime.now(UTC), servers=servers), "file")
    assert "Control plane: the first 3 of 5 servers, of which no 3 are alike; " in found.rules[1]
    assert [(host.name, host.server and host.server.bmc) for host in found.hosts][:3] == [
        (f"okd-master-{number}", names[number]) for number in range(3)
    ]


def test_an_arbiter_comes_between_control_plane_and_compute() -> None:
    names = [f"https://10.0.0.{number}/x" for number in range(1, 6)]
    servers = tuple(server(NVME, card("1", "up"), bmc=bmc) for bmc in names)
    content = plans.install_config()
    clusters.arbiter(content)
    config = read(plans.written(content)).config
    found = proposed(config, Inventory(dated=datetime.now(UTC), servers=servers), "file")
    assert [(host.name, host.role) for host in found.hosts] == [
        ("okd-master-0", Role.CONTROL_PLANE),
        ("okd-master-1", Role.CONTROL_PLANE),
        ("okd-arbiter-0", Role.ARBITER),
        ("okd-worker-0", Role.COMPUTE),
        ("okd-worker-1", Role.COMPUTE),
    ]
