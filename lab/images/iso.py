"""Build the live ISO of the lab's machines, which boots, and installs the disk image that it carries."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from lab.images.disk import DiskParts
from lab.images.parts import GUEST
from lab.shell import run
from testing.live_iso import write_areas

_ISOLINUX_FILES = (Path("/usr/lib/ISOLINUX/isolinux.bin"), Path("/usr/lib/syslinux/modules/bios/ldlinux.c32"))
_BOOT_OPTIONS = ["-no-emul-boot", "-boot-load-size", "4", "-boot-info-table"]


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
    os.link(osmet.file, tree / "images" / "lab.osmet")
    names = {parts.kernel.image: "vmlinuz", parts.initrd: "initrd.img", parts.rootfs: "rootfs.img"}
    listed = "".join(f"{path} {names[file]}\n" for path, file in osmet.objects.items())
    (tree / "images" / "objects").write_text(listed)
    _write_boot_files(tree)
    boot = ("-b", "isolinux/isolinux.bin", "-c", "isolinux/boot.cat", *_BOOT_OPTIONS)
    run("genisoimage", "-quiet", "-V", "okd-lab-live", "-rational-rock", *boot, "-o", iso, tree)
    shutil.rmtree(tree)
    return iso


def _write_boot_files(tree: Path) -> None:
    isolinux = tree / "isolinux"
    isolinux.mkdir()
    for file in _ISOLINUX_FILES:
        shutil.copy(file, isolinux)
    menu, kargs = GUEST / "iso" / "isolinux.cfg", GUEST / "iso" / "kargs.txt"
    write_areas(tree, "isolinux/isolinux.cfg", menu.read_text(), kargs.read_text().strip())
