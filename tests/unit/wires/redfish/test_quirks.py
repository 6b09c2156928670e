"""Quirks: which row a BMC gets, and which requests that costs."""

import pytest

from testing.documents import table
from wires.redfish.quirks import GENERIC, TABLE, Quirks, quirks_of


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
        ("GIGABYTE", "", "AMI MegaRAC"),
        ("ASRockRack", "", "AMI MegaRAC"),
        ("Contoso", "", "generic"),
        ("", "", "generic"),
    ],
)
def test_a_bmc_gets_the_row_of_its_vendor(manufacturer: str, bmc: str, vendor: str) -> None:
    assert quirks_of(manufacturer, lambda: bmc).vendor == vendor


def test_the_manager_is_read_only_if_the_row_depends_on_it() -> None:
    def never() -> str:
        raise AssertionError

    assert quirks_of("Supermicro", never).vendor == "Supermicro"


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
