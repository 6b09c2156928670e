"""The real handoff engine over machines in network namespaces, with real probes and the guest's real script.

Two parts are stand-ins: the virtio channel is a pseudo-terminal, and a machine's power button ends its namespaces.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from base.clock import Clock, SystemClock
from base.errors import HypervisorError
from base.progress import Progress
from cluster.values.balancer import Balancer
from cluster.values.phase import Phase
from providers.vip_handoff.adapters import LocalClusterProbe, measuring
from providers.vip_handoff.engine import HandoffEngine
from providers.vip_handoff.model import Signal, VipHandoffOuts, VipHandoffSpec
from testing.certificates import authority
from testing.scene.cluster import DOMAIN, Cluster
from testing.scene.machine import vip_channel
from wires.api.api import Api

STABLE_S, SOAK_S, DEADLINE_S = 1.0, 2.0, 120.0


@dataclass
class SkippingClock:
    """The machine's clock, which a test puts forward."""

    real: Clock = field(default_factory=SystemClock)
    skipped_s: float = 0

    def now(self) -> float:
        """See `Clock`."""
        return self.real.now() + self.skipped_s

    def sleep(self, seconds: float) -> None:
        """See `Clock`."""
        self.real.sleep(seconds)


@dataclass
class LiveHandoff:
    """The machines of a cluster, and the handoff of its VIPs. Implements the engine's `BootstrapGuest`."""

    cluster: Cluster
    channel: Callable[[str], str]
    ca_pem: str = field(default_factory=lambda: authority("test-ca").pem)
    signal: Signal | None = None
    sent: list[str] = field(default_factory=list)
    """Words on the channel."""
    when: dict[str, Callable[[], object]] = field(default_factory=dict)
    """Called once, when a line of progress, or `sent` and a word on the channel, begins with the key."""
    time_is_up_at: tuple[str, ...] = ()
    """Once a line of progress has all of these, the clock skips the deadline, so that no test waits for it."""
    soak_s: float = SOAK_S
    clock: SkippingClock = field(default_factory=SkippingClock)
    states: list[str] = field(default_factory=list)
    """States of the last move."""
    stopped: bool = False

    def send(self, word: str) -> str:
        """See `BootstrapGuest`."""
        self.sent.append(word)
        try:
            answer = self.channel(word)
        except TimeoutError as error:
            raise HypervisorError(str(error)) from error
        self._reach(f"sent {word}")
        return answer

    def stop(self) -> None:
        """See `BootstrapGuest`."""
        self.stopped = True
        self.cluster.bootstrap.die()

    def move(self) -> VipHandoffOuts:
        """Run the move of phase `production`.

        Raises:
            HandoffUnsafeError: It failed.
        """
        engine = self._engine()
        try:
            return engine.move()
        finally:
            self.states = [entry["state"] for entry in engine.timeline]

    def prove_bootstrap(self) -> str | None:
        """Return the machine that answers the VIP, by the proof of phase `bootstrap`."""
        return self._engine().prove_bootstrap().holder

    def prove_control_plane(self) -> str | None:
        """Return the machine that answers the VIP, by the proof of a later `up` in phase `production`."""
        return self._engine().prove_control_plane().holder

    def _engine(self) -> HandoffEngine:
        plan, vips = self.cluster.plan, tuple(map(str, self.cluster.vips))
        spec = VipHandoffSpec(
            phase=Phase.PRODUCTION,
            balancer=plan.balancer,
            vips=vips,
            domain=DOMAIN,
            bootstrap_name=plan.bootstrap.name,
            bootstrap_mac=self.cluster.bootstrap_mac,
            bootstrap_address=str(plan.bootstrap.address),
            nodes={server.name: str(server.address) for server in plan.control_plane},
            min_ready=len(plan.control_plane),
            libvirt_uri="not used: this class is the guest",
            stack="not used: the test gives the signal",
            payload_sha256="not used: the test gives the CA",
            stable_s=STABLE_S,
            soak_s=self.soak_s,
            deadline_s=DEADLINE_S,
            bootstrap_s=60,
            shutdown_s=0,
        )
        api = Api(DOMAIN, self.ca_pem)
        client = partial(measuring, vips, api)
        probe = LocalClusterProbe(vips, api)
        return HandoffEngine(spec, probe, self, self.signal, _nothing_saved, client, self.clock, self._report)

    def _report(self, progress: Progress) -> None:
        line = str(progress)
        self._reach(line)
        if self.time_is_up_at and all(word in line for word in self.time_is_up_at):
            self.clock.skipped_s += DEADLINE_S

    def _reach(self, line: str) -> None:
        for begin in [begin for begin in self.when if line.startswith(begin)]:
            self.when.pop(begin)()


def _nothing_saved() -> str | None:
    raise AssertionError("no snapshots are wanted")


@contextmanager
def handoff_of(cluster: Cluster) -> Iterator[LiveHandoff]:
    """Yield the handoff of a cluster, whose guest runs its script."""
    # On platform baremetal, the handoff asks OKD: here its bootstrap is complete from the start.
    signal: Signal | None = (lambda _: None) if cluster.plan.balancer is Balancer.OPERATOR else None
    with vip_channel(cluster.bootstrap) as send:
        yield LiveHandoff(cluster, send, signal=signal)
