"""Which of its static addresses is a node's, where several interfaces of the host have one."""

from collections.abc import Sequence

from cluster.install_config.platform import DISABLED
from cluster.plan.model import Intent, PlannedHost
from cluster.plan.network_config import NetworkInterface
from cluster.values.address import IPV4, IPV6, Address, Network, in_any


def static_addresses(intent: Intent, host: PlannedHost) -> tuple[Address, ...]:
    """Return the static addresses of a host's `networkConfig` by which the cluster knows it, IPv4 first.

    Per family, they are those of one interface with an address in a machine network. The API VIP's network comes
    before the others, as on the machine itself (KUBELET_NODEIP_HINT). Of several interfaces there, it is that of the
    default route, else that with the boot MAC. A family has no address if several interfaces may be meant.
    """
    return tuple(address for version in (IPV4, IPV6) for address in _of_family(intent, host, version))


def on_machine_network(intent: Intent, host: PlannedHost) -> tuple[NetworkInterface, ...]:
    """Return the interfaces that are up and may be on the machine network: not the card on a provisioning network."""
    boots_here = intent.provisioning.mode == DISABLED
    return tuple(interface for interface in host.network.up if boots_here or interface.mac != host.boot_mac)


def asks_dhcp(intent: Intent, host: PlannedHost, version: int) -> bool:
    """Return whether DHCP may give a host an address of a family on the machine network.

    An interface of its `networkConfig` asks. Or no interface there reaches the machine network: then the boot card
    asks, by a keyfile that this program adds.
    """
    interfaces, families = on_machine_network(intent, host), {vip.version for vip in intent.api.addresses}
    if any(interface.automatic & families for interface in interfaces):
        return any(version in interface.automatic for interface in interfaces)
    networks = list(intent.machine_networks)
    return not any(_in(interface, networks) or interface.mac == host.boot_mac for interface in interfaces)


def has_static(intent: Intent, host: PlannedHost, version: int) -> bool:
    """Return whether a host has static addresses of a family in machine networks, of which an option may name one."""
    networks = _of(intent.machine_networks, version)
    return any(_in(interface, networks) for interface in on_machine_network(intent, host))


def unused(intent: Intent, host: PlannedHost, version: int) -> str:
    """Return the static addresses of a family of a host that has no node's address, each with the reason."""
    named = (
        (static.address, interface)
        for interface in host.network.interfaces
        for static in interface.addresses
        if static.address.version == version
    )
    return "; ".join(f"{address} {_reason(intent, host, interface, address)}" for address, interface in named)


def _reason(intent: Intent, host: PlannedHost, interface: NetworkInterface, address: Address) -> str:
    if not interface.is_up:
        return f"is of {interface.name}, which is {interface.state}"
    if interface not in on_machine_network(intent, host):
        return "is of the card on the provisioning network"
    networks = _of(intent.machine_networks, address.version)
    if not in_any(address, networks):
        return f"is outside machineNetwork {', '.join(map(str, networks))}"
    return f"of {interface.name} is one of several in machineNetwork"


def _of_family(intent: Intent, host: PlannedHost, version: int) -> list[Address]:
    allowed = _of(intent.machine_networks, version)
    leaving = {route.interface for route in host.network.routes if route.is_default and route.version == version}
    for networks in (_of(intent.api.networks, version), allowed):
        found = [interface for interface in on_machine_network(intent, host) if _in(interface, networks)]
        routed = [interface for interface in found if interface.name in leaving] or found
        chosen = [interface for interface in routed if interface.mac == host.boot_mac] or routed
        if len(chosen) == 1:
            first = _in(chosen[0], networks)
            return first + [address for address in _in(chosen[0], allowed) if address not in first]
        if chosen:
            break
    return []


def _in(interface: NetworkInterface, networks: list[Network]) -> list[Address]:
    return [static.address for static in interface.addresses if in_any(static.address, networks)]


def _of(networks: Sequence[Network], version: int) -> list[Network]:
    return [network for network in networks if network.version == version]
