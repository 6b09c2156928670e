"""The oracle of the network scripts: which interface carries a VIP, as openshift/baremetal-runtimecfg chooses it.

After pkg/config/net.go (a79e2ff2) and pkg/utils/addresses_linux.go (c78b7ed7). Two things are decided here that those
leave open: interfaces are tried in the order of their indexes (there: of a Go map), and what a running machine has in
/run/nodeip-configuration is not asked.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network

from cluster.values.address import IPV4, Address, Interface, Network, in_any

OVN_INTERNAL = ip_address("fd69::2")
PRIVATE = [ip_network(each) for each in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")]
EGRESS_LABEL = "eip"
HOST_SUBNET = 64
"""The network in which an IPv6 address from DHCP, a /128, is assumed to be."""


@dataclass(frozen=True)
class NodeAddress:
    """One address of a machine, as `ip address` lists it."""

    interface: str
    index: int
    """The index of its interface."""
    cidr: Interface
    label: str = ""
    deprecated: bool = False
    """Whether its preferred lifetime is over."""

    @property
    def address(self) -> Address:
        """The address without its prefix."""
        return self.cidr.ip


@dataclass(frozen=True)
class Route:
    """One route of a machine, as `ip route` lists it."""

    index: int
    """The index of its interface."""
    destination: Network | None
    """None for the default route."""
    gateway: Address | None = None
    priority: int = 0
    """The metric; the lowest wins."""
    advertised: bool = False
    """Whether it was learnt from a router's advertisement."""


def vip_interface(
    vip: Address, addresses: Sequence[NodeAddress], routes: Sequence[Route], vips: Collection[Address] = ()
) -> tuple[str, int] | None:
    """The interface that carries a VIP, and the VIP's prefix length there.

    Args:
        vip: The VIP.
        addresses: Of all the machine's interfaces.
        routes: Of both families.
        vips: All VIPs of the cluster: one that the machine holds is no address of its own.

    Returns:
        None if no interface has a usable address on the VIP's network, nor a default route.
    """
    found = node_address(vip, addresses, routes, vips)
    # A host route since runtimecfg b1f003f56: with its network's prefix, a VIP would bring a route along.
    return None if found is None else (found.interface, vip.max_prefixlen)


def node_address(
    vip: Address, addresses: Sequence[NodeAddress], routes: Sequence[Route], vips: Collection[Address] = ()
) -> NodeAddress | None:
    """The machine's own address beside a VIP; see `vip_interface`."""
    usable = [each for each in addresses if _usable(each) and each.address not in {vip, *vips}]
    beside = [each for each in usable if _beside(vip, each, routes)]
    if beside:
        return min(beside, key=lambda each: each.index)
    defaults: dict[int, Route] = {}
    for route in routes:
        if route.destination is None:
            defaults.setdefault(route.index, route)
    leaving = [each for each in usable if each.index in defaults]
    return min(leaving, key=lambda each: _rank(vip, each, defaults[each.index]), default=None)


def _usable(each: NodeAddress) -> bool:
    return not (
        each.address.is_link_local
        or (each.deprecated and isinstance(each.address, IPv6Address))
        or EGRESS_LABEL in each.label
        or each.address == OVN_INTERNAL
    )


def _beside(vip: Address, each: NodeAddress, routes: Sequence[Route]) -> bool:
    """Whether an address's network holds the VIP. That of a /128 is in the routers' advertisements."""
    if vip.version != each.address.version:
        return False
    if vip.version == IPV4 or each.cidr.network.prefixlen < vip.max_prefixlen:
        return vip in each.cidr.network
    advertised = (
        route.destination.prefixlen
        for route in routes
        if route.index == each.index and route.advertised and route.destination is not None
        if route.destination.version == vip.version
    )
    return any(vip in _around(each.address, max(length, HOST_SUBNET)) for length in advertised)


def _around(address: Address, length: int) -> Network:
    return ip_network((address, length), strict=False)


def _rank(vip: Address, each: NodeAddress, default: Route) -> tuple[object, ...]:
    """The lowest is chosen; an IPv4 address mapped into IPv6 comes after a real one."""
    mapped = isinstance(each.address, IPv6Address) and each.address.ipv4_mapped is not None
    beside_gateway = default.gateway is not None and default.gateway in each.cidr.network
    return (
        default.priority,
        each.index,
        each.address.version != vip.version,
        not beside_gateway,
        in_any(each.address, PRIVATE),
        mapped,
        each.address.packed,
    )
