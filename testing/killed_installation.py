"""A server of the fake fleet that processes install, each bound to a write plan, and killed at one of its writes.

`python -m testing.killed_installation` is one such process: a run of the update.
"""

import logging
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

from base import log, write_guard
from base.clock import SYSTEM_CLOCK
from base.log_entries import Action, Event
from boot_media.iso import Iso
from boot_media.media_server import MediaServer
from review.write_plan import WritePlan
from testing.fakes.fleet.fleet import Fleet, uuid_of
from testing.planned_writes import ROLE, PlannedServer, urn
from testing.server_under_test import ISO_BYTES, NAME, ServedMedia, ServerUnderTest
from wires.bmc.access import BmcAccess

TAKEN_OVER = "taken-over"
"""A file that stands for the record of the server in Pulumi's state."""


def write_plan(fleet: Fleet) -> WritePlan:
    """Return the write plan of the update that takes the server over, and installs it."""
    access = BmcAccess(address=fleet.address(0), username=fleet.options.username, ca=fleet.ca)
    return PlannedServer(NAME, access, uuid_of(0), fleet.node(0)).write_plan()


def is_killed(fleet: Fleet, folder: Path, plan: Path, writes: int) -> bool:
    """Run the update, and return whether SIGKILL ended it: it comes right after the line of the last of its writes.

    Args:
        folder: The root of the project, with the logs of all runs and the record of what is done.
        plan: The file of the write plan.
    """
    done = subprocess.run(
        [sys.executable, "-m", __name__],
        input=pickle.dumps((fleet, folder, writes)),
        env={**os.environ, write_guard.PLAN_VARIABLE: str(plan)},
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL)
    return done.returncode != 0


class _Killer(logging.Handler):
    """Kills the process right after the line of its last write."""

    def __init__(self, writes: int) -> None:
        super().__init__()
        self._left = writes

    def emit(self, record: logging.LogRecord) -> None:
        self._left -= getattr(record, "event", "") == Event.WRITE
        if not self._left:
            os.kill(os.getpid(), signal.SIGKILL)


def _run(fleet: Fleet, folder: Path, writes: int) -> None:
    os.chdir(folder)
    SYSTEM_CLOCK.engine = ("127.0.0.1", 1)  # only a run of an engine has a log
    taken_over, base = Path(TAKEN_OVER), Path("base.iso")
    base.write_bytes(bytes(ISO_BYTES))

    def begun(_: Path) -> None:
        write_guard.name_plan()
        logging.getLogger(log.__name__).addHandler(_Killer(writes))

    with MediaServer("127.0.0.1", 0) as media:
        server = ServerUnderTest(fleet, ServedMedia(media, Iso(base, ISO_BYTES, (), "ab" * 32)))
        if not taken_over.exists():
            with log.working(Action.CREATE, urn("BmcHost", NAME), NAME, begun):
                server.take_over()
            taken_over.touch()
        with log.working(Action.CREATE, urn("HostProvisioning", ROLE), NAME, begun):
            server.install()


if __name__ == "__main__":
    _run(*pickle.load(sys.stdin.buffer))  # noqa: S301  (of `is_killed`)
