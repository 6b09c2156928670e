"""A cache of slow builds. A build's name contains a hash of its inputs, so a file that exists is up to date."""

import contextlib
import hashlib
import math
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from base.clock import SYSTEM_CLOCK, Wait
from base.lock import locked

_HASH_CHARS = 12


def content_hash(*inputs: str | bytes | Path) -> str:
    """Return a short hash of texts and file contents; a folder contributes the names and contents of its files."""
    total = hashlib.sha256()
    for part in inputs:
        for piece in _pieces(part):
            total.update(hashlib.sha256(piece).digest())
    return total.hexdigest()[:_HASH_CHARS]


def _pieces(part: str | bytes | Path) -> Iterator[bytes]:
    if isinstance(part, Path):
        for file in files_below(part):
            yield str(file.relative_to(part)).encode()
            yield file.read_bytes()
    else:
        yield part.encode() if isinstance(part, str) else part


def files_below(path: Path) -> list[Path]:
    """Return the files below `path`, or `path` itself when it is a file, in a stable order and without caches."""
    paths = sorted(path.rglob("*")) if path.is_dir() else [path]
    return [file for file in paths if file.is_file() and "__pycache__" not in file.parts]


def words_of(file: Path) -> list[str]:
    """Return the lines of a list file except comments and blank lines."""
    lines = (line.strip() for line in file.read_text().splitlines())
    return [line for line in lines if line and not line.startswith("#")]


@contextlib.contextmanager
def folder_locked(folder: Path) -> Iterator[None]:
    """Lock `folder` for this process, so that two builds of the same thing run one after the other."""
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / ".lock", Wait(SYSTEM_CLOCK, math.inf)):
        yield


@contextlib.contextmanager
def scratch(beside: Path) -> Iterator[Path]:
    """Yield a temporary folder on the filesystem of `beside`, from which results can be renamed into place."""
    beside.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=".build-", dir=beside.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def prune(built: Iterable[Path], keep: int) -> None:
    """Remove all but the `keep` newest of `built`."""
    for old in sorted(built, key=lambda path: path.stat().st_mtime, reverse=True)[keep:]:
        if old.is_dir():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.unlink(missing_ok=True)
