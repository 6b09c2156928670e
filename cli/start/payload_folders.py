"""The folders of a stack's payload: the one that is being made, the payload, and what was moved aside.

They hold the only keys of a cluster, so nothing here deletes one that may have been used.
"""

import fcntl
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from base.errors import ConfigError, Fault
from base.files import PRIVATE_FOLDER, write_private

WORK = ".payload-"
"""The beginning of the name of a folder that is being made."""
STAMP = "%Y%m%dT%H%M%SZ"
IGNORED = ".gitignore"
"""It keeps a folder out of Git whatever the repository ignores."""


@contextmanager
def working_folder(folder: Path) -> Iterator[tuple[Path, int]]:
    """Yield a new private folder beside the payload's, and a descriptor that locks it; remove it unless it was moved.

    A child that inherits the descriptor keeps the lock after this process was killed. What a killed run has left is
    moved aside, and named on standard error.

    Raises:
        ConfigError: Another run works there.
        OSError: The folder cannot be made.
    """
    work = folder.with_name(f"{WORK}{datetime.now(UTC):{STAMP}}-{os.getpid()}")
    try:
        work.mkdir(mode=PRIVATE_FOLDER)
        locked = os.open(work, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(locked, fcntl.LOCK_EX)
            write_private(work / IGNORED, "*\n")
            for left in sorted(set(folder.parent.glob(f"{WORK}*")) - {work}):
                _refuse_running(left)
                print(
                    f"{move_aside(left)}: left by a run that was killed, with keys that no stack pins",
                    file=sys.stderr,
                )
            yield work, locked
        finally:
            os.close(locked)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def move_aside(folder: Path) -> Path:
    """Rename a folder of a payload to one with the time of its last change, and return that."""
    changed = f"payload-{datetime.fromtimestamp(folder.lstat().st_mtime, UTC):{STAMP}}"
    if folder.is_dir():
        write_private(folder / IGNORED, "*\n")
    names = (folder.with_name(changed if number == 1 else f"{changed}-{number}") for number in count(1))
    aside = next(name for name in names if not os.path.lexists(name))
    folder.rename(aside)
    return aside


def put_in_place(work: Path, folder: Path) -> Path | None:
    """Make the finished folder the payload's, and return where the present one went; None if there was none."""
    aside = move_aside(folder) if os.path.lexists(folder) else None
    work.rename(folder)
    return aside


def _refuse_running(work: Path) -> None:
    """Raise a `ConfigError` if the run that makes this folder is still alive."""
    descriptor = os.open(work, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        fault = Fault(str(work), "another run generates a payload there", "wait for that run, or end it")
        raise ConfigError(fault) from None
    finally:
        os.close(descriptor)
