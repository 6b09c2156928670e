"""Locks across processes: the provider of a killed run may still work on a server, VM or VIP for a moment."""

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from providers.base.clock import SYSTEM_CLOCK, Clock
from providers.base.errors import BusyError


@contextmanager
def held(key: str, *, deadline_s: float = 20, clock: Clock = SYSTEM_CLOCK) -> Iterator[None]:
    """Hold the lock of `key` (a BMC system, a domain, a VIP).

    Raises:
        BusyError: Another process held it for longer than `deadline_s`.
    """
    folder = Path(tempfile.gettempdir()) / f"okd-baremetal-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    until = clock.now() + deadline_s
    with (folder / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.lock").open("a+") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if clock.now() >= until:
                    what = f"another run has worked on it for more than {deadline_s:g} s"
                    raise BusyError(
                        what, where=key, fix="wait for that run, or end it, then run `pulumi up`"
                    ) from None
                clock.sleep(0.5)
        yield
