"""The oracle of the network scripts: which interface carries a VIP, as chosen by openshift/baremetal-runtimecfg.

After pkg/config/net.go (a79e2ff2) and pkg/utils/addresses_linux.go (c78b7ed7). Two things differ:
interfaces are tried in the order of their indexes (there: of a Go map), and the contents of /run/nodeip-configuration
on a running machine are ignored.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network

from cluster.values.address import IPV4, Address, Interface, Network, in_any

OVN_INTERNAL = ip_address("fd69::2")
PRIVATE = [ip_network(network) for network in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")]
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
    """Return the interface that carries a VIP, and the VIP's prefix length there.

    Args:
        vip: The VIP.
        addresses: The addresses of all interfaces of the machine.
        routes: The routes of both families.
        vips: All VIPs of the cluster, which never count as the machine's own addresses.

    Returns:
        None if no interface has a usable address on the VIP's network, nor a default route.
    """
    own = node_address(vip, addresses, routes, vips)
    # A host route since runtimecfg b1f003f56: with its network's prefix, a VIP would bring a route along.
    return None if own is None else (own.interface, vip.max_prefixlen)


def node_address(
    vip: Address, addresses: Sequence[NodeAddress], routes: Sequence[Route], vips: Collection[Address] = ()
) -> NodeAddress | None:
    """Return the machine's own address on the network of a VIP; see `vip_interface`."""
    usable = [own for own in addresses if _usable(own) and own.address not in {vip, *vips}]
    beside = [address for address in usable if _beside(vip, address, routes)]
    if beside:
        return min(beside, key=lambda address: address.index)
    defaults: dict[int, Route] = {}
    for route in routes:
        if route.destination is None:
            defaults.setdefault(route.index, route)
    leaving = [address for address in usable if address.index in defaults]
    return min(leaving, key=lambda address: _rank(vip, address, defaults[address.index]), default=None)


def _usable(candidate: NodeAddress) -> bool:
    return not (
        candidate.address.is_link_local
        or (candidate.deprecated and isinstance(candidate.address, IPv6Address))
        or EGRESS_LABEL in candidate.label
        or candidate.address == OVN_INTERNAL
    )


def _beside(vip: Address, own: NodeAddress, routes: Sequence[Route]) -> bool:
    """Whether the VIP is in an address's network. For a /128, routers advertise that network."""
    if vip.version != own.address.version:
        return False
    if vip.version == IPV4 or own.cidr.network.prefixlen < vip.max_prefixlen:
        return vip in own.cidr.network
    advertised = (
        route.destination.prefixlen
        for route in routes
        if route.index == own.index and route.advertised and route.destination is not None
        if route.destination.version == vip.version
    )
    return any(vip in _around(own.address, max(length, HOST_SUBNET)) for length in advertised)


def _around(address: Address, length: int) -> Network:
    return ip_network((address, length), strict=False)


def _rank(vip: Address, own: NodeAddress, default: Route) -> tuple[object, ...]:
    """Return a rank, of which the lowest is chosen; an IPv4 address mapped into IPv6 comes after a real one."""
    mapped = isinstance(own.address, IPv6Address) and own.address.ipv4_mapped is not None
    beside_gateway = default.gateway is not None and default.gateway in own.cidr.network
    return (
        default.priority,
        own.index,
        own.address.version != vip.version,
        not beside_gateway,
        in_any(own.address, PRIVATE),
        mapped,
        own.address.packed,
    )
