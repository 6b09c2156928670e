"""Finds files inside an ISO, each of which is one piece of it (ECMA-119)."""

import os
from pathlib import PurePosixPath
from typing import IO

Span = tuple[int, int]
"""First byte, and one past the last."""

_SECTOR = 2048
_MOST = 1024**2
"""Bytes of a directory that are read. Those of a live ISO have one sector or two."""
_NAME = 33
"""Where the name begins in a record, which is never shorter."""
_VOLUME, _ROOT = 16 * _SECTOR, 156  # the primary volume descriptor, and the record of the root directory in it


def span_of_file(iso: IO[bytes], path: str) -> Span | None:
    """Return where in an ISO a file is. None: it is not there.

    Args:
        iso: The ISO.
        path: By the names of ISO 9660, in capital letters: `IMAGES/PXEBOOT/VMLINUZ`.
    """
    span = _span(os.pread(iso.fileno(), _SECTOR, _VOLUME)[_ROOT:])
    for name in PurePosixPath(path).parts:
        entries = _entries(_read(iso, span))
        if name not in entries:
            return None
        span = entries[name]
    return span


def _read(iso: IO[bytes], span: Span) -> bytes:
    start, end = span
    return os.pread(iso.fileno(), min(end - start, _MOST), start)


def _entries(directory: bytes) -> dict[str, Span]:
    """Return where each entry of a directory is, by its name in upper case, without version."""
    spans, at = {}, 0
    while at < len(directory):
        length = directory[at]
        if not length:  # no record crosses the end of a sector
            at += _SECTOR - at % _SECTOR
            continue
        record = directory[at : at + length]
        if len(record) < _NAME:
            break
        name = record[_NAME : _NAME + record[_NAME - 1]].decode("ascii", "replace")
        spans[name.partition(";")[0].rstrip(".").upper()] = _span(record)
        at += length
    return spans


def _span(record: bytes) -> Span:
    start = int.from_bytes(record[2:6], "little") * _SECTOR
    return start, start + int.from_bytes(record[10:14], "little")
