"""Reads from a live ISO which architecture it boots."""

import os
from pathlib import Path, PurePosixPath
from typing import IO

from cluster.values.architecture import Architecture
from providers.base.errors import Fault

_KERNEL = PurePosixPath("IMAGES/PXEBOOT/VMLINUZ")  # of every CoreOS live ISO, by its ISO 9660 name
_SECTOR = 2048
_VOLUME, _ROOT = 16 * _SECTOR, 156  # the primary volume descriptor, and the record of the root directory in it
_PE_OFFSET = 0x3C
# IMAGE_FILE_HEADER.Machine of the PE format: a kernel that UEFI can start is also a PE file.
_MACHINES = {0x8664: Architecture.AMD64, 0xAA64: Architecture.ARM64}


def architecture_of(iso: IO[bytes]) -> Architecture | None:
    """Return the architecture of a live ISO's kernel. None: it has no kernel, or one that does not name it."""
    at, size = _extent(os.pread(iso.fileno(), _SECTOR, _VOLUME)[_ROOT:])
    for name in _KERNEL.parts:
        extents = _entries(os.pread(iso.fileno(), size, at))
        if name not in extents:
            return None
        at, size = extents[name]
    start = os.pread(iso.fileno(), _SECTOR, at)
    pe = int.from_bytes(start[_PE_OFFSET : _PE_OFFSET + 4], "little")
    if start[:2] != b"MZ" or start[pe : pe + 4] != b"PE\0\0":
        return None
    return _MACHINES.get(int.from_bytes(start[pe + 4 : pe + 6], "little"))


def another_architecture(path: Path, seen: Architecture | None, wanted: Architecture) -> Fault | None:
    """Return the fault of a live ISO at `path` whose kernel is of another architecture than the servers."""
    if seen in (None, wanted):
        return None
    what = f"its kernel is of {seen}, and {wanted.option} is booted by servers of {wanted}"
    return Fault(str(path), what, f"name CoreOS' live ISO of {wanted} there")


def _entries(directory: bytes) -> dict[str, tuple[int, int]]:
    """Return offset and size of what is in a directory, by name in upper case, without version."""
    found, at = {}, 0
    while at < len(directory):
        length = directory[at]
        if not length:  # no record crosses the end of a sector
            at += _SECTOR - at % _SECTOR
            continue
        record = directory[at : at + length]
        name = record[33 : 33 + record[32]].decode("ascii", "replace")
        found[name.partition(";")[0].rstrip(".").upper()] = _extent(record)
        at += length
    return found


def _extent(record: bytes) -> tuple[int, int]:
    return int.from_bytes(record[2:6], "little") * _SECTOR, int.from_bytes(record[10:14], "little")
