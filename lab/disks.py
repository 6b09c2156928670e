"""The disks of a twin's server: the one that its `rootDeviceHints` choose, and others.

QEMU's SCSI disks have a vendor, a model, a serial number, a WWN, a rotation rate and a SCSI address, as real ones
do. Which of them becomes /dev/sda is chance, as with real ones: Linux probes them at the same time.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_lowercase
from typing import Any, Literal

from cluster.values.disk_hints import Hints

SCSI_SLOT = 0x0A
"""PCI slot of the SCSI controller, which is the first that the guest finds: H and C of its disks' HCTL are 0."""
_FIRST_BY_PATH = f"/dev/disk/by-path/pci-0000:00:{SCSI_SLOT:02x}.0-scsi-0:0:1:0"
_FORMS: dict[str, tuple[str, str | None]] = {
    "deviceName": ("/dev/(vd[a-f]|sda)", "/dev/sda"),
    "hctl": ("0:0:[1-5]:[0-7]", "0:0:1:0"),
    "wwn": ("(0x)?[0-9a-f]{16}", None),
}
"""By hint: a pattern of the values that QEMU's disks can have, and the value in place of any other."""
_GIB = 4
"""Size of a disk: without hints, the program requires at least this."""
_SMALLER_GIB = 2
_LONGEST = {"vendor": 8, "model": 16}
"""The most characters of these two in SCSI's INQUIRY."""
_SHARED = ("vendor", "model", "rotational", "minSizeGigabytes")
"""The hints that several disks of a server may fit; each other names one disk."""
_NOT_EMULATED = ("wwnWithExtension", "wwnVendorExtension")


@dataclass(frozen=True)
class Disk:
    """One disk. Its name in the guest follows from its bus and target, not from the domain's XML."""

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
    stale: bool = False
    """Whether an earlier installation has left a CoreOS on it."""

    @property
    def label(self) -> str:
        """Words that identify only this disk in the list of a server's disks."""
        if self.bus == "virtio":
            return f"deviceName: /dev/vd{ascii_lowercase[self.target]},"
        return f"hctl: 0:0:{self.target}:{self.lun}"


_BESIDE_VIRTIO = Disk(
    wanted=False, bus="scsi", target=0, vendor="LAB", model="NOT-WANTED", serial="OTHER-0", wwn="5000c50000000000"
)
"""Makes the virtual CD drive one of SCSI (sushy-tools 2.2.0), since the guest cannot read one of SATA."""


def emulated(hints: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the hints that a twin's server can have in place of a file's, and a sentence for each difference."""
    possible, differences = dict(hints), []
    for name, real in hints.items():
        value = _emulated(name, real)
        if value != real:
            differences.append(f"{name} {real}: {'not emulated' if value is None else f'the twin has {value}'}")
            possible.pop(name)
            possible |= {name: value} if value is not None else {}
    return possible, differences


def _emulated(name: str, real: Any) -> Any:
    """Return the value of a hint that a twin's disk can have in place of the real one. None: it can have none."""
    if name in _NOT_EMULATED:
        return None
    if name in _LONGEST:
        return real[: _LONGEST[name]].strip()
    pattern, instead = _FORMS.get(name, (".*", None))
    if name == "deviceName" and re.match("/dev/(disk/by-path/|sd[b-z])", real):
        pattern, instead = re.escape(_FIRST_BY_PATH), _FIRST_BY_PATH
    return real if re.fullmatch(pattern, str(real), re.I) else instead


def with_stale(disks: Sequence[Disk], names: Sequence[str]) -> tuple[Disk, ...]:
    """Return the disks, of which others than the wanted one are stale, with these names in place of their serials."""
    free = iter(names)
    others = [disk for disk in disks if not disk.wanted and disk.bus == "scsi"]
    stale = {disk.target: replace(disk, serial=name, stale=True) for disk, name in zip(others, free, strict=False)}
    return tuple(disk if disk.bus == "virtio" else stale.get(disk.target, disk) for disk in disks)


def disks_of(hints: Hints) -> tuple[Disk, ...]:
    """Return the disks of a server with these hints, which `emulated` has returned, in the order of their targets."""
    device = hints.get("deviceName", "")
    if letter := re.fullmatch("/dev/vd([a-f])", device):
        wanted_target = ascii_lowercase.index(letter[1])
        disks = (Disk(target == wanted_target, "virtio", target) for target in range(wanted_target + 1))
        return (*disks, _BESIDE_VIRTIO)
    target, lun = _scsi_address(hints, device)
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
    differing = _distinguishing(hints)
    targets = [free for free in range(max(target + 1, len(hints)) + 1) if free != target] if differing else []
    others = [_other(wanted, differing[number % len(differing)], free) for number, free in enumerate(targets)]
    return tuple(sorted([wanted, *others], key=lambda disk: disk.target))


def _distinguishing(hints: Hints) -> Sequence[str]:
    """Return the hints in which other disks can differ; none if another disk could be chosen all the same."""
    if hints.get("deviceName") == "/dev/sda":
        return ()
    if not hints:
        return ("minSizeGigabytes",)  # without hints, the program takes no small disk
    shared = [hint for hint in _SHARED if hint in hints]
    return shared if hints.keys() == {*shared} else _SHARED


def wanted_of(hints: Hints) -> Disk:
    """Return the disk that the hints choose."""
    return next(disk for disk in disks_of(hints) if disk.wanted)


def _scsi_address(hints: Hints, device: str) -> tuple[int, int]:
    """Return target and LUN of the wanted disk."""
    if hctl := hints.get("hctl"):
        _, _, target, lun = map(int, hctl.split(":"))
        return target, lun
    if by_path := re.search(r"(\d+):(\d+)$", device):
        return int(by_path[1]), int(by_path[2])
    return 1, 0


def _other(wanted: Disk, hint: str, target: int) -> Disk:
    """Return a disk that differs from the wanted one in one hint, and in serial number, WWN and target."""
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
