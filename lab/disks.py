"""The disks of a twin's server: the one that its `rootDeviceHints` choose, among others that they do not.

QEMU's SCSI disks have a vendor, a model, a serial number, a WWN, a rotation rate and a place, as real ones do. Which
of them becomes /dev/sda is chance, as with real ones: Linux probes them at the same time.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_lowercase
from typing import Any, Literal

from boot_media.disk import Hints

SCSI_SLOT = 0x0A
"""PCI slot of the SCSI controller, which is the first that the guest finds: H and C of its disks' HCTL are 0."""
_FIRST_BY_PATH = f"/dev/disk/by-path/pci-0000:00:{SCSI_SLOT:02x}.0-scsi-0:0:1:0"
_FORMS: dict[str, tuple[str, str | None]] = {
    "deviceName": ("/dev/(vd[a-f]|sda)", "/dev/sda"),
    "hctl": ("0:0:[1-5]:[0-7]", "0:0:1:0"),
    "wwn": ("(0x)?[0-9a-f]{16}", None),
}
"""By hint: the form that QEMU's disks can have, and what a disk has instead of any other."""
_GIB = 4
"""Size of a disk: without hints, the program takes none that is smaller."""
_SMALLER_GIB = 2
_LONGEST = {"vendor": 8, "model": 16}
"""Characters of these two in SCSI's INQUIRY."""
_SHARED = ("vendor", "model", "rotational", "minSizeGigabytes")
"""The hints that several disks of a server may fit; each other names one disk."""
_NOT_EMULATED = ("wwnWithExtension", "wwnVendorExtension")


@dataclass(frozen=True)
class Disk:
    """One disk. Its name in the guest follows from its place, not from the domain's XML."""

    wanted: bool
    """Whether the hints choose it."""
    bus: Literal["scsi", "virtio"]
    target: int
    lun: int = 0
    gib: int = _GIB
    vendor: str = ""
    model: str = ""
    serial: str = ""
    wwn: str = ""
    rotational: bool = False

    @property
    def sign(self) -> str:
        """How the server's disk report describes this disk."""
        if self.bus == "virtio":
            return f"deviceName: /dev/vd{ascii_lowercase[self.target]},"
        return f"hctl: 0:0:{self.target}:{self.lun}"


_BESIDE_VIRTIO = Disk(
    wanted=False, bus="scsi", target=0, vendor="LAB", model="NOT-WANTED", serial="OTHER-0", wwn="5000c50000000000"
)
"""The virtual CD drive is one of SCSI if a disk is (sushy-tools 2.2.0), else of SATA, which the guest cannot read."""


def emulated(hints: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the hints that a twin's server can have in place of a file's, and what differs, a sentence each."""
    found, differences = dict(hints), []
    for name, given in hints.items():
        value = _emulated(name, given)
        if value != given:
            differences.append(f"{name} {given}: {'not emulated' if value is None else f'the twin has {value}'}")
            found.pop(name)
            found |= {name: value} if value is not None else {}
    return found, differences


def _emulated(name: str, given: Any) -> Any:
    """Return the value of a hint that a twin's disk can have in place of this one; None: it can have none."""
    if name in _NOT_EMULATED:
        return None
    if name in _LONGEST:
        return given[: _LONGEST[name]].strip()
    fits, instead = _FORMS.get(name, (".*", None))
    if name == "deviceName" and re.match("/dev/(disk/by-path/|sd[b-z])", given):
        fits, instead = re.escape(_FIRST_BY_PATH), _FIRST_BY_PATH
    return given if re.fullmatch(fits, str(given), re.I) else instead


def disks_of(hints: Hints) -> tuple[Disk, ...]:
    """Return the disks of a server with these hints, which `emulated` has returned, in the order of their places."""
    device = hints.get("deviceName", "")
    if letter := re.fullmatch("/dev/vd([a-f])", device):
        place = ascii_lowercase.index(letter[1])
        return (*(Disk(number == place, "virtio", number) for number in range(place + 1)), _BESIDE_VIRTIO)
    target, lun = _place(hints, device)
    wanted = Disk(
        wanted=True,
        bus="scsi",
        target=target,
        lun=lun,
        gib=max(_GIB, int(hints.get("minSizeGigabytes", 0))),
        vendor=hints.get("vendor", "LAB"),
        model=hints.get("model", "WANTED"),
        serial=hints.get("serialNumber", "WANTED"),
        wwn=hints.get("wwn", "5000c500000000ff").removeprefix("0x"),
        rotational=hints.get("rotational") == "true",
    )
    by = _distinguishing(hints)
    places = [each for each in range(max(target + 1, len(hints)) + 1) if each != target] if by else []
    others = [_other(wanted, by[number % len(by)], each) for number, each in enumerate(places)]
    return tuple(sorted([wanted, *others], key=lambda disk: disk.target))


def _distinguishing(hints: Hints) -> Sequence[str]:
    """Return the hints by which another disk is the wrong one; none if no other disk would surely be."""
    if hints.get("deviceName") == "/dev/sda":
        return ()
    if not hints:
        return ("minSizeGigabytes",)  # the program takes no small one
    shared = [each for each in _SHARED if each in hints]
    return shared if hints.keys() == {*shared} else _SHARED


def wanted_of(hints: Hints) -> Disk:
    """Return the disk that the hints choose."""
    return next(disk for disk in disks_of(hints) if disk.wanted)


def _place(hints: Hints, device: str) -> tuple[int, int]:
    """Return target and LUN of the wanted disk."""
    if hctl := hints.get("hctl"):
        _, _, target, lun = map(int, hctl.split(":"))
        return target, lun
    if by_path := re.search(r"(\d+):(\d+)$", device):
        return int(by_path[1]), int(by_path[2])
    return 1, 0


def _other(wanted: Disk, hint: str, target: int) -> Disk:
    """Return a disk that differs from the wanted one in what one hint is about, and in its number, name and place."""
    same = replace(
        wanted, wanted=False, target=target, lun=0, serial=f"OTHER-{target}", wwn=f"5000c5000000000{target}"
    )
    match hint:
        case "vendor":
            return replace(same, vendor="OTHER")
        case "model":
            return replace(same, model="NOT-WANTED")
        case "rotational":
            return replace(same, rotational=not wanted.rotational)
    return replace(same, gib=min(wanted.gib - 1, _SMALLER_GIB))
