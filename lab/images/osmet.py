"""Write an osmet file: a recipe of a disk image that takes large parts from the live system's rootfs.img.

The format is internal to coreos-installer (0.27, `src/osmet/file.rs`): header and partition list in bincode with
variable-length integers, then the rest of the disk as one xz stream.
"""

import hashlib
import lzma
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_MAGIC = b"OSMET\0\0\0"
_VERSION = 1
_SECTOR_SIZE = 512
# The SHA-256 by which a mapping names its object; rootfs.img, the only one, cannot contain its own digest.
_ROOTFS = bytes(32)
# bincode's "varint": a value below 251 is one byte; a larger one is a marker and a little-endian integer.
_VARINT_WIDTHS = ((1 << 16, b"\xfb", 2), (1 << 32, b"\xfc", 4), (1 << 64, b"\xfd", 8))


@dataclass(frozen=True)
class _Mapping:
    """A range of a partition whose content is in rootfs.img too."""

    offset: int
    size: int
    rootfs_offset: int
    """The offset of that content in rootfs.img."""


def write_osmet(disk: Path, ranges: list[tuple[int, int]], objects: Mapping[Path, int], target: Path) -> None:
    """Describe `disk` in `target`.

    Args:
        disk: A raw disk image.
        ranges: First byte, and byte after the last, of each partition to search for objects, in order.
        objects: Files, with their offset in rootfs.img; used if a partition contains their content in one piece.
        target: The osmet file.
    """
    image = disk.read_bytes()
    mappings: list[list[_Mapping]] = [[] for _ in ranges]
    for path, rootfs_offset in objects.items():
        content = path.read_bytes()
        for (start, end), inside in zip(ranges, mappings, strict=True):
            if (at := image.find(content, start, end)) >= 0:
                inside.append(_Mapping(at - start, len(content), rootfs_offset))
                break
    for inside in mappings:
        inside.sort(key=lambda mapping: mapping.offset)
    target.write_bytes(_header() + _recipe(image, ranges, mappings) + _remainder(image, ranges, mappings))


def _header() -> bytes:
    texts = [_text("okd-lab"), _varint(_SECTOR_SIZE), _text("okd-baremetal lab guest"), _text("x86_64")]
    return _MAGIC + _varint(_VERSION) + b"".join(texts)


def _recipe(image: bytes, ranges: list[tuple[int, int]], mappings: list[list[_Mapping]]) -> bytes:
    recipe = _varint(len(ranges))
    for (start, end), inside in zip(ranges, mappings, strict=True):
        recipe += _varint(start) + _varint(end) + _varint(len(inside))
        for mapping in inside:
            recipe += _varint(mapping.rootfs_offset) + _varint(mapping.offset) + _varint(mapping.size) + _ROOTFS
    return recipe + hashlib.sha256(image).digest() + _varint(len(image))


def _remainder(image: bytes, ranges: list[tuple[int, int]], mappings: list[list[_Mapping]]) -> bytes:
    packer, packed, cursor = lzma.LZMACompressor(preset=6), b"", 0
    for (start, _), inside in zip(ranges, mappings, strict=True):
        for mapping in inside:
            packed += packer.compress(image[cursor : start + mapping.offset])
            cursor = start + mapping.offset + mapping.size
    return packed + packer.compress(image[cursor:]) + packer.flush()


def _varint(value: int) -> bytes:
    if value < 251:  # noqa: PLR2004  # see _VARINT_WIDTHS
        return bytes([value])
    marker, width = next((marker, width) for limit, marker, width in _VARINT_WIDTHS if value < limit)
    return marker + value.to_bytes(width, "little")


def _text(text: str) -> bytes:
    return _varint(len(text.encode())) + text.encode()
