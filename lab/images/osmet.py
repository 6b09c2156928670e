"""Write an osmet file: a recipe of a disk image that takes large parts from files in the live ISO.

The format is internal to coreos-installer (0.27, `src/osmet/file.rs`): header and partition list in bincode with
variable-length integers, then the rest of the disk as one xz stream.
"""

import hashlib
import lzma
from dataclasses import dataclass
from pathlib import Path

_MAGIC = b"OSMET\0\0\0"
_VERSION = 1
_SECTOR_SIZE = 512
# bincode's "varint": a value below 251 is one byte; a larger one is a marker and a little-endian integer.
_VARINT_WIDTHS = ((1 << 16, b"\xfb", 2), (1 << 32, b"\xfc", 4), (1 << 64, b"\xfd", 8))


@dataclass(frozen=True)
class _Mapping:
    """A range of a partition whose content equals a whole file."""

    offset: int
    size: int
    digest: bytes


def object_path(digest: bytes) -> str:
    """Return the path below ostree's `objects` at which coreos-installer expects the file with this SHA-256."""
    name = digest.hex()
    return f"{name[:2]}/{name[2:]}.file"


def write_osmet(disk: Path, ranges: list[tuple[int, int]], objects: list[Path], target: Path) -> dict[str, Path]:
    """Describe `disk` in `target`; return the objects to which the description refers, by their object path.

    Args:
        disk: A raw disk image.
        ranges: First byte, and byte after the last, of each partition to search for objects, in order.
        objects: Candidate files; used if a partition contains their content in one piece.
        target: The osmet file.
    """
    image = disk.read_bytes()
    found: dict[str, Path] = {}
    mappings: list[list[_Mapping]] = [[] for _ in ranges]
    for path in objects:
        content = path.read_bytes()
        digest = hashlib.sha256(content).digest()
        for (start, end), inside in zip(ranges, mappings, strict=True):
            if (at := image.find(content, start, end)) >= 0:
                inside.append(_Mapping(at - start, len(content), digest))
                found[object_path(digest)] = path
                break
    for inside in mappings:
        inside.sort(key=lambda mapping: mapping.offset)
    target.write_bytes(_header() + _recipe(image, ranges, mappings) + _remainder(image, ranges, mappings))
    return found


def _header() -> bytes:
    texts = [_text("okd-lab"), _varint(_SECTOR_SIZE), _text("okd-baremetal lab guest"), _text("x86_64")]
    return _MAGIC + _varint(_VERSION) + b"".join(texts)


def _recipe(image: bytes, ranges: list[tuple[int, int]], mappings: list[list[_Mapping]]) -> bytes:
    recipe = _varint(len(ranges))
    for (start, end), inside in zip(ranges, mappings, strict=True):
        recipe += _varint(start) + _varint(end) + _varint(len(inside))
        for mapping in inside:
            # The first 0 is the offset inside the object: each mapping covers a whole object.
            recipe += _varint(0) + _varint(mapping.offset) + _varint(mapping.size) + mapping.digest
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
