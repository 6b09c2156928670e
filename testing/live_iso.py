"""Parts of a live ISO that coreos-installer 0.27 accepts as Fedora CoreOS, and the smallest such ISO.

coreos-installer finds three files by their ISO 9660 names, COREOS/{IGNINFO,KARGS,FEATURES}.JSO: the position of the
embed area for Ignition, that of kernel arguments, and the features of the live system. genisoimage writes these
names; xorriso writes them in lower case, which coreos-installer does not find.
"""

import json
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

_IGNITION_AREA_BYTES = 256 << 10  # as on Fedora CoreOS
_KARGS_AREA_BYTES = 1139  # as on Fedora CoreOS
_KARGS_PAD = "#"
_FEATURES = {"installer-config": True, "installer-config-directives": {"console": True}, "live-initrd-network": True}


def write_areas(tree: Path, menus: Mapping[str, str], kargs: str) -> None:
    """Write these three files, the embed area and the boot menus into the tree of an ISO.

    Args:
        tree: The ISO's files.
        menus: By its path below `tree`, the boot menu of each firmware, with @KARGS@ for the area of arguments.
        kargs: The kernel arguments.
    """
    area, areas = f"{kargs}\n".ljust(_KARGS_AREA_BYTES, _KARGS_PAD), []
    for path, text in menus.items():
        before, after = text.split("@KARGS@")
        areas.append({"path": path, "offset": len(before.encode()), "pad": _KARGS_PAD, "end": "\n"})
        _write(tree / path, (before + area + after).encode())
    _write(tree / "images" / "ignition.img", bytes(_IGNITION_AREA_BYTES))
    _write_json(tree / "coreos" / "igninfo.json", {"file": "images/ignition.img"})
    _write_json(tree / "coreos" / "kargs.json", {"default": kargs, "files": areas, "size": _KARGS_AREA_BYTES})
    _write_json(tree / "coreos" / "features.json", _FEATURES)


def kernel(machine: int) -> bytes:
    """Return the start of a kernel as UEFI reads it: a PE file for a machine of that number."""
    return b"MZ".ljust(0x3C, b"\0") + (0x40).to_bytes(4, "little") + b"PE\0\0" + machine.to_bytes(2, "little")


@cache
def live_iso(vmlinuz: bytes = b"", initrd: bytes = b"", rootfs: bytes = b"") -> bytes:
    """Return an ISO of 1 MiB with only these areas, and these files of a live system."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        for name, content in (("vmlinuz", vmlinuz), ("initrd.img", initrd), ("rootfs.img", rootfs)):
            if content:
                _write(tree / "images" / "pxeboot" / name, content)
        menus = {"isolinux/isolinux.cfg": "append @KARGS@\n", "EFI/test/grub.cfg": "linux @KARGS@\n"}
        write_areas(tree, menus, "coreos.liveiso=test")
        command = ["genisoimage", "-quiet", "-V", "okd-test-live", "-rational-rock", folder]
        return subprocess.run(command, check=True, capture_output=True).stdout.ljust(1 << 20, b"\0")


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _write_json(path: Path, content: dict[str, Any]) -> None:
    _write(path, json.dumps(content).encode())
