"""One server behind a fake IPMI BMC that the program takes over, installs and releases, in simulated time."""

from contextlib import nullcontext
from dataclasses import dataclass, field

from pydantic import SecretStr

from base.errors import Fault
from providers.bmc_host.engine import BmcHostEngine
from providers.bmc_host.model import AsFound
from providers.host_provisioning.installation.adapters import Adapters, Target
from providers.host_provisioning.installation.boot_procedures import NetworkBoot
from providers.host_provisioning.installation.engine import Installation
from providers.host_provisioning.installation.evidence import Evidence
from testing.fakes.bmc import UUID, FakeBmc
from testing.fakes.clock import FakeClock
from testing.fakes.ipmi.bmc import PASSWORD, USER, FakeIpmiBmc
from testing.fakes.ipmi.links import SimulatedLink
from testing.fakes.ipmi.traits import TRAITS, Traits
from testing.fakes.mark import FakeMark
from testing.fakes.media import FakeMedia
from testing.progress import into
from wires.bmc.access import BmcAccess
from wires.bmc.client import UEFI, Power
from wires.bmc.steps import run_steps
from wires.ipmi.bmc import IpmiBmc

NAME, MAC = "okd-master-0", "52:54:00:11:10:01"
BMC_S, HOST_S = 3600, 7200


class MovedClock(FakeClock):
    """A fake clock that carries out what is due after each sleep."""

    def __init__(self) -> None:
        super().__init__()
        self.due: list[tuple[float, object]] = []

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        for at, act in [it for it in self.due if it[0] <= self.seconds]:
            self.due.remove((at, act))
            assert callable(act)
            act()


@dataclass
class IpmiServer:
    """A server that runs another system at first."""

    traits: Traits = TRAITS["generic"]
    consent: str = UUID
    boot_mode: str = UEFI
    password: str = PASSWORD
    clock: MovedClock = field(default_factory=MovedClock)
    lines: list[str] = field(default_factory=list)
    mark: FakeMark = field(default_factory=FakeMark)

    def __post_init__(self) -> None:
        server = FakeBmc(self.clock, sticky=False).run_from_disk()
        self.fake, self.media = FakeIpmiBmc(server, self.traits), FakeMedia()
        server.boot_over_network = lambda: self.media.boot(NAME)
        self.requests: list[int] = []

    @property
    def access(self) -> BmcAccess:
        """The access to its BMC."""
        return BmcAccess(address="ipmi://192.0.2.1", username=USER, boot_mode=self.boot_mode, boot_mac=MAC)

    def bmc(self) -> IpmiBmc:
        """Return a client in simulated time."""
        connect = lambda *_: SimulatedLink(self.fake, self.clock)  # noqa: E731
        return IpmiBmc(self.access, SecretStr(self.password), clock=self.clock, connect=connect)

    def take_over(self) -> AsFound:
        """Take the server over, as the creation of `BmcHost` does."""
        bmc = self.bmc()
        try:
            return self._engine(bmc).take_over(self.mark.remove, lambda _: None)[1]
        finally:
            self._close(bmc)

    def install(self) -> None:
        """Install the server, as `HostProvisioning` does."""
        bmc = self.bmc()
        procedure = NetworkBoot(bmc, self.media, NAME, self.clock, MAC)
        server, report = self.fake.server, into(self.lines)
        evidence = Evidence(self.mark, lambda _: False, server.is_up)
        adapters = Adapters(bmc, self.clock, self.media, procedure, server.missing, report, nullcontext(), evidence)
        try:
            run_steps(Installation(Target(NAME, self.consent, "192.0.2.21"), adapters, HOST_S).run(), self.clock)
        finally:
            self._close(bmc)

    def release(self, found: AsFound) -> list[Fault]:
        """Release the server, as the deletion of `BmcHost` does. Return what its BMC refuses to restore."""
        bmc = self.bmc()
        try:
            return self._engine(bmc).release(found)
        finally:
            self._close(bmc)

    def after(self, seconds: float, act: object) -> None:
        """Have something happen later."""
        self.clock.due.append((self.clock.now() + seconds, act))

    @property
    def is_installed(self) -> bool:
        """Whether it runs from the disk that was installed once."""
        server = self.fake.server
        return server.state is Power.ON and server.booted_from == "disk" and server.installs == 1

    @property
    def open_sessions(self) -> int:
        """Sessions that nobody has closed, and that hold a place for a minute."""
        return sum(one.keys is not None for one in self.fake.sessions.open.values())

    def _engine(self, bmc: IpmiBmc) -> BmcHostEngine:
        return BmcHostEngine(bmc, self.clock, into(self.lines), NAME, self.consent, BMC_S)

    def _close(self, bmc: IpmiBmc) -> None:
        bmc.close()
        self.requests.append(bmc.requests)
