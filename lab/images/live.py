"""The live system as CoreOS has it: an initrd, and a rootfs.img that it takes from a CD or fetches.

rootfs.img is a cpio archive: first the root, which is mounted by its offset in the archive; last the osmet file of
the disk to install, whose large parts are the other members.
"""

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

from lab.images.cpio import Archive
from lab.images.disk import DiskParts, partition_ranges
from lab.images.osmet import write_osmet

ISO_SECTOR = 2048
VMLINUZ, ESP = "images/pxeboot/vmlinuz", "images/efiboot.img"
"""Paths of the members that are files of the ISO too, under the same path."""
_STAMP = b"okd-lab\n"


@dataclass(frozen=True)
class Live:
    """The files of a live system."""

    initrd: Path
    rootfs: Path
    shared: dict[str, tuple[int, int]]
    """Offset in `rootfs` and size of VMLINUZ and ESP; the offset is that of a sector."""


def build_live(parts: DiskParts, disk: Path, work: Path) -> Live:
    """Write `work`/rootfs.img and `work`/live-initrd.img, which install `disk`."""
    rootfs, osmet = work / "rootfs.img", work / "lab.osmet"
    with rootfs.open("wb") as file:
        archive = Archive(file)
        # At offset 124, where init mounts it, as in CoreOS.
        objects = {parts.squashfs: archive.add("root.squashfs", parts.squashfs.read_bytes())}
        members = {VMLINUZ: parts.kernel.image, ESP: parts.esp}
        for name, path in members.items():
            objects[path] = archive.add(name, path.read_bytes(), ISO_SECTOR)
        # The ISO has it twice (2.5 MB): its own initrd goes on with the digest of this archive.
        objects[parts.initrd] = archive.add("lab/initrd.img", parts.initrd.read_bytes())
        archive.add("etc/coreos-live-rootfs", _STAMP)
        write_osmet(disk, partition_ranges(disk, ("EFI-SYSTEM", "boot", "usr")), objects, osmet)
        archive.add("lab.osmet", osmet.read_bytes())
        archive.end()
    shared = {name: (objects[path], path.stat().st_size) for name, path in members.items()}
    return Live(_live_initrd(parts.initrd, rootfs, work / "live-initrd.img"), rootfs, shared)


def _live_initrd(initrd: Path, rootfs: Path, target: Path) -> Path:
    """Append the digest by which the initrd verifies the root that it fetches, as CoreOS has it."""
    with rootfs.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    shutil.copy(initrd, target)
    with target.open("ab") as file:
        archive = Archive(file)
        archive.add_folder("etc")
        # CoreOS lists digests of pieces there, to verify each one before it is unpacked.
        archive.add("etc/coreos-live-want-rootfs", f"{digest}\n".encode())
        archive.end()
    return target
