"""The disks of a twin's servers."""

from typing import Any

import pytest

from lab.disks import disks_of, emulated, wanted_of, with_stale

BY_PATH = "/dev/disk/by-path/pci-0000:00:0a.0-scsi-0:0:1:0"


@pytest.mark.parametrize("letter", ["a", "b", "d"])
def test_a_virtio_disk_has_the_wanted_name_beside_others(letter: str) -> None:
    disks = disks_of({"deviceName": f"/dev/vd{letter}"})
    assert [disk.wanted for disk in disks].index(True) == "abcd".index(letter)
    assert [disk.wanted for disk in disks].count(True) == 1
    virtio = [disk for disk in disks if disk.bus == "virtio"]
    assert [disk.target for disk in virtio] == list(range(len(disks) - 1))


def test_another_disk_is_stale_by_each_name_of_wipe_disks() -> None:
    hints = {"model": "MZ7", "vendor": "ATA"}
    disks = with_stale(disks_of(hints), ["S-OLD"])
    assert [(disk.serial, disk.wanted) for disk in disks if disk.stale] == [("S-OLD", False)]
    assert [disk for disk in disks if not disk.stale] == [
        disk for disk in disks_of(hints) if disk.wanted or disk.serial == "OTHER-2"
    ]
    assert with_stale(disks, ()) == disks


def test_each_server_has_a_scsi_disk_for_its_virtual_cd_drive() -> None:
    for hints in ({"deviceName": "/dev/vda"}, {"deviceName": "/dev/sda"}, {}):
        assert "scsi" in {disk.bus for disk in disks_of(hints)}


def test_the_only_disk_is_sda_since_the_names_of_several_are_chance() -> None:
    (disk,) = disks_of({"deviceName": "/dev/sda"})
    assert disk.wanted


def test_the_wanted_disk_has_what_the_hints_ask_for() -> None:
    disk = wanted_of(
        {
            "vendor": "ACME",
            "model": "Fast 9000",
            "serialNumber": "S-1",
            "wwn": "0x5000c500aabbccdd",
            "minSizeGigabytes": "40",
            "rotational": "true",
            "hctl": "0:0:3:2",
        }
    )
    values = (disk.vendor, disk.model, disk.serial, disk.wwn, disk.gib, disk.rotational, disk.target, disk.lun)
    assert values == ("ACME", "Fast 9000", "S-1", "5000c500aabbccdd", 40, True, 3, 2)


@pytest.mark.parametrize(
    "hints",
    [
        {"vendor": "ATA"},
        {"model": "MZ7", "rotational": "false"},
        {"vendor": "ATA", "model": "MZ7", "rotational": "true", "minSizeGigabytes": "9"},
        {"serialNumber": "S-1"},
        {"wwn": "5000c500aabbccdd", "vendor": "ATA"},
        {"hctl": "0:0:4:1"},
    ],
)
def test_each_other_disk_differs_in_only_one_hint(hints: dict[str, str]) -> None:
    right = wanted_of(hints)
    others = [disk for disk in disks_of(hints) if not disk.wanted]
    assert len(others) >= len(hints)
    for disk in others:
        differs = {
            "vendor": disk.vendor != right.vendor,
            "model": disk.model != right.model,
            "rotational": disk.rotational != right.rotational,
            "minSizeGigabytes": disk.gib < right.gib,
            "serialNumber": disk.serial != right.serial,
            "wwn": disk.wwn != right.wwn,
            "hctl": (disk.target, disk.lun) != (right.target, right.lun),
        }
        assert any(differs[name] for name in hints)
        assert sum(differs[name] for name in ("vendor", "model", "rotational", "minSizeGigabytes")) == 1


def test_without_hints_all_others_are_too_small() -> None:
    disks = disks_of({})
    assert sorted((disk.wanted, disk.gib) for disk in disks) == [(False, 2), (False, 2), (True, 4)]


@pytest.mark.parametrize(
    ("hints", "possible", "difference"),
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
        ({"deviceName": "/dev/sdb"}, {"deviceName": BY_PATH}, f"deviceName /dev/sdb: the twin has {BY_PATH}"),
        ({"hctl": "2:0:0:0"}, {"hctl": "0:0:1:0"}, "hctl 2:0:0:0: the twin has 0:0:1:0"),
        ({"wwn": "naa.5", "vendor": "ATA"}, {"vendor": "ATA"}, "wwn naa.5: not emulated"),
        ({"vendor": "A very long one"}, {"vendor": "A very l"}, "vendor A very long one: the twin has A very l"),
        ({"wwnVendorExtension": "0x1"}, {}, "wwnVendorExtension 0x1: not emulated"),
    ],
)
def test_a_hint_that_a_twin_cannot_have_is_replaced_and_reported(
    hints: dict[str, Any], possible: dict[str, Any], difference: str
) -> None:
    assert emulated(hints) == (possible, [difference])


def test_hints_that_a_twin_can_have_stay() -> None:
    hints = {"deviceName": BY_PATH, "minSizeGigabytes": 9, "rotational": False, "wwn": "0x5000c500aabbccdd"}
    assert emulated(hints) == (hints, [])
    as_text = {"deviceName": BY_PATH, "minSizeGigabytes": "9", "rotational": "false", "wwn": "0x5000c500aabbccdd"}
    assert wanted_of(as_text).label == "hctl: 0:0:1:0"
    assert wanted_of({"deviceName": "/dev/vdb"}).label == "deviceName: /dev/vdb,"
