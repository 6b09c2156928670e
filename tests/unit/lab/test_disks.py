"""The disks of a twin's servers."""

from typing import Any

import pytest

from lab.disks import Disk, disks_of, emulated

BY_PATH = "/dev/disk/by-path/pci-0000:00:0a.0-scsi-0:0:1:0"


def wanted(hints: dict[str, Any]) -> Disk:
    (found,) = (disk for disk in disks_of(hints) if disk.wanted)
    return found


@pytest.mark.parametrize("letter", ["a", "b", "d"])
@pytest.mark.parametrize(("bus", "name"), [("scsi", "sd"), ("virtio", "vd")])
def test_a_disk_has_the_wanted_name_by_its_place_and_is_not_alone(bus: str, name: str, letter: str) -> None:
    disks = disks_of({"deviceName": f"/dev/{name}{letter}"})
    assert [disk.wanted for disk in disks].index(True) == "abcd".index(letter)
    assert [disk.wanted for disk in disks].count(True) == 1
    assert len(disks) > 1
    assert {disk.bus for disk in disks} == {bus}
    assert [disk.target for disk in disks] == list(range(len(disks)))


def test_each_property_is_that_of_the_hints_and_of_no_other_disk() -> None:
    hints = {
        "vendor": "ACME",
        "model": "Fast 9000",
        "serialNumber": "S-1",
        "wwn": "0x5000c500aabbccdd",
        "minSizeGigabytes": 40,
        "rotational": True,
        "hctl": "0:0:3:2",
    }
    first, *rest = sorted(disks_of(hints), key=lambda disk: not disk.wanted)
    seen = (first.vendor, first.model, first.serial, first.wwn, first.gib, first.rotational, first.target, first.lun)
    assert seen == ("ACME", "Fast 9000", "S-1", "5000c500aabbccdd", 40, True, 3, 2)
    for other in rest:
        assert other.gib < 40
        assert not other.rotational
        pairs = [(first.vendor, other.vendor), (first.model, other.model), (first.serial, other.serial)]
        assert all(one not in another for one, another in pairs)
        assert other.wwn != first.wwn
        assert other.target != first.target


def test_without_hints_the_first_disk_is_the_one_that_is_large_enough() -> None:
    disks = disks_of({})
    assert [(disk.wanted, disk.gib) for disk in disks] == [(True, 4), (False, 2), (False, 2)]


@pytest.mark.parametrize(
    ("hints", "seen", "difference"),
    [
        (
            {"deviceName": "/dev/nvme0n1"},
            {"deviceName": "/dev/sda"},
            "deviceName /dev/nvme0n1: the twin has /dev/sda",
        ),
        (
            {"deviceName": "/dev/disk/by-path/pci-0000:18:00.0-scsi-0:2:0:0"},
            {"deviceName": BY_PATH},
            f"deviceName /dev/disk/by-path/pci-0000:18:00.0-scsi-0:2:0:0: the twin has {BY_PATH}",
        ),
        ({"hctl": "2:0:0:0"}, {"hctl": "0:0:1:0"}, "hctl 2:0:0:0: the twin has 0:0:1:0"),
        ({"wwn": "naa.5", "vendor": "ATA"}, {"vendor": "ATA"}, "wwn naa.5: not emulated"),
        ({"vendor": "A very long one"}, {"vendor": "A very l"}, "vendor A very long one: the twin has A very l"),
        ({"wwnVendorExtension": "0x1"}, {}, "wwnVendorExtension 0x1: not emulated"),
    ],
)
def test_what_a_twin_cannot_have_is_replaced_and_said(
    hints: dict[str, Any], seen: dict[str, Any], difference: str
) -> None:
    assert emulated(hints) == (seen, [difference])


def test_hints_that_a_twin_can_have_stay() -> None:
    hints = {"deviceName": BY_PATH, "minSizeGigabytes": 9, "rotational": False, "wwn": "0x5000c500aabbccdd"}
    assert emulated(hints) == (hints, [])
    assert (wanted(hints).target, wanted(hints).lun) == (1, 0)
