"""Quirks: which row a BMC gets, and which requests that costs."""

from pathlib import Path
from typing import Any

import pytest

from base.errors import BmcRefusedError
from testing.documents import table
from testing.fakes.fleet.fleet import Fault
from testing.server_under_test import server
from tests.unit.wires.redfish.one_bmc import MANAGER, SYSTEM, OneBmc
from tests.unit.wires.redfish.test_probe import probe
from wires.redfish.client.quirks import GENERIC, TABLE, Quirks, quirks_of


@pytest.mark.parametrize(
    ("manufacturer", "bmc", "vendor"),
    [
        ("Dell Inc.", "17G Monolithic 1.20.50.50", "Dell iDRAC10"),
        ("Dell Inc.", "16G Monolithic 7.10.30.00", "Dell iDRAC9"),
        ("Dell Inc.", "14G Monolithic 6.10.30.00", "Dell iDRAC9"),
        ("Dell Inc.", "14G Monolithic 5.10.50.00", "Dell iDRAC9 before 6.00"),
        ("Dell Inc.", "13G Monolithic 2.75.75.75", "Dell iDRAC8"),
        ("HPE", "iLO 5 2.72", "HPE iLO"),
        ("Hewlett Packard Enterprise", "", "HPE iLO"),
        ("Supermicro", "", "Supermicro"),
        ("Lenovo", "", "Lenovo XCC"),
        ("GIGABYTE", "", "generic"),
        ("HP", "iLO 4 iLO 4 v2.82", "HPE iLO"),
        ("HPC Systems", "", "generic"),
        ("Contoso", "", "generic"),
        ("", "", "generic"),
        (" Integrated Dell Remote Access Controller Dell Dell", "14G Modular 3.34.34.34", "Dell iDRAC9 before 6.00"),
        ("HPE ProLiant DL385 Gen10 Plus v2 Hpe Hpe", "", "HPE iLO"),
        ("  Supermicro Supermicro", "", "Supermicro"),
        ("Lenovo  Lenovo", "", "Lenovo XCC"),
        ("NVIDIA GB200 NVL  Nvidia OpenBmc", "", "generic"),
    ],
)
def test_a_bmc_gets_the_row_of_its_vendor(manufacturer: str, bmc: str, vendor: str) -> None:
    assert quirks_of(manufacturer, lambda: bmc, lambda: "").vendor == vendor


def test_manager_and_service_root_are_read_only_if_the_row_depends_on_them() -> None:
    def never() -> str:
        raise AssertionError

    assert quirks_of("Supermicro", never, never).vendor == "Supermicro"


def test_the_document_lists_every_row_with_its_source() -> None:
    rows = [(row["BMC"], row["source"]) for row in table("explanation/servers.md", "BMC")]
    assert rows == [(row.vendor, row.source) for row in TABLE]


@pytest.mark.parametrize(
    ("row", "refused"),
    [
        (Quirks("x", "y", refusing_drives="RDOC|Remote"), {"RDOC1", "RDOC2", "Remote4"}),
        (Quirks("x", "y", only_drive="1"), {"2", "RDOC1", "RDOC2", "Remote4", "EXT1"}),
        (GENERIC, set()),
    ],
    ids=["some-refuse", "one-boots", "any"],
)
def test_drives_that_cannot_boot_are_skipped(row: Quirks, refused: set[str]) -> None:
    drives = {"1", "2", "EXT1", "RDOC1", "RDOC2", "Remote4"}
    assert {drive for drive in drives if row.refuses(drive)} == refused


def test_a_service_root_that_does_not_answer_at_first_is_read_again(tmp_path: Path) -> None:
    with server(tmp_path, "ami") as it:
        it.fleet.fault(Fault("GET /redfish/v1/?$", "status", times=3))
        began = it.clock.now()
        it.from_start_to_end()
        assert it.is_installed()
        assert it.clock.now() - began > 90, "the host sees the drive that late"


@pytest.mark.parametrize(
    ("manufacturer", "root", "settle_s"),
    [
        ("NVIDIA", {"Vendor": "AMI", "Product": "AMI Redfish Server"}, 90),
        ("Lenovo", {"Oem": {"Ami": {}}}, 90),
        ("ASUSTeK", {"Product": "AMI Redfish Server"}, 90),
        ("GIGABYTE", {"Vendor": "Gigabyte", "Product": "OpenBMC", "Oem": {"OpenBmc": {}}}, 0),
        ("Lenovo", {"Vendor": "Lenovo", "Product": None, "Oem": None}, 0),
        ("Contoso", {"Vendor": "Miami", "Product": "Amiga"}, 0),
    ],
    ids=["dgx", "lenovo-tsm", "asus", "openbmc", "lenovo-xcc", "other"],
)
def test_amis_host_starts_only_once_it_sees_the_drive(
    it: OneBmc, manufacturer: str, root: dict[str, Any], settle_s: float
) -> None:
    it.says(f"GET {SYSTEM}$", Manufacturer=manufacturer)
    it.says("GET /redfish/v1/?$", **root)
    assert it.client().settle_s == settle_s


def test_a_bmc_has_one_row_for_all_once_its_service_root_was_read(it: OneBmc) -> None:
    """A Lenovo with AMI's firmware (SR635): nothing is known of drives there that refuse."""
    it.says(f"GET {SYSTEM}$", Manufacturer="Lenovo")
    it.says("GET .*/Cd$", Id="Remote1")
    it.says("GET /redfish/v1/?$", Vendor="AMI")
    bmc = it.client()
    with pytest.raises(BmcRefusedError, match="no virtual CD drive"):
        bmc.media()
    assert bmc.settle_s == 90
    bmc.insert("http://192.0.2.1/x.iso")
    assert it.fleet.state().image == "http://192.0.2.1/x.iso"
    assert it.lines.count("GET /redfish/v1") == 1


ROOT = "GET /redfish/v1/?$"


@pytest.mark.parametrize("manufacturer", ["", None, "  ", "To be filled by O.E.M."])
@pytest.mark.parametrize(
    ("root", "manager", "kind"),
    [
        ({"Product": "Integrated Dell Remote Access Controller"}, {}, "Dell iDRAC9 before 6.00"),
        ({"Vendor": "Dell", "Product": None}, {}, "Dell iDRAC9 before 6.00"),
        ({"Oem": {"Dell": {}}}, {}, "Dell iDRAC9 before 6.00"),
        ({}, {"Oem": {"Dell": {}}}, "Dell iDRAC9 before 6.00"),
        ({}, {"Manufacturer": "Dell Inc.", "Oem": None}, "Dell iDRAC9 before 6.00"),
        ({"Oem": {"Hp": {}}}, {"Model": "iLO 4"}, "HPE iLO"),
        ({"Vendor": "AMI"}, {"Oem": {"Ami": {}}}, "AMI MegaRAC"),
        ({}, {}, "generic"),
    ],
    ids=["product", "vendor", "oem", "managers-oem", "managers-manufacturer", "ilo4", "ami", "nothing"],
)
def test_a_maker_that_the_system_does_not_name_is_that_of_root_or_manager(
    it: OneBmc, manufacturer: str | None, root: dict[str, Any], manager: dict[str, Any], kind: str
) -> None:
    """Issue 42, 2: an iDRAC9 with 3.34 was taken for a generic BMC, and waited for with its physical drive."""
    it.says(f"GET {SYSTEM}$", Manufacturer=manufacturer)
    it.says(ROOT, **root)
    it.says(f"GET {MANAGER}$", **manager)
    bmc = probe(it)
    bmc.identity()
    assert (bmc.kind(), bmc.kind()) == (kind, kind)
    assert it.lines.count("GET /redfish/v1") == 1


def test_a_maker_that_shows_only_later_decides_from_then_on(it: OneBmc) -> None:
    it.fleet.fault(Fault(f"GET {SYSTEM}$", "says", says={"Manufacturer": None}, times=1))
    it.says(f"GET {SYSTEM}$", Manufacturer="Lenovo")
    bmc = probe(it)
    bmc.identity()
    bmc.identity()
    assert bmc.kind() == "Lenovo XCC"


def test_a_supermicro_without_its_name_boots_the_virtual_cd_as_usb(it: OneBmc) -> None:
    """sushy knows it by its Manufacturer only."""
    targets = {"BootSourceOverrideTarget@Redfish.AllowableValues": ["Cd", "UsbCd"]}
    it.says(f"GET {SYSTEM}$", Manufacturer="", Boot=targets)
    it.says(ROOT, Oem={"Supermicro": {}})
    it.takes("PATCH")
    it.client().set_override("Cd", "Once")
    assert it.bodies[-1]["Boot"]["BootSourceOverrideTarget"] == "UsbCd"
