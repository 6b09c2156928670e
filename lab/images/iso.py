"""Build the live ISO of the lab's machines, which boots by BIOS and UEFI, and installs the disk that it carries."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from lab.images.live import ESP, ISO_SECTOR, Live
from lab.images.parts import GUEST
from lab.shell import run
from testing.live_iso import write_areas

_ISOLINUX_FILES = (Path("/usr/lib/ISOLINUX/isolinux.bin"), Path("/usr/lib/syslinux/modules/bios/ldlinux.c32"))
_MENUS = {"isolinux/isolinux.cfg": "isolinux.cfg", "EFI/debian/grub.cfg": "grub.cfg"}
"""The boot menu of BIOS, and that of UEFI where Debian's signed GRUB reads it, by its path in the ISO."""
_CATALOG = "isolinux/boot.cat"
_BIOS_BOOT = ("-b", "isolinux/isolinux.bin", "-c", _CATALOG, "-boot-load-size", "4", "-boot-info-table")
_BOOT_OPTIONS = (*_BIOS_BOOT, "-no-emul-boot", "-eltorito-alt-boot", "-e", ESP, "-no-emul-boot")
_HEAD_BYTES = 64 * ISO_SECTOR  # directories and boot catalog are in it; the files follow


def build_iso(live: Live, work: Path) -> Path:
    """Write `work`/live.iso."""
    tree, iso = work / "iso", work / "live.iso"
    (tree / "images" / "pxeboot").mkdir(parents=True)
    for file, name in ((live.initrd, "initrd.img"), (live.rootfs, "rootfs.img")):
        os.link(file, tree / "images" / "pxeboot" / name)
    for name in live.shared:
        (tree / name).write_bytes(bytes(ISO_SECTOR))
    _write_boot_files(tree)
    run("genisoimage", "-quiet", "-V", "okd-lab-live", "-rational-rock", *_BOOT_OPTIONS, "-o", iso, tree)
    _share_with_rootfs(iso, live.shared)
    shutil.rmtree(tree)
    return iso


def _share_with_rootfs(iso: Path, ranges: Mapping[str, tuple[int, int]]) -> None:
    """Make files of the ISO, written as one sector of zeros, parts of its rootfs.img, so that it has them once.

    This works since ISO 9660 and its boot catalog (El Torito) record only a file's first sector and its size.
    """
    with iso.open("r+b") as file:
        head = bytearray(file.read(_HEAD_BYTES))
        rootfs = _first_sector(head, _extent(head, "images/pxeboot/rootfs.img"))
        for name, (offset, size) in ranges.items():
            extent = _extent(head, name)
            old, new = _first_sector(head, extent), rootfs + offset // ISO_SECTOR
            head[extent : extent + 16] = _both_endian(new) + _both_endian(size)
            if name == ESP:
                catalog = _first_sector(head, _extent(head, _CATALOG)) * ISO_SECTOR
                entry = head.index(_boot_entry(old, ISO_SECTOR), catalog)
                head[entry : entry + 6] = _boot_entry(new, size)
        file.seek(0)
        file.write(head)


def _extent(head: bytearray, name: str) -> int:
    """Return the offset of a file's first sector and size: in its directory record, 31 bytes before its name."""
    file = name.rpartition("/")[2].upper()
    return head.index(f"{file if '.' in file else file + '.'};1".encode()) - 31


def _first_sector(head: bytearray, extent: int) -> int:
    return int.from_bytes(head[extent : extent + 4], "little")


def _both_endian(value: int) -> bytes:
    return value.to_bytes(4, "little") + value.to_bytes(4, "big")


def _boot_entry(sector: int, size: int) -> bytes:
    """Return an image's entry in the boot catalog: size, in sectors of 512 bytes, and first sector."""
    return (size // 512).to_bytes(2, "little") + sector.to_bytes(4, "little")


def _write_boot_files(tree: Path) -> None:
    isolinux = tree / "isolinux"
    isolinux.mkdir()
    for file in _ISOLINUX_FILES:
        shutil.copy(file, isolinux)
    menus = {path: (GUEST / "iso" / name).read_text() for path, name in _MENUS.items()}
    write_areas(tree, menus, (GUEST / "iso" / "kargs.txt").read_text().strip())
