"""Inputs and outputs of `VipHandoff`, and the protocols of what its engine works with."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Protocol, Self

from base.spec import SECRET_OUTPUT, Outs, Spec
from cluster.values.balancer import Balancer
from cluster.values.phase import Phase
from cluster.values.platform import ClusterPlatform

if TYPE_CHECKING:
    from cluster.plan import ClusterPlan


class VipHandoffSpec(Spec):
    """The API VIPs, the machines that may hold them, and the time for each step, in seconds.

    Only `phase` differs between the phases.
    """

    phase: Phase
    import_production: bool = False
    platform: ClusterPlatform = ClusterPlatform.NONE
    balancer: Balancer = Balancer.CLUSTER
    vips: tuple[str, ...]
    """One, or one of each family; they move together. With a balancer of the site, its addresses."""
    domain: str
    bootstrap_name: str
    bootstrap_mac: str
    bootstrap_address: str = ""
    """Empty in a state of an earlier release."""
    nodes: dict[str, str]
    """Address of each control-plane node, by name."""
    min_ready: int
    """Number of nodes that must be ready before the bootstrap VM releases the VIPs."""
    fenced: bool = False
    """Whether two nodes fence each other: no VIP moves before Pacemaker runs their etcd."""
    libvirt_uri: str
    stack: str
    payload_sha256: str
    """Digest of master.ign, which contains the CA of the config server."""
    snapshots: str = ""
    """Folder or bucket into which etcd is saved before the VIPs move; empty: it is not."""
    stable_s: float
    soak_s: float
    deadline_s: float
    bootstrap_s: float
    shutdown_s: float

    @classmethod
    def of(cls, plan: "ClusterPlan", stack: str) -> Self:
        """Build the spec of a plan's API VIPs."""
        options = plan.options
        return cls(
            phase=options.phase,
            import_production=options.import_production,
            platform=plan.platform,
            balancer=plan.balancer,
            vips=tuple(map(str, plan.api.addresses)),
            domain=plan.domain,
            bootstrap_name=plan.bootstrap.name,
            bootstrap_mac=plan.bootstrap.mac,
            bootstrap_address=str(plan.bootstrap.address),
            nodes={server.name: str(server.address) for server in plan.control_plane},
            min_ready=options.handoff.min_ready or len(plan.control_plane),
            fenced=plan.is_fenced,
            libvirt_uri=plan.libvirt_uri,
            stack=stack,
            payload_sha256=options.payload.master,
            snapshots=options.snapshots,
            stable_s=options.handoff.stable_s,
            soak_s=options.handoff.soak_s,
            deadline_s=options.handoff.deadline_s,
            bootstrap_s=options.deadlines.bootstrap_s,
            shutdown_s=options.handoff.shutdown_s,
        )

    @property
    def only_okd_knows_the_end(self) -> bool:
        """Whether a bootstrap that ends before OKD has removed its member of etcd costs the cluster.

        Beside one node, two members are all, and one of two is no majority. Two that fence each other hand etcd over.
        """
        return self.balancer is Balancer.OPERATOR or len(self.nodes) == 1 or self.fenced

    @property
    def where(self) -> str:
        """Place of a fault, for messages."""
        what = "the site's balancer" if self.balancer is Balancer.SITE else "API VIP"
        return f"{what} {' and '.join(self.vips)}"


class VipHandoffOuts(Outs):
    """The holder of the API VIPs, and the last move: the outputs that describe it are empty before it."""

    holder: str | None = None
    """Name of the one machine that answers all VIPs; None if a refresh saw none, several, or a stranger.

    With a balancer of the site, who serves behind it: the bootstrap VM or `control plane`.
    """
    mac: str | None = None
    """MAC of the holder."""
    macs: list[str] = []
    """Every MAC that answers the VIPs."""
    unproven: str | None = None
    """What this machine could not see of the machines that answer the VIPs, and why; None if it saw all."""
    completion: str | None = None
    """What OKD reported before the VM was ended: `complete`, or why it was not asked."""
    gap_ms: int | None = None
    """Longest time between two successive connects through a VIP during the move, in ms."""
    gap_at_s: float | None = None
    """Second of the move at which that gap began."""
    probes_sent: int = 0
    """Number of TCP connects and HTTPS requests through the VIPs during the move."""
    probes_failed: int = 0
    """Number of those that failed, after one immediate retry if the connection was broken in flight."""
    seconds: dict[str, float] = {}
    """Seconds that each state took."""
    timeline: list[dict[str, Any]] = []
    """States of the last move: `state`, and `at_s`, the second at which it began."""
    holders: list[dict[str, Any]] = []
    """Holders of the VIPs during the last move: `holder`, and `at_s`, the second at which it was first seen."""
    clients: dict[str, Any] = {}
    """Counts of what clients of the VIPs met during the move; `problems` has the first few in words."""
    kubeconfig: Annotated[str | None, SECRET_OUTPUT] = None
    """Content of the payload's kubeconfig, secret; None if there was none."""


HOLDING = ("holder", "mac", "macs", "unproven")
"""Outputs that describe the present holder; the others describe the move."""


class ClusterProbe(Protocol):
    """Probes of the cluster, from the provisioner."""

    def vip_macs(self) -> tuple[frozenset[str], ...]:
        """Return the MACs that answer each API VIP, in the VIPs' order."""
        ...

    def macs_of(self, address: str) -> frozenset[str]:
        """Return the MACs that answer an address."""
        ...

    def problem(self, address: str) -> str | None:
        """Return why the API behind an address is not ready; None if it is."""
        ...

    def serves_config(self, address: str) -> bool:
        """Whether a config server answers behind an address."""
        ...

    def accepts(self, address: str, port: int) -> bool:
        """Whether a connection to a port is accepted, whatever happens on it."""
        ...


class BootstrapGuest(Protocol):
    """The bootstrap VM."""

    def send(self, word: str) -> str:
        """Send `release`, `hold` or `status` to the VM, and return its answer."""
        ...

    def stop(self) -> None:
        """Shut the VM down, cut its power after a deadline, and undefine it: the proof that it is needed no more."""
        ...


class MeasuringClient(Protocol):
    """A client that measures the VIPs."""

    def figures(self, started: float) -> dict[str, Any]:
        """Return the outputs `gap_ms`, `gap_at_s`, `probes_sent`, `probes_failed` and `clients` so far.

        Args:
            started: Start of the handoff, on the same monotonic clock; `gap_at_s` counts from it.
        """
        ...


Save = Callable[[], str | None]
"""Saves etcd; returns why it was not, or None."""
Signal = Callable[[str], str | None]
"""Asks OKD through an address; returns what its bootstrap still lacks, or None if the bootstrap may end."""
