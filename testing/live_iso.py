"""A live ISO in the shape that coreos-installer 0.27 takes for one of Fedora CoreOS, and the smallest of its kind.

It looks up three files by their ISO 9660 names, COREOS/{IGNINFO,KARGS,FEATURES}.JSO: where the embed area for
Ignition is, where kernel arguments are, what the live system can do. genisoimage writes these names; xorriso writes
them in lower case, and the tool then finds nothing.
"""

import json
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

_IGNITION_AREA_BYTES = 256 << 10  # as on Fedora CoreOS
_KARGS_AREA_BYTES = 1139  # as on Fedora CoreOS
_KARGS_PAD = "#"
_FEATURES = {"installer-config": True, "installer-config-directives": {"console": True}, "live-initrd-network": True}


def write_areas(tree: Path, boot_menu: str, text: str, kargs: str) -> None:
    """Write what the tool looks up into the tree of an ISO, and the boot menu.

    Args:
        tree: The ISO's files.
        boot_menu: Where the boot menu is, in `tree`.
        text: The boot menu, with @KARGS@ for the area of kernel arguments.
        kargs: The kernel arguments.
    """
    before, after = text.split("@KARGS@")
    area = f"{kargs}\n".ljust(_KARGS_AREA_BYTES, _KARGS_PAD)
    place = {"path": boot_menu, "offset": len(before.encode()), "pad": _KARGS_PAD, "end": "\n"}
    _write(tree / boot_menu, (before + area + after).encode())
    _write(tree / "images" / "ignition.img", bytes(_IGNITION_AREA_BYTES))
    _write_json(tree / "coreos" / "igninfo.json", {"file": "images/ignition.img"})
    _write_json(tree / "coreos" / "kargs.json", {"default": kargs, "files": [place], "size": _KARGS_AREA_BYTES})
    _write_json(tree / "coreos" / "features.json", _FEATURES)


@cache
def live_iso() -> bytes:
    """An ISO of 1 MiB that has nothing but these areas."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        write_areas(tree, "isolinux/isolinux.cfg", "append @KARGS@\n", "coreos.liveiso=test")
        command = ["genisoimage", "-quiet", "-V", "okd-test-live", "-rational-rock", folder]
        return subprocess.run(command, check=True, capture_output=True).stdout.ljust(1 << 20, b"\0")


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _write_json(path: Path, content: dict[str, Any]) -> None:
    _write(path, json.dumps(content).encode())
