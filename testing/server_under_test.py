"""One server of the fake fleet that the program takes over and installs, over real TLS."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import SecretStr

from base.errors import Fault
from boot_media.iso import Iso
from boot_media.media_server import MediaServer
from cluster.values.bmc_url import UEFI_HTTP
from providers.bmc_host.engine import BmcHostEngine
from providers.bmc_host.model import AsFound
from providers.host_provisioning.installation.adapters import Adapters, Target
from providers.host_provisioning.installation.boot_procedures import BootProcedure, HttpBoot, VirtualCd
from providers.host_provisioning.installation.engine import Installation
from providers.host_provisioning.installation.evidence import Evidence
from testing.fakes.clock import FakeClock
from testing.fakes.fleet.fleet import Fleet, Options, running, uuid_of
from testing.fakes.mark import FakeMark
from testing.progress import into
from wires.api.https import Endpoint
from wires.bmc.access import BmcAccess, Limits
from wires.bmc.client import UEFI
from wires.bmc.steps import run_steps
from wires.redfish.sushy_bmc import SushyBmc

NAME = "okd-master-0"
QUICK = Limits(connect_s=5, answer_s=0.5, insert_s=0.5)
BMC_S, HOST_S = 3600, 1800
"""Of the default, a quarter: a fault that does not end takes a quarter of the requests to end as an error."""
ISO_BYTES = 150_000


class MovedClock(FakeClock):
    """A fake clock that calls `on_sleep` with the new time after each sleep."""

    on_sleep: Callable[[float], None] = staticmethod(lambda _: None)

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        super().sleep(seconds)
        self.on_sleep(self.seconds)


@dataclass
class ServedMedia:
    """Implements `boot_procedures.NetworkMedia` with the real server and one ISO for all hosts."""

    server: MediaServer
    iso: Iso
    over_tls: bool = False

    def publish(self, host: str) -> str:
        return self.server.publish(host, self.iso, over_tls=self.over_tls)

    def certificate(self, url: str) -> str:
        return self.server.certificate(url)

    def sent(self, url: str) -> int:
        return self.server.sent(url)

    def progress(self, url: str) -> str:
        return self.server.progress(url)

    def digest(self, host: str) -> str:
        return self.iso.sha256

    def disk_report(self, host: str) -> str:
        return ""

    def size(self, host: str) -> int:
        return self.iso.size

    def enable_boot(self, host: str) -> None:
        self.publish(host)

    def disable_boot(self, host: str) -> None:
        self.server.withdraw(host, self.iso)

    def fetched_files(self, host: str) -> str:
        return ""


@dataclass
class ServerUnderTest:
    """The only server of a fleet, which runs another installation's system at first."""

    fleet: Fleet
    media: ServedMedia
    clock: MovedClock = field(default_factory=MovedClock)
    uuid: str = uuid_of(0)
    session: bool = False
    fingerprint: str = ""
    boot_mode: str = UEFI
    kind: str = "redfish-virtualmedia"
    found: AsFound = field(default_factory=AsFound)
    lines: list[str] = field(default_factory=list)
    mark: FakeMark = field(default_factory=FakeMark)

    def bmc(self) -> SushyBmc:
        options = self.fleet.options
        access = BmcAccess(
            address=self.fleet.address(0).replace("redfish-virtualmedia", self.kind, 1),
            username=options.username,
            ca=self.fleet.ca,
            fingerprint=self.fingerprint,
            session=self.session,
            boot_mode=self.boot_mode,
        )
        return SushyBmc(access, SecretStr(options.password), QUICK)

    def take_over(self) -> AsFound:
        """Take the server over, as the creation of `BmcHost` does."""
        with self._engine() as engine:
            self.found = engine.take_over(self.mark.remove, lambda _: None)[1]
        return self.found

    def release(self, found: AsFound) -> list[Fault]:
        """Release the server, as the deletion of `BmcHost` does. Return what its BMC refuses to restore."""
        with self._engine() as engine:
            return engine.release(found)

    @contextmanager
    def _engine(self) -> Iterator[BmcHostEngine]:
        bmc = self.bmc()
        try:
            yield BmcHostEngine(bmc, self.clock, into(self.lines), NAME, self.uuid, BMC_S)
        finally:
            bmc.close()

    def installation(self) -> Installation:
        """Return the installation that `HostProvisioning` runs."""
        api = Endpoint(6443, "/readyz", "api.okd.lab.test", self.fleet.ca)
        bmc = self.bmc()
        adapters = Adapters(
            bmc,
            self.clock,
            self.media,
            self._boot_procedure(bmc),
            lambda target: api.problem(target.address),
            into(self.lines),
            nullcontext(),
            Evidence(self.mark, lambda _: False, lambda: api.problem(self.fleet.node(0)) is None),
        )
        return Installation(Target(NAME, self.uuid, self.fleet.node(0)), adapters, HOST_S)

    def _boot_procedure(self, bmc: SushyBmc) -> BootProcedure:
        if self.kind == UEFI_HTTP:
            return HttpBoot(bmc, self.media, NAME, self.clock)
        return VirtualCd(bmc, self.media, NAME)

    def install(self) -> None:
        run_steps(self.installation().run(), self.clock)

    def from_start_to_end(self) -> None:
        self.take_over()
        self.install()

    def is_installed(self) -> bool:
        """Whether it runs from a disk installed from this ISO, with an empty drive and no open session."""
        state = self.fleet.state()
        return state.running and state.disk == self.media.publish(NAME) and not state.image and not state.sessions


@contextmanager
def server(folder: Path, vendor: str = "generic", *, over_tls: bool = False) -> Iterator[ServerUnderTest]:
    """Run a fleet of one server, and a media server."""
    base = folder / "base.iso"
    base.write_bytes(bytes(ISO_BYTES))
    with running(Options(vendors=(vendor,))) as fleet, MediaServer("127.0.0.1", 0) as media:
        fleet.change(0, power="On")
        yield ServerUnderTest(fleet, ServedMedia(media, Iso(base, ISO_BYTES, (), "ab" * 32), over_tls))
