"""Locks across processes: the provider of a killed run may still work on a server, VM or VIP for a moment."""

import fcntl
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from base.clock import SYSTEM_CLOCK, Clock, Wait
from base.errors import BusyError, LockError
from base.files import PRIVATE_FOLDER


@contextmanager
def held(key: str, *, deadline_s: float = 20, clock: Clock = SYSTEM_CLOCK) -> Iterator[None]:
    """Hold the lock of `key` (a BMC system, a domain, a VIP).

    Raises:
        BusyError: Another process held it for longer than `deadline_s`.
        LockError: The folder of the locks cannot be made, or is not private to this user.
    """
    file = _private_folder() / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.lock"
    with locked(file, Wait(clock, deadline_s)) as is_locked:
        if not is_locked:
            what = f"another run has worked on it for more than {deadline_s:g} s"
            raise BusyError(what, where=key, fix="wait for that run, or end it, then run `pulumi up`")
        yield


@contextmanager
def locked(path: Path, wait: Wait) -> Iterator[bool]:
    """Lock a file, which is made if missing. Yield False if another process held its lock for the whole wait."""
    with path.open("a+") as file:
        yield not wait.until(lambda: _taken(file))


def _taken(file: IO[str]) -> str | None:
    """Lock the file, or return that another process holds its lock."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return "taken"
    return None


def folder_of(user: int) -> Path:
    """Return the folder of a user's locks; root's is where only root can create one."""
    # Nothing but the user decides it: runs that differ in $TMPDIR, $XDG_RUNTIME_DIR or $HOME must meet at one lock.
    return Path(f"/tmp/okd-baremetal-{user}" if user else "/run/okd-baremetal")  # noqa: S108  (verified below)


def _private_folder() -> Path:
    """Return the folder of this user's locks, which no other user can write."""
    user = os.geteuid()
    folder = folder_of(user)
    try:
        with suppress(FileExistsError):
            folder.mkdir(mode=PRIVATE_FOLDER)
        # Not stat: another user may have put a link there. A folder that passes stays, since /tmp is sticky.
        status = folder.lstat()
    except OSError as error:
        fix = f"let user {user} create folders in {folder.parent}"
        raise LockError(f"cannot be made: {error.strerror}", where=str(folder), fix=fix) from None
    mode, wanted = stat.filemode(status.st_mode), stat.filemode(stat.S_IFDIR | PRIVATE_FOLDER)
    if (mode, status.st_uid) != (wanted, user):
        what = f"{mode} of user {status.st_uid}, instead of {wanted} of user {user}"
        raise LockError(what, where=str(folder), fix="when no run is in progress, remove it as root")
    return folder
