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

from pydantic import SecretStr

from base import log, write_guard
from base.clock import SYSTEM_CLOCK
from base.log_entries import Action, Event
from boot_media.iso import Iso
from boot_media.media_server import MediaServer
from cluster.values.role import Role
from providers.bmc_host.model import BmcHostSpec
from providers.host_provisioning.model import HostProvisioningSpec, HostSpec
from review.preview import read_preview
from review.write_plan import WritePlan
from testing import preview_steps
from testing.fakes.fleet.fleet import Fleet, uuid_of
from testing.server_under_test import ISO_BYTES, NAME, ServedMedia, ServerUnderTest
from wires.redfish.client.access import BmcAccess
from wires.redfish.identity import MachineId

ROLE = Role.CONTROL_PLANE.value
TAKEN_OVER = "taken-over"
"""A file that stands for the record of the server in Pulumi's state."""


def write_plan(fleet: Fleet) -> WritePlan:
    """Return the write plan of the update that takes the server over, and installs it."""
    access = BmcAccess(address=fleet.address(0), username=fleet.options.username, ca=fleet.ca)
    host = BmcHostSpec(host=NAME, bmc=access, password=SecretStr(fleet.options.password), consent=uuid_of(0))
    installed = HostProvisioningSpec(
        role=Role.CONTROL_PLANE,
        hosts={NAME: HostSpec(bmc=access, address=fleet.node(0), root_device={})},
        passwords={NAME: host.password},
        media_port=0,
        base_iso_sha256="",
        ignition_sha256={},
        identities={NAME: MachineId(uuid=uuid_of(0))},
        payload_sha256="",
        stack="lab",
        api_name="api.okd.lab.test",
    )
    steps = (preview_steps.step("create", name, new=spec) for name, spec in ((NAME, host), (ROLE, installed)))
    return WritePlan.of(read_preview(preview_steps.preview(*steps), "a preview"))


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
            with log.working(Action.CREATE, _urn("BmcHost", NAME), NAME, begun):
                server.take_over()
            taken_over.touch()
        with log.working(Action.CREATE, _urn("HostProvisioning", ROLE), NAME, begun):
            server.install()


def _urn(kind: str, name: str) -> str:
    urn: str = preview_steps.step_of("create", kind, name, None, {})["urn"]
    return urn


if __name__ == "__main__":
    _run(*pickle.load(sys.stdin.buffer))  # noqa: S301  (of `is_killed`)
