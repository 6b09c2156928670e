"""What the handoff moves, and what it is moved by."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, Self

from cluster.options import Phase
from providers.base.spec import Outs, Spec

if TYPE_CHECKING:
    from cluster.plan import ClusterPlan


class VipHandoffSpec(Spec):
    """Who may hold the API VIPs, and how long each step may take; times are in seconds.

    Between the phases these differ in `phase` alone.
    """

    phase: Phase
    import_production: bool = False
    vips: tuple[str, ...]
    """One, or one of each family: they move together."""
    domain: str
    bootstrap_name: str
    bootstrap_mac: str
    nodes: dict[str, str]
    """Address of each control-plane node, by name."""
    min_ready: int
    """How many of them must be ready before the VIPs are let go."""
    libvirt_uri: str
    stack: str
    payload_sha256: str
    """Of master.ign, which carries the CA of the config server."""
    stable_s: float
    soak_s: float
    deadline_s: float
    bootstrap_s: float
    shutdown_s: float

    @classmethod
    def of(cls, plan: "ClusterPlan", stack: str) -> Self:
        """The API VIPs of a plan."""
        options = plan.options
        return cls(
            phase=options.phase,
            import_production=options.import_production,
            vips=tuple(map(str, plan.api.addresses)),
            domain=plan.domain,
            bootstrap_name=plan.bootstrap.name,
            bootstrap_mac=plan.bootstrap.mac,
            nodes={server.name: str(server.address) for server in plan.control_plane},
            min_ready=options.handoff.min_ready or len(plan.control_plane),
            libvirt_uri=plan.libvirt_uri,
            stack=stack,
            payload_sha256=options.payload.master,
            stable_s=options.handoff.stable_s,
            soak_s=options.handoff.soak_s,
            deadline_s=options.handoff.deadline_s,
            bootstrap_s=options.deadlines.bootstrap_s,
            shutdown_s=options.handoff.shutdown_s,
        )

    @property
    def where(self) -> str:
        """For messages."""
        return f"API VIP {' and '.join(self.vips)}"


class VipHandoffOuts(Outs):
    """Who holds the API VIPs. What describes the move is empty in phase `bootstrap`, and stays after it."""

    holder: str | None = None
    """Name of the one machine that answers all VIPs; None: nobody, several, or a stranger (seen by a refresh)."""
    mac: str | None = None
    """Its MAC."""
    macs: list[str] = []
    """Every MAC that answers them."""
    unproven: str | None = None
    """What could not be seen of who answers them, and why; None: all was seen."""
    completion: str | None = None
    """What the payload itself reported before the VM was let go: `complete`, or why it was not asked."""
    gap_ms: int | None = None
    """Longest time between two successive connects through a VIP during the move, in ms."""
    gap_at_s: float | None = None
    """The second that it began at."""
    probes_sent: int = 0
    """TCP connects and HTTPS requests through the VIPs during the move."""
    probes_failed: int = 0
    """Those that failed, after one immediate retry where the connection was broken in flight."""
    seconds: dict[str, float] = {}
    """How long each state took."""
    timeline: list[dict[str, Any]] = []
    """States of the last move: `state`, and `at_s`, the second it began at."""
    holders: list[dict[str, Any]] = []
    """Who was seen to hold the VIPs meanwhile: `holder`, and `at_s`, the second it was first seen at."""
    clients: dict[str, Any] = {}
    """What clients of the VIPs met during the move, counted; `problems` has the first few in words."""


HOLDING = ("holder", "mac", "macs", "unproven")
"""Outputs of who holds the VIPs now; the others describe the move."""


class ClusterProbe(Protocol):
    """What can be seen of the cluster from the provisioner."""

    def vip_macs(self) -> tuple[frozenset[str], ...]:
        """MACs that answer each API VIP, in their order."""
        ...

    def macs_of(self, address: str) -> frozenset[str]:
        """MACs that answer an address."""
        ...

    def problem(self, address: str) -> str | None:
        """Why the API behind an address is not ready; None: it is."""
        ...

    def serves_config(self, address: str) -> bool:
        """Whether a config server answers behind an address."""
        ...


class BootstrapGuest(Protocol):
    """The bootstrap VM."""

    def send(self, word: str) -> str:
        """Send `release`, `hold` or `status` on the channel; the answer."""
        ...

    def stop(self) -> None:
        """Shut the VM down, by deadline."""
        ...


class MeasuringClient(Protocol):
    """A client of the VIPs."""

    def figures(self, started: float) -> dict[str, Any]:
        """What it met so far: `gap_ms`, `gap_at_s`, `probes_sent`, `probes_failed`, `clients`.

        Args:
            started: When the handoff began, by the clock of both; `gap_at_s` counts from then.
        """
        ...


Signal = Callable[[str], str | None]
"""What the payload itself still waits for before its bootstrap may end, asked at an address; None: nothing."""
