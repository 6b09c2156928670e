"""Reads from a live ISO which architecture it boots."""

import os
from pathlib import Path
from typing import IO

from base.errors import Fault
from boot_media.iso9660 import span_of_file
from cluster.values.architecture import Architecture

KERNEL = "IMAGES/PXEBOOT/VMLINUZ"
"""The kernel of every CoreOS live ISO, by its name in ISO 9660."""
_HEAD = 2048
_PE_OFFSET = 0x3C
# IMAGE_FILE_HEADER.Machine of the PE format: a kernel that UEFI can start is also a PE file.
_MACHINES = {0x8664: Architecture.AMD64, 0xAA64: Architecture.ARM64}


def architecture_of(iso: IO[bytes]) -> Architecture | None:
    """Return the architecture of a live ISO's kernel. None: it has no kernel, or one that does not name it."""
    if (span := span_of_file(iso, KERNEL)) is None:
        return None
    start = os.pread(iso.fileno(), _HEAD, span[0])
    pe = int.from_bytes(start[_PE_OFFSET : _PE_OFFSET + 4], "little")
    if start[:2] != b"MZ" or start[pe : pe + 4] != b"PE\0\0":
        return None
    return _MACHINES.get(int.from_bytes(start[pe + 4 : pe + 6], "little"))


def another_architecture(path: Path, actual: Architecture | None, wanted: Architecture) -> Fault | None:
    """Return the fault of a live ISO at `path` whose kernel is of another architecture than the servers."""
    if actual in (None, wanted):
        return None
    what = f"its kernel is of {actual}, and {wanted.option} is booted by servers of {wanted}"
    return Fault(str(path), what, f"have {wanted.option} name CoreOS' live ISO of {wanted}, with its sha256")
