"""keepalived.conf as data: which machine instances which VIP, how strongly, and after which checks."""

from collections.abc import Iterable
from dataclasses import dataclass

from assets.contract import BIN, MONITOR_PORT, ROUTER_PORT
from cluster.plan import Intent, Role, Server
from cluster.plan.model import Machine, Vip
from cluster.values.address import IPV4, Address
from cluster.values.vrrp import Policy

OKD_CHECK = f"{BIN}/okd-check.sh"
MOVES: dict[Policy, str] = {"release": "the bootstrap lets go", "preempt": "a control-plane node serves"}


@dataclass(frozen=True)
class Check:
    """A `vrrp_script`; one for both families of a VIP."""

    name: str
    why: str
    script: str
    weight: int | None
    """What its success adds, or its failure takes; None: a failure takes the instance out."""
    interval_s: int
    timeout_s: int
    rise: int = 3
    fall: int = 3


@dataclass(frozen=True)
class TrackFile:
    """A number that is added to the priority."""

    name: str
    let_go: int


@dataclass(frozen=True)
class Instance:
    """A `vrrp_instance`: one per VIP and family."""

    name: str
    why: tuple[str, ...]
    interface: str
    """A placeholder, which okd-keepalived.sh fills."""
    router_id: int
    priority: int
    vip: str
    checks: tuple[Check, ...]
    source: Address
    peers: tuple[Address, ...] = ()
    """Empty: multicast."""
    preempt_delay_s: int = 0


@dataclass(frozen=True)
class VipShare:
    """A machine's part in one VIP, the same in both families."""

    what: str
    """API or INGRESS."""
    vip: Vip
    priority: int
    checks: tuple[Check, ...]
    rank: int = 0


@dataclass(frozen=True)
class Keepalived:
    """One keepalived.conf."""

    what: str
    machine: str
    """Empty: the file is of several machines."""
    instances: tuple[Instance, ...]
    track_files: tuple[TrackFile, ...] = ()

    @property
    def checks(self) -> tuple[Check, ...]:
        """Those of the instances, each once."""
        return tuple(dict.fromkeys(check for instance in self.instances for check in instance.checks))


def on_bootstrap(plan: Intent) -> Keepalived:
    """The API VIP until the handoff."""
    numbers, machine = plan.api.priorities, plan.bootstrap
    checks = (
        Check(
            "own_api",
            "A payload tears its own API down once the control plane serves: the VIP must be free to move then.",
            f"{BIN}/okd-own-api.sh",
            numbers.bootstrap_api_down,
            interval_s=3,
            timeout_s=5,
            rise=1,
        ),
    )
    instances = _instances(plan, VipShare("API", plan.api, numbers.bootstrap, checks), machine, plan.control_plane)
    what = f"on the bootstrap VM: the API VIP until {MOVES[plan.api.policy]}"
    return Keepalived(what, machine.name, instances, (TrackFile("release", numbers.release),))


def on_control_plane(plan: Intent, server: Server) -> Keepalived:
    """The API VIP once the bootstrap lets go; without compute, the Ingress VIP as well."""
    numbers, rank = plan.api.priorities, plan.control_plane.index(server)
    checks = tuple(
        Check(name, why, f"{OKD_CHECK} {MONITOR_PORT} {page}", weight, interval_s=2, timeout_s=2)
        for name, why, page, weight in (
            ("load_balancer", "It has an API to offer: one of all.", "/haproxy_monitor", numbers.load_balancer),
            ("api", "One of its own.", "/own_api", numbers.api),
            ("config_server", "What new machines ask for their config.", "/own_config_server", numbers.config_server),
        )
    )
    peers: list[Machine] = [plan.bootstrap, *(other for other in plan.control_plane if other is not server)]
    # Distinct ranks: equals would fight for some milliseconds at the take-over (keepalived 2.2.7, 2026-11).
    share = VipShare("API", plan.api, numbers.control_plane - rank, checks, rank)
    instances = _instances(plan, share, server, peers)
    what = f"the API VIP once {MOVES[plan.api.policy]}"
    if plan.ingress_role is Role.CONTROL_PLANE:
        instances += _ingress(plan, server)
        what += ", and the Ingress VIP"
    return Keepalived(f"on {server.name}: {what}", server.name, instances)


def on_compute(plan: Intent, server: Server) -> Keepalived:
    """The Ingress VIP; with multicast the file is the same on every server."""
    own = plan.ingress.transport == "unicast"
    where = server.name if own else "compute"
    what = f"on {where}: the Ingress VIP, on a node with a ready router"
    return Keepalived(what, server.name if own else "", _ingress(plan, server))


def _ingress(plan: Intent, server: Server) -> tuple[Instance, ...]:
    numbers = plan.ingress.priorities
    checks = (
        Check(
            "router_alive",
            "No weight: a node whose router is dead does not take part.",
            f"{OKD_CHECK} {ROUTER_PORT} /healthz",
            None,
            interval_s=1,
            timeout_s=1,
            fall=2,
        ),
        Check(
            "router_ready",
            "It takes connections.",
            f"{OKD_CHECK} {ROUTER_PORT} /healthz/ready",
            numbers.router_ready,
            interval_s=1,
            timeout_s=1,
            fall=2,
        ),
        Check(
            "default_router",
            "It is one of the default router, which serves *.apps.",
            f"{BIN}/okd-default-router.sh",
            numbers.default_router,
            interval_s=5,
            timeout_s=5,
            fall=2,
        ),
    )
    peers = [other for other in plan.of(plan.ingress_role) if other is not server]
    return _instances(plan, VipShare("INGRESS", plan.ingress, numbers.node, checks), server, peers)


def _instances(plan: Intent, share: VipShare, machine: Machine, others: Iterable[Machine]) -> tuple[Instance, ...]:
    """One instance per family of a VIP."""
    vip, others = share.vip, tuple(others)
    return tuple(
        Instance(
            name=f"{plan.name}_{share.what}_{number}",
            why=_why(share),
            interface=placeholder(address),
            router_id=vip.router_id,
            priority=share.priority,
            # keepalived knows labels of IPv4 alone, and keeps IPv6 ones deprecated: no connection leaves from them.
            vip=f"{host_route(address)} label vip" if address.version == IPV4 else host_route(address),
            checks=share.checks,
            source=machine.address_of(address.version),
            peers=tuple(each.address_of(address.version) for each in others) if vip.transport == "unicast" else (),
            preempt_delay_s=share.rank,
        )
        for number, address in enumerate(vip.addresses)
    )


def _why(share: VipShare) -> tuple[str, ...]:
    if share.vip.transport == "unicast":
        first = "All list all others for good: where only one side lists the other, both become MASTER."
    elif share.what == "INGRESS":
        first = "Multicast: hosts added later are in nobody's list of peers."
    else:
        first = "Multicast: every machine of the network hears it."
    delay = "A second per rank: when the bootstrap lets go, others hear of the first node before they would move too."
    return (first, delay) if share.rank else (first,)


def placeholder(vip: Address) -> str:
    """What stands for the interface of a VIP's network: each machine looks for it when keepalived starts."""
    return f"@INTERFACE:{vip}@"


def host_route(vip: Address) -> str:
    """The VIP with its prefix: with its network's, it would bring a route along (baremetal-runtimecfg b1f003f56)."""
    return f"{vip}/{vip.max_prefixlen}"
