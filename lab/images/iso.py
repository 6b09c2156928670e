"""Build the live ISO, in a form that coreos-installer 0.27 accepts as Fedora CoreOS.

coreos-installer finds three files by their ISO 9660 names, COREOS/{IGNINFO,KARGS,FEATURES}.JSO: the place of the
embed area for Ignition, the place of kernel arguments, and the features of the live system. genisoimage writes these
names; xorriso writes them in lower case, which coreos-installer does not find.
"""

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from lab.images.disk import DiskParts
from lab.images.parts import GUEST
from lab.shell import run

_IGNITION_AREA_BYTES = 256 << 10  # as on Fedora CoreOS
_KARGS_AREA_BYTES = 1139  # as on Fedora CoreOS
_KARGS_PAD = "#"
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
    (tree / "images" / "ignition.img").write_bytes(bytes(_IGNITION_AREA_BYTES))
    _write_boot_files(tree)
    boot = ("-b", "isolinux/isolinux.bin", "-c", "isolinux/boot.cat", *_BOOT_OPTIONS)
    run("genisoimage", "-quiet", "-V", "okd-lab-live", "-rational-rock", *boot, "-o", iso, tree)
    shutil.rmtree(tree)
    return iso


def _write_boot_files(tree: Path) -> None:
    shutil.copytree(GUEST / "iso" / "coreos", tree / "coreos")
    isolinux = tree / "isolinux"
    isolinux.mkdir()
    for file in _ISOLINUX_FILES:
        shutil.copy(file, isolinux)
    kargs = (GUEST / "iso" / "kargs.txt").read_text().strip()
    before, after = (GUEST / "iso" / "isolinux" / "isolinux.cfg").read_text().split("@KARGS@")
    area = f"{kargs}\n".ljust(_KARGS_AREA_BYTES, _KARGS_PAD)
    (isolinux / "isolinux.cfg").write_text(before + area + after)
    place = {"path": "isolinux/isolinux.cfg", "offset": len(before.encode()), "pad": _KARGS_PAD, "end": "\n"}
    description = {"default": kargs, "files": [place], "size": _KARGS_AREA_BYTES}
    (tree / "coreos" / "kargs.json").write_text(json.dumps(description))
    (tree / "coreos" / "igninfo.json").write_text(json.dumps({"file": "images/ignition.img"}))
