"""Build the live ISO of the lab's machines, which boots by BIOS and UEFI, and installs the disk that it carries."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from lab.images.disk import DiskParts
from lab.images.parts import GUEST
from lab.shell import run
from testing.live_iso import write_areas

_ISOLINUX_FILES = (Path("/usr/lib/ISOLINUX/isolinux.bin"), Path("/usr/lib/syslinux/modules/bios/ldlinux.c32"))
_MENUS = {"isolinux/isolinux.cfg": "isolinux.cfg", "EFI/debian/grub.cfg": "grub.cfg"}
"""The boot menu of BIOS, and that of UEFI where Debian's signed GRUB looks for it, by its place in the ISO."""
_ESP = "images/efiboot.img"
_BIOS_BOOT = ("-b", "isolinux/isolinux.bin", "-c", "isolinux/boot.cat", "-boot-load-size", "4", "-boot-info-table")
_BOOT_OPTIONS = (*_BIOS_BOOT, "-no-emul-boot", "-eltorito-alt-boot", "-e", _ESP, "-no-emul-boot")


@dataclass(frozen=True)
class Osmet:
    """The disk image that the ISO installs."""

    file: Path
    objects: dict[str, Path]
    """Files of the ISO to which it refers, by the object path at which coreos-installer expects them."""


def build_iso(parts: DiskParts, osmet: Osmet, work: Path) -> Path:
    """Write `work`/live.iso."""
    tree, iso = work / "iso", work / "live.iso"
    pxeboot = tree / "images" / "pxeboot"
    pxeboot.mkdir(parents=True)
    shutil.copy(parts.kernel.image, pxeboot / "vmlinuz")
    for file, name in ((parts.initrd, "initrd.img"), (parts.rootfs, "rootfs.img")):
        os.link(file, pxeboot / name)
    os.link(parts.esp, tree / _ESP)
    os.link(osmet.file, tree / "images" / "lab.osmet")
    names = {parts.kernel.image: "vmlinuz", parts.initrd: "initrd.img", parts.rootfs: "rootfs.img"}
    places = {file: f"images/pxeboot/{name}" for file, name in names.items()} | {parts.esp: _ESP}
    listed = "".join(f"{path} {places[file]}\n" for path, file in osmet.objects.items())
    (tree / "images" / "objects").write_text(listed)
    _write_boot_files(tree)
    run("genisoimage", "-quiet", "-V", "okd-lab-live", "-rational-rock", *_BOOT_OPTIONS, "-o", iso, tree)
    shutil.rmtree(tree)
    return iso


def _write_boot_files(tree: Path) -> None:
    isolinux = tree / "isolinux"
    isolinux.mkdir()
    for file in _ISOLINUX_FILES:
        shutil.copy(file, isolinux)
    menus = {place: (GUEST / "iso" / name).read_text() for place, name in _MENUS.items()}
    write_areas(tree, menus, (GUEST / "iso" / "kargs.txt").read_text().strip())
