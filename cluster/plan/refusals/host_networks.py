"""Static networks that nmstate or the installer accepts, and on which a machine does not work."""

from collections.abc import Iterator

from base.errors import Fault
from cluster.install_config.platform import BARE
from cluster.plan.model import Intent, Server
from cluster.plan.network_config import NetworkInterface, StaticAddress, StaticRoute
from cluster.plan.node_addresses import asks_dhcp, on_machine_network
from cluster.values.address import Address, Network, in_any

USABLE_DNS = "write a DNS server that is neither a VIP nor a node"


def network_faults(intent: Intent) -> Iterator[Fault]:
    """Yield the faults of the machines' static networks; each `where` is a path of the install-config."""
    if (static := intent.bootstrap.static) and _is_itself(static.dns):
        what = f"{static.dns} is the machine itself, which would not resolve the site's names"
        yield Fault(f"{BARE}.bootstrapExternalStaticDNS", what, USABLE_DNS)
    for index, host in enumerate(intent.hosts):
        for fault in _faults_of(intent, host) if isinstance(host, Server) else ():
            yield Fault(f"{BARE}.hosts[{index}].networkConfig.{fault.where}", fault.what, fault.fix)


def _faults_of(intent: Intent, server: Server) -> Iterator[Fault]:
    yield from _narrow(intent, server)
    yield from _unreachable_gateways(intent, server)
    yield from _rivals(intent, server)
    yield from _no_dns(server)


def _narrow(intent: Intent, server: Server) -> Iterator[Fault]:
    """Yield the prefixes that leave out a VIP that the server claims, or a gateway, of the same machine network."""
    fix = "write that of the server's network, in which all of them must be"
    for interface in on_machine_network(intent, server):
        for static in interface.addresses:
            if static.address.version in interface.automatic:
                continue  # the machine may learn a larger network
            missed = [*_missed_vips(intent, server, static), *_missed_gateways(intent, server, interface, static)]
            if missed:
                yield Fault(f"{static.path}.prefix-length", f"{static.cidr} leaves out {' and '.join(missed)}", fix)


def _missed_vips(intent: Intent, server: Server, static: StaticAddress) -> Iterator[str]:
    """Yield the VIPs that no card of the server reaches, of the machine network of the node's address."""
    if static.address not in server.addresses:
        return
    links = [link for card in on_machine_network(intent, server) for link in server.network.on_link(card)]
    for name, vip in (("the API VIP", intent.api), ("the Ingress VIP", intent.ingress)):
        for address in vip.addresses if vip in intent.vips_of(server.role) else ():
            if in_any(address, _around(intent, static.address)) and not in_any(address, links):
                yield f"{name} {address}"


def _missed_gateways(
    intent: Intent, server: Server, interface: NetworkInterface, static: StaticAddress
) -> Iterator[str]:
    for route in _gateways(server, interface):
        around, link = _around(intent, static.address), server.network.on_link(interface)
        if route.gateway and in_any(route.gateway, around) and not in_any(route.gateway, link):
            yield f"the gateway {route.gateway}"


def _unreachable_gateways(intent: Intent, server: Server) -> Iterator[Fault]:
    """Yield the gateways off their interface's link. Nmstate refuses those of an interface without any address."""
    for interface in server.network.up:
        around = [network for static in interface.addresses for network in _around(intent, static.address)]
        for route in _gateways(server, interface):
            link = [each for each in server.network.on_link(interface) if each.version == route.version]
            if link and route.gateway and not in_any(route.gateway, [*link, *around]):
                what = f"{route.gateway} is not on the link of {interface.name}, {', '.join(map(str, link))}"
                yield Fault(f"{route.path}.next-hop-address", what, "write the address of a router on that link")


def _gateways(server: Server, interface: NetworkInterface) -> Iterator[StaticRoute]:
    """Yield the routes through an interface whose gateway only a static network can hold."""
    for route in server.network.routes:
        through = route.interface == interface.name and route.version not in interface.automatic
        if through and route.gateway and not route.gateway.is_link_local:
            yield route


def _rivals(intent: Intent, server: Server) -> Iterator[Fault]:
    """Yield what may lead the machine to another address than the node's.

    It takes one whose network has the address in KUBELET_NODEIP_HINT, else one of the default route's interface.
    """
    hint, vips = intent.api.networks[0], {*intent.api.addresses, *intent.ingress.addresses}
    own = next((address for address in server.addresses if address.version == hint.version), None)
    statics = [
        (interface, static)
        for interface in server.network.up
        for static in interface.addresses
        if static.address.version == hint.version and static.address not in vips
    ]
    through = next((interface for interface, static in statics if static.address == own), None)
    if own is None or not (through or asks_dhcp(intent, server, hint.version)):
        return
    sought = hint.network_address
    beside = {interface: static for interface, static in reversed(statics) if sought in static.cidr.network}
    for interface, static in beside.items():
        if static.address != own:
            reason = f"includes {sought}, by which the node finds its address"
            what = f"{static.cidr} of {interface.name} {reason}: it may use this one instead of {own}"
            yield Fault(f"{static.path}.ip", what, "keep only one of the two on that network")
    if through and not beside and not any(hint.version in interface.automatic for interface in server.network.up):
        yield from _rivals_by_route(server, own, through)


def _rivals_by_route(server: Server, own: Address, through: NetworkInterface) -> Iterator[Fault]:
    """Yield the default routes that do not lead through the interface of a server's own address, or a lack of any."""
    routes = [route for route in server.network.routes if route.is_default and route.version == own.version]
    for route in routes:
        if route.interface != through.name:
            what = f"{route.interface}, so the node may use that interface's address instead of {own}"
            yield Fault(
                f"{route.path}.next-hop-interface", what, f"have it lead through {through.name}, to a router there"
            )
    if not routes:
        what = f"no default route, by which the node finds its own address, {own}"
        yield Fault("routes.config", what, f"add one through {through.name}")


def _no_dns(server: Server) -> Iterator[Fault]:
    interfaces = server.network.up
    static = {static.address for interface in interfaces for static in interface.addresses}
    if static.isdisjoint(server.addresses) or any(interface.automatic_dns for interface in interfaces):
        return
    if all(_is_itself(dns.address) for dns in server.network.dns_servers):
        reason = "no server of the site, and no interface gets any from DHCP"
        what = f"{reason}: the node would not resolve the site's names"
        yield Fault("dns-resolver.config.server", what, USABLE_DNS)


def _is_itself(address: Address) -> bool:
    return address.is_loopback or address.is_unspecified


def _around(intent: Intent, address: Address) -> list[Network]:
    return [network for network in intent.machine_networks if in_any(address, [network])]
