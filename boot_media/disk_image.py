"""What the first bytes of a disk image say of it: its format, its virtual size, and what else it needs.

The header of a qcow2 is that of QEMU's docs/interop/qcow2.txt.
"""

import struct
from dataclasses import dataclass
from typing import BinaryIO

QCOW2, RAW = "qcow2", "raw"
FORMATS = {
    b"QFI\xfb": QCOW2,
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"PK\3\4": "zip",
    b"KDMV": "vmdk",
    b"vhdxfile": "vhdx",
}
"""Formats by the bytes that such a file begins with; any other file counts as raw."""
HEADER = struct.Struct(">4sIQIIQI")  # magic, version, backing file: offset and length, cluster bits, size, encryption
FEATURES, DATA_FILE = 72, 1 << 2  # of version 3: the offset of the incompatible features, and one of them


@dataclass(frozen=True)
class DiskImage:
    """A disk image; sizes in bytes."""

    format: str
    size: int
    """Size of the file."""
    virtual_size: int
    """Size that a guest sees; 0 if the format is not qcow2."""
    needs: str = ""
    """What a guest needs beside the file: another file, or a key. Empty: nothing."""


def disk_image_of(file: BinaryIO, size: int) -> DiskImage:
    """Read what an image is from its first bytes.

    Args:
        file: The image, at its start.
        size: The size of the file in bytes.
    """
    start = file.read(FEATURES + 8)
    kind = next((name for magic, name in FORMATS.items() if start.startswith(magic)), RAW)
    if kind != QCOW2:
        return DiskImage(kind, size, 0)
    # A file that ends within its header reads as one of size 0.
    _, version, backing, _, _, virtual_size, encryption = HEADER.unpack_from(start.ljust(FEATURES + 8, b"\0"))
    return DiskImage(QCOW2, size, virtual_size, _needs(start, version, backing, encryption))


def _needs(start: bytes, version: int, backing: int, encryption: int) -> str:
    features = int.from_bytes(start[FEATURES:], "big") if version >= 3 else 0  # noqa: PLR2004
    if backing:
        return "the file that it is an overlay of"
    if features & DATA_FILE:
        return "the file that has its data"
    return "a key, since it is encrypted" if encryption else ""
