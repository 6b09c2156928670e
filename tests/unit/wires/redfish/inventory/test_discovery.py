"""What `discover` learns of each kind of BMC: one table of all fakes, in the shapes of captured trees."""

import json
from pathlib import Path

import pytest
from pydantic import SecretStr

from cluster.inventory.choice import boot_card, names_of, root_disk
from cluster.inventory.model import DiscoveredServer
from testing.fakes.fleet.fleet import Fault, Fleet, Options, running, serial_of
from testing.fakes.fleet.hardware import disk_serial_of, mac_of
from testing.fakes.fleet.unusable import EVERY
from tests.unit.wires.redfish.capture.test_tree import tree_of
from tests.unit.wires.redfish.one_bmc import OneBmc
from wires.bmc.access import BmcAccess
from wires.redfish.inventory.discovery import DISCOVERY_LIMITS, MOST_READS, BmcDiscovery

MAC, SERIAL = mac_of(0, 0), disk_serial_of(0, 0)
WWN = f"0x600508b1{0:024x}"
CD, IDRAC, ILO, HTTP, PXE = (
    *("redfish-virtualmedia", "idrac-virtualmedia", "ilo5-virtualmedia", "redfish-uefihttp", "redfish"),
)
NO_LINK, NO_MAC, NO_DISK = "no card of 2 has a link", "the BMC tells no MAC address", "the BMC tells no disk"
PLAIN = (MAC, SERIAL, True, 36, (CD, PXE))
TABLE = {
    **dict.fromkeys(("generic", "generic_system", "generic_name", "generic_whole", "generic_mode"), PLAIN),
    **dict.fromkeys(("generic_tls", "generic_strict", "gigabyte", "ami", "openbmc"), PLAIN),
    **dict.fromkeys(("generic_http", "no_hdd"), (MAC, SERIAL, True, 36, (CD, HTTP, PXE))),
    **dict.fromkeys(("dell", "dell_r750", "dell5", "dell10"), (MAC, SERIAL, True, 36, (IDRAC, PXE))),
    **dict.fromkeys(("dell3", "dell4"), (MAC, NO_DISK, False, 20, (IDRAC, PXE))),
    **dict.fromkeys(("hpe", "hpe_target"), (NO_LINK, WWN, True, 36, (ILO, PXE))),
    "hpe_ilo4": (MAC, NO_DISK, False, 20, (CD, PXE)),
    **dict.fromkeys(("lenovo", "lenovo_patch", "supermicro", "supermicro_x13"), PLAIN),
    "dgx": (MAC, NO_DISK, None, 36, (CD, PXE)),
    **dict.fromkeys(("gb300", "gb300_https"), (NO_MAC, SERIAL, None, 144, (CD, PXE))),
    **dict.fromkeys(("huawei", "supermicro_x11", "sticks", "irmc"), (MAC, SERIAL, True, 36, (PXE,))),
    "supermicro_x10": (MAC, NO_DISK, False, 20, (PXE,)),
    **dict.fromkeys(("intel", "bluefield", "smartnic"), (NO_MAC, NO_DISK, None, None, (PXE,))),
    "bluefield_23": (NO_MAC, NO_DISK, None, None, (HTTP, PXE)),
    "hgx": (NO_MAC, NO_DISK, None, None, ()),
}
"""By BMC: the boot MAC or why there is none, what names the root disk or why none, x86-64-v3, cores, boot methods."""


def discovered(fleet: Fleet, *, reads: float = MOST_READS, session: bool = False) -> DiscoveredServer:
    options = fleet.options
    access = BmcAccess(address=fleet.address(0), username=options.username, ca=fleet.ca, session=session)
    limits = type(DISCOVERY_LIMITS)(reads=reads)
    bmc = BmcDiscovery(access, SecretStr(options.password), limits)
    try:
        return bmc.server()
    finally:
        bmc.close()


def learned(server: DiscoveredServer) -> tuple[object, ...]:
    card, no_card = boot_card(server)
    disk, no_disk = root_disk(server)
    named = next(iter(names_of(server, disk).values())) if disk else no_disk
    return card.mac if card else no_card[: len(NO_LINK)], named, server.cpu.x86_64_v3, server.cpu.cores, server.ways


def as_expected(vendor: str) -> tuple[object, ...]:
    mac, *rest = TABLE[vendor]
    return str(mac)[: len(NO_LINK)], *rest


def test_the_table_has_a_row_for_every_bmc() -> None:
    assert TABLE.keys() == EVERY.keys()


@pytest.mark.parametrize("vendor", TABLE)
def test_each_bmc_tells_what_its_server_is_or_why_not(vendor: str) -> None:
    with running(Options(vendors=(vendor,))) as fleet:
        server, figures = discovered(fleet), fleet.figures()
    assert learned(server) == as_expected(vendor)
    assert figures.writes == []
    assert figures.peak == 1
    assert server.requests == len(figures.lines) <= MOST_READS
    assert server.serial == serial_of(0)
    told = ", ".join(gap.what for gap in server.gaps).split(", ")
    for what, is_told in (("boot MAC", boot_card(server)[0]), ("root disk", root_disk(server)[0])):
        assert (what in told) is (is_told is None)
    assert ("memory" in told) is (server.memory_mib is None)


@pytest.mark.parametrize("vendor", [name for name in TABLE if name != "gb300_https"])
def test_a_capture_keeps_what_discover_reads(tmp_path: Path, vendor: str) -> None:
    file = tmp_path / "capture.json"
    with running(Options(vendors=(vendor,))) as fleet:
        file.write_text(json.dumps(tree_of(fleet)))
        seen = discovered(fleet)
    with running(Options(vendors=(str(file),))) as fleet:
        server = discovered(fleet)
    assert server.cpu == seen.cpu
    assert server.rack.split()[1:] == seen.rack.split()[1:]
    assert "A1" not in file.read_text()
    assert (server.memory_mib, server.ways, len(server.cards)) == (seen.memory_mib, seen.ways, len(seen.cards))
    shapes = [
        [(it.size_bytes, it.raid, it.media, bool(it.serial), bool(it.wwn)) for it in x.disks] for x in (server, seen)
    ]
    assert shapes[0] == shapes[1]
    assert [(it.link, it.to_bmc, bool(it.mac)) for it in server.cards] == [
        (it.link, it.to_bmc, bool(it.mac)) for it in seen.cards
    ]
    assert MAC not in file.read_text().lower()
    assert SERIAL not in file.read_text()


NEIGHBOURS = {
    "dell": [("b0:a8:6e:0a:9b:40", "ethernet1/1/1"), ("", "")],
    "hpe": [("90:20:c2:c7:22:00", "1/1/3:1"), ("", "")],
    "generic": [("", ""), ("", "")],
}
"""By BMC, the switch and port of each card. A captured iDRAC9 and DL360 have them in these places and forms."""


@pytest.mark.parametrize("vendor", NEIGHBOURS)
def test_the_other_end_of_a_cable_is_told_or_why_not(vendor: str) -> None:
    with running(Options(vendors=(vendor,))) as fleet:
        server = discovered(fleet)
    assert [(card.switch, card.switch_port) for card in server.cards] == NEIGHBOURS[vendor]
    (gap,) = (it for it in server.gaps if "LLDP neighbour" in it.what)
    if vendor == "generic":
        assert gap.why == "its 1 links no NetworkInterfaces"
    else:
        assert f"LLDP neighbour of {server.cards[1].name}" in gap.what


@pytest.mark.parametrize(
    ("place", "rack"),
    [
        ({"Rack": "A1", "RackOffset": 12, "RackOffsetUnits": "EIA_310", "Row": "R2"}, "R2 A1 U12"),
        ({"Rack": "A1", "RackOffset": 3, "RackOffsetUnits": "OpenU"}, "A1 OU03"),
        ({"Rack": "A1", "RackOffset": 0, "RackOffsetUnits": "EIA_310"}, "A1"),
        ({"Rack": "", "RackOffset": 1, "RackOffsetUnits": "EIA_310", "Row": "R2"}, ""),
        ({"Rack": ["A1"], "RackOffset": "12", "Row": 2}, ""),
        ("A1", ""),
    ],
)
def test_a_rack_is_told_or_a_gap(place: object, rack: str) -> None:
    with running(Options(vendors=("dell",))) as fleet:
        fleet.fault(Fault("GET .*/Chassis/1$", "says", says={"Location": {"Placement": place}}))
        server = discovered(fleet)
    assert server.rack == rack
    assert any("rack" in gap.what for gap in server.gaps) is (not rack)


def test_a_chassis_that_cannot_be_read_is_a_gap() -> None:
    with running(Options(vendors=("dell",))) as fleet:
        fleet.fault(Fault("GET .*/Chassis/1$", "status", status=404))
        server = discovered(fleet)
    assert any(gap.what == "rack" and "which it links (HTTP 404)" in gap.why for gap in server.gaps)


@pytest.mark.parametrize(
    "says",
    [
        {"Ethernet": 5},
        {"Ethernet": {"AssociatedMACAddresses": MAC, "LLDPReceive": {"ChassisId": "x"}}},
        {"Ethernet": {"AssociatedMACAddresses": [5, None, "no"], "LLDPReceive": {"ChassisId": "x", "PortId": 7}}},
        {"Ethernet": {"AssociatedMACAddresses": [MAC], "LLDPReceive": {"ChassisId": ["x"], "PortId": "1"}}},
    ],
)
def test_a_neighbour_of_another_shape_counts_as_not_told(says: dict[str, object]) -> None:
    with running(Options(vendors=("hpe",))) as fleet:
        fleet.fault(Fault("GET .*/Ports/0$", "says", says=says))
        server = discovered(fleet)
    assert [card.switch for card in server.cards] == ["", ""]


def test_a_session_fits_into_the_forty_requests(it: OneBmc) -> None:
    server = discovered(it.fleet, session=True)
    assert server.memory_mib
    assert it.fleet.state().sessions == 0
    assert len(it.lines) <= 40


@pytest.mark.parametrize("reads", [4, 9, 14])
def test_what_the_requests_do_not_suffice_for_is_a_gap_with_its_reason(it: OneBmc, reads: int) -> None:
    server = discovered(it.fleet, reads=reads)
    assert len(it.lines) == reads
    whys = " ".join(gap.why for gap in server.gaps)
    assert f"{reads} requests were sent, and one BMC gets no more" in whys


def test_a_disk_whose_volume_cannot_be_read_is_not_offered() -> None:
    with running(Options(vendors=("hpe",))) as fleet:
        fleet.fault(Fault("GET .*/Volume0$", "status", status=404))
        server = discovered(fleet)
    assert server.disks == ()
    assert any("volume Volume0" in gap.what for gap in server.gaps)


def test_a_bmc_that_refuses_to_expand_is_read_one_by_one() -> None:
    with running(Options(vendors=("dell",))) as fleet:
        fleet.fault(Fault("GET .*expand", "status", status=501))
        server, lines = discovered(fleet), fleet.figures().lines
    assert learned(server) == as_expected("dell")
    assert sum("expand" in line for line in lines) == 1


def test_a_password_that_a_bmc_repeats_is_masked(it: OneBmc) -> None:
    password = it.fleet.options.password
    it.says("GET .*/Systems/1$", Model=f"x {password} y", Manufacturer=password)
    text = discovered(it.fleet).model_dump_json()
    assert password not in json.loads(text)["model"]
    assert password not in text
    assert json.dumps(password)[1:-1] not in text


@pytest.mark.parametrize("password", ["serial", "0", "null"])
def test_a_password_of_common_letters_breaks_no_inventory(password: str) -> None:
    with running(Options(password=password)) as fleet:
        assert discovered(fleet).memory_mib == 128 * 1024


@pytest.mark.parametrize(
    ("match", "says"),
    [
        ("/Systems/1$", {"ProcessorSummary": "2", "UUID": 7, "Storage": {"@odata.id": 5}, "EthernetInterfaces": []}),
        ("/Drives/0$", {"CapacityBytes": "big", "Identifiers": {"a": 1}, "SerialNumber": ["x"], "Links": None}),
        ("/EthernetInterfaces/NIC1$", {"MACAddress": 5, "PermanentMACAddress": "no", "SpeedMbps": True}),
        ("/EthernetInterfaces$", {"Members": "none"}),
        ("/Storage$", {"Members": [None, "x", {"@odata.id": None}]}),
        ("/Processors$", {"Members": {}}),
        ("/Systems/1$", {"ProcessorSummary": {"CoreCount": 1e308}, "Storage": None}),
        ("/Systems/1$", {"MemorySummary": {"TotalSystemMemoryGiB": 1e308}}),
        ("/Systems/1$", {"Model": "\ud800", "UUID": None}),
        ("/Managers/[^/]*$", {"FirmwareVersion": "\ud800", "DateTime": "\ud800"}),
        ("/Drives/0$", {"CapacityBytes": 1e999, "Id": "\udfff"}),
    ],
)
def test_what_has_another_shape_counts_as_not_told(it: OneBmc, match: str, says: dict[str, object]) -> None:
    it.says(f"GET .*{match}", **says)
    server = discovered(it.fleet)
    assert server.serial == serial_of(0)
    assert server.gaps
    assert DiscoveredServer.model_validate_json(server.model_dump_json()) == server


def test_a_changed_answer_of_one_fleet_does_not_change_another(it: OneBmc) -> None:
    it.says("GET .*/EthernetInterfaces$", Members="none")
    assert not discovered(it.fleet).cards
    with running(Options()) as other:
        assert discovered(other).cards
