"""keepalived.conf as data: which machine claims which VIP, with which priority, after which checks."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from assets.contract import BIN, MONITOR_PORT, PROVISIONING_PORT, ROUTER_PORT
from cluster.plan import Intent, Role, Server
from cluster.plan.model import Machine, PlannedHost, Vip
from cluster.values.address import IPV4, Address
from cluster.values.balancer import Balancer
from cluster.values.vrrp import Policy

OKD_CHECK = f"{BIN}/okd-check.sh"
OWN_API_GONE = (
    "No weight: no node lists this machine, so it does not hear that one took the VIP, and must give it up."
)
OWN_API_GONE_S = 15
"""keepalived notices an API that ends in 4 s, 10 s if the API is silent, and a node takes the VIP 4 s later."""
MOVES: dict[Policy, str] = {"release": "the bootstrap lets go", "preempt": "a control-plane node serves"}


@dataclass(frozen=True)
class Check:
    """A `vrrp_script`, which both families of a VIP share."""

    name: str
    why: str
    script: str
    weight: int | None
    """Added to the priority on success if positive, on failure if negative. None: a failure disables the instance."""
    interval_s: int
    timeout_s: int
    fall: int = 3


@dataclass(frozen=True)
class TrackFile:
    """A file with a number that keepalived adds to the priority."""

    name: str
    let_go: int


@dataclass(frozen=True)
class Instance:
    """A `vrrp_instance`: one per VIP and family."""

    name: str
    why: tuple[str, ...]
    interface: str
    """A placeholder, which okd-keepalived.sh fills in."""
    vrid: int
    priority: int
    vip: str
    route: str
    """An IPv6 VIP's local route; empty for IPv4. The kernel's own may come after the announcement (ADR 47)."""
    checks: tuple[Check, ...]
    source: Address
    peers: tuple[Address, ...] = ()
    """The other machines, with unicast; empty with multicast. Spares are among them: adverts to them reach nobody."""
    password: str = ""
    """That of VRRPv2, 8 characters at most; empty for none, as always with IPv6."""
    preempt_delay_s: int = 0


@dataclass(frozen=True)
class VipShare:
    """How one machine claims one VIP, the same in both families."""

    what: str
    """`API`, `PROVISIONING` or `INGRESS`."""
    vip: Vip
    priority: int
    checks: tuple[Check, ...]
    rank: int = 0
    password: str = ""


@dataclass(frozen=True)
class Keepalived:
    """One keepalived.conf."""

    what: str
    machine: str
    """Name of the machine; empty if several machines share the file."""
    instances: tuple[Instance, ...]
    track_files: tuple[TrackFile, ...] = ()

    @property
    def checks(self) -> tuple[Check, ...]:
        """The checks of all instances, each once."""
        return tuple(dict.fromkeys(check for instance in self.instances for check in instance.checks))


def on_bootstrap(plan: Intent) -> Keepalived:
    """Return the bootstrap VM's configuration, which claims the API VIP until the handoff."""
    numbers, machine = plan.api.priorities, plan.bootstrap
    own_api = Check(
        "own_api",
        "Without an API, after a start or once the payload has ended it, a node that serves must have the VIP.",
        f"{BIN}/okd-own-api.sh",
        numbers.bootstrap_api_down,
        interval_s=2,
        timeout_s=5,
        # An API that ends says so at once, and OKD may remove its etcd member 6 s later: then it answers nobody.
        fall=2,
    )
    share = VipShare("API", plan.api, numbers.bootstrap, (own_api,))
    if plan.balancer is Balancer.OPERATOR:
        # Some seconds later than the other check: a node has taken the VIP by then.
        script = f"{own_api.script} {OWN_API_GONE_S}"
        gone = replace(own_api, name="own_api_gone", why=OWN_API_GONE, script=script, weight=None)
        share = replace(share, checks=(own_api, gone), password=f"{plan.name}_api_vip"[:8])
    instances = _instances(plan, share, machine, plan.claimants(Role.CONTROL_PLANE))
    what = f"on the bootstrap VM: the API VIP until {MOVES[plan.api.policy]}"
    return Keepalived(what, machine.name, instances, (TrackFile("release", numbers.release),))


def on_control_plane(plan: Intent, server: Server) -> Keepalived:
    """Return a control-plane server's configuration.

    The API VIP; the VIP of the provisioning network, where compute boots over it; without compute, the Ingress VIP.
    Behind a balancer of the site, the second one alone.
    """
    vips = plan.vips_of(Role.CONTROL_PLANE)
    instances, words = tuple[Instance, ...](), list[str]()
    if plan.api in vips:
        instances += _api(plan, server)
        words.append(f"the API VIP once {MOVES[plan.api.policy]}")
    if plan.provisioning_vip:
        instances += _provisioning(plan, server, plan.provisioning_vip)
        words.append("the VIP of the provisioning network")
    if plan.ingress in vips:
        instances += _ingress(plan, server)
        words.append("the Ingress VIP")
    return Keepalived(f"on {server.name}: {', and '.join(words)}", server.name, instances)


def on_compute(plan: Intent, server: Server) -> Keepalived:
    """Return a compute server's configuration: the Ingress VIP. With multicast, all servers share one file."""
    own = plan.ingress.transport == "unicast"
    where = server.name if own else "compute"
    what = f"on {where}: the Ingress VIP, on a node with a ready router"
    return Keepalived(what, server.name if own else "", _ingress(plan, server))


def on_server(plan: Intent, server: Server) -> Keepalived | None:
    """Return a server's configuration. None: it claims no VIP, or the operator writes it."""
    if plan.balancer is Balancer.OPERATOR or not plan.vips_of(server.role):
        return None
    return (on_control_plane if server.role is Role.CONTROL_PLANE else on_compute)(plan, server)


def _api(plan: Intent, server: Server) -> tuple[Instance, ...]:
    numbers, rank = plan.api.priorities, plan.control_plane.index(server)
    checks = tuple(
        Check(name, why, f"{OKD_CHECK} {MONITOR_PORT} {page}", weight, interval_s=2, timeout_s=2)
        for name, why, page, weight in (
            ("load_balancer", "Any API server is ready.", "/haproxy_monitor", numbers.load_balancer),
            ("api", "This machine's API server is ready.", "/own_api", numbers.api),
            ("config_server", "New machines get their config here.", "/own_config_server", numbers.config_server),
        )
    )
    peers: list[Machine] = [plan.bootstrap, *_others(plan, server)]
    # Ranks differ: equal ones would compete for the VIP for some milliseconds (keepalived 2.2.7, 2026-11).
    share = VipShare("API", plan.api, numbers.control_plane - rank, checks, rank)
    return _instances(plan, share, server, peers)


def _provisioning(plan: Intent, server: Server, vip: Vip) -> tuple[Instance, ...]:
    """Return the instance of the address at which compute boots, among the servers' own addresses there."""
    priority = plan.api.priorities.control_plane - plan.control_plane.index(server)
    checks = (
        Check(
            "provisioning_proxy",
            "No weight: a node that cannot lead network boots to this program does not claim their VIP.",
            f"{OKD_CHECK} {PROVISIONING_PORT} /provisioning_proxy_ready",
            None,
            interval_s=2,
            timeout_s=2,
        ),
    )
    others = [_on_provisioning_network(other) for other in _others(plan, server)]
    share = VipShare("PROVISIONING", vip, priority, checks)
    return _instances(plan, share, _on_provisioning_network(server), others)


def _others(plan: Intent, server: Server) -> list[PlannedHost]:
    """Return the other hosts that claim the VIPs of a server's role, now or later."""
    return [other for other in plan.claimants(server.role) if other is not server]


def _on_provisioning_network(host: PlannedHost) -> PlannedHost:
    """Return the host with its address there in place of those in the machine network."""
    return host.changed(addresses=(host.provisioning_address,))


def _ingress(plan: Intent, server: Server) -> tuple[Instance, ...]:
    numbers = plan.ingress.priorities
    checks = (
        Check(
            "router_alive",
            "No weight: a node whose router is dead does not claim the VIP.",
            f"{OKD_CHECK} {ROUTER_PORT} /healthz",
            None,
            interval_s=1,
            timeout_s=1,
            fall=2,
        ),
        Check(
            "router_ready",
            "The router accepts connections.",
            f"{OKD_CHECK} {ROUTER_PORT} /healthz/ready",
            numbers.router_ready,
            interval_s=1,
            timeout_s=1,
            fall=2,
        ),
        Check(
            "default_router",
            "The router is one of the default router, which serves *.apps.",
            f"{BIN}/okd-default-router.sh",
            numbers.default_router,
            interval_s=5,
            timeout_s=5,
            fall=2,
        ),
    )
    share = VipShare("INGRESS", plan.ingress, numbers.node, checks)
    return _instances(plan, share, server, _others(plan, server))


def _instances(plan: Intent, share: VipShare, machine: Machine, others: Iterable[Machine]) -> tuple[Instance, ...]:
    """Return one instance per family of a VIP."""
    vip, others = share.vip, tuple(others)
    return tuple(
        Instance(
            name=f"{plan.name}_{share.what}_{number}",
            why=_why(plan, share, others),
            interface=placeholder(address),
            vrid=vip.vrid,
            priority=share.priority,
            # keepalived labels only IPv4 VIPs. It marks IPv6 VIPs as deprecated, so no connection has them as source.
            vip=f"{host_route(address)} label vip" if address.version == IPV4 else host_route(address),
            route="" if address.version == IPV4 else f"local {host_route(address)} dev lo table local no_track",
            checks=share.checks,
            source=machine.address_of(address.version),
            peers=tuple(other.address_of(address.version) for other in others) if vip.transport == "unicast" else (),
            password=share.password if address.version == IPV4 else "",
            preempt_delay_s=share.rank,
        )
        for number, address in enumerate(vip.addresses)
    )


def _why(plan: Intent, share: VipShare, others: Collection[Machine]) -> tuple[str, ...]:
    if plan.balancer is Balancer.OPERATOR:
        first = (
            "Adverts go one way: the nodes' keepalived, of the machine-config operator, does not list this machine."
        )
    elif share.vip.transport == "unicast" and not others:
        first = "Multicast: no other machine claims the VIP, and keepalived knows no unicast without peers."
    elif share.vip.transport == "unicast":
        first = "Every machine lists all others, always: if only one side lists the other, both become MASTER."
    elif share.what == "INGRESS":
        first = "Multicast: no machine could list hosts that are added later as its peers."
    else:
        first = "Multicast: every machine of the network receives it."
    delay = "A delay of one second per rank: after the bootstrap's release, only the first node takes the VIP."
    return (first, delay) if share.rank else (first,)


def placeholder(vip: Address) -> str:
    """Return the placeholder for the interface of a VIP's network; okd-keepalived.sh fills it in on the machine."""
    return f"@INTERFACE:{vip}@"


def host_route(vip: Address) -> str:
    """Return the VIP as /32 or /128: its network's prefix would add a route (baremetal-runtimecfg b1f003f56)."""
    return f"{vip}/{vip.max_prefixlen}"
