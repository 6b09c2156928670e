"""A server, a media server, and the installation of one host on them."""

from contextlib import nullcontext

from base.errors import Fault
from base.progress import Progress, Report
from providers.host_provisioning.installation.adapters import Adapters, Target
from providers.host_provisioning.installation.boot_procedures import BootProcedure, VirtualCd
from providers.host_provisioning.installation.engine import Installation
from providers.host_provisioning.installation.evidence import Evidence
from testing.fakes.bmc import UUID, FakeBmc
from testing.fakes.clock import FakeClock
from testing.fakes.mark import FakeMark
from testing.fakes.media import FakeMedia
from wires.bmc.client import Identity, Power
from wires.bmc.steps import run_steps

NAME = "okd-master-0"
INSERTED = [f"insert {NAME}.iso", "override Cd Once"]
INSERTED_AGAIN = ["eject", f"insert {NAME}.iso"]
FROM_DISK = ["eject", "override Hdd Once", "On"]
DEADLINE_S = 3600


class Rig:
    """A server, a media server, and the installation of one host."""

    def __init__(self, bmc: FakeBmc | None = None) -> None:
        self.clock = bmc.clock if bmc else FakeClock()
        self.bmc = bmc or FakeBmc(self.clock)
        self.media = FakeMedia()
        self.bmc.read_by_bmc = self.media.fetch
        self.reports: list[Progress] = []
        self.report: Report = self.reports.append
        self.mark = FakeMark()
        self.has_joined = False
        """Whether the cluster has the machine as a node."""
        self.silent_s = 0.0
        """Time at which its API answers."""
        self.boot_procedure: BootProcedure | None = None
        """None: a virtual CD."""
        self.untouchable: Fault | None = None

    @property
    def lines(self) -> list[str]:
        """What the operator read."""
        return [str(progress) for progress in self.reports]

    def installation(self, uuid: str = UUID, *, reinstall: bool = False) -> Installation:
        procedure = self.boot_procedure or VirtualCd(self.bmc, self.media, NAME)
        evidence = Evidence(self.mark, self._asked, self.bmc.is_up)
        adapters = Adapters(
            self.bmc, self.clock, self.media, procedure, self.bmc.missing, self.report, nullcontext(), evidence
        )
        return Installation(Target(NAME, uuid, "192.0.2.21", reinstall, self.untouchable), adapters, DEADLINE_S)

    def _asked(self, _: Identity) -> bool | None:
        return self.has_joined if self.clock.now() >= self.silent_s else None

    def run(self) -> Installation:
        installation = self.installation()
        run_steps(installation.run(), self.clock)
        return installation

    def is_installed(self) -> bool:
        return self.bmc.state is Power.ON and self.bmc.image is None and self.bmc.booted_from == "disk"


def off_with(image: str | None) -> Rig:
    rig = Rig()
    rig.bmc.image = image
    return rig


def running(image: str | None) -> Rig:
    rig = Rig()
    if image is None:
        rig.bmc.run_from_disk()
    else:
        rig.bmc.run_from_media(image)
    return rig
