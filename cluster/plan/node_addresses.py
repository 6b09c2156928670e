"""Which of its static addresses is a node's, where several interfaces of the host have one."""

from collections.abc import Sequence

from cluster.install_config.platform import DISABLED
from cluster.plan.model import Intent, PlannedHost
from cluster.plan.network_config import NetworkInterface
from cluster.values.address import IPV4, IPV6, Address, Network, in_any


def static_addresses(intent: Intent, host: PlannedHost) -> tuple[Address, ...]:
    """Return the static addresses of a host's `networkConfig` by which the cluster knows it, IPv4 first.

    Per family, they are those of one interface with an address in a machine network. The API VIP's network comes
    before the others, as on the machine itself (KUBELET_NODEIP_HINT); of several interfaces there, that with the boot
    MAC. A family has none if several interfaces may be meant.
    """
    interfaces = on_machine_network(intent, host)
    by_family = (
        _of_family(
            interfaces,
            host.boot_mac,
            [network for network in intent.api.networks if network.version == version],
            [network for network in intent.machine_networks if network.version == version],
        )
        for version in (IPV4, IPV6)
    )
    return tuple(address for addresses in by_family for address in addresses)


def on_machine_network(intent: Intent, host: PlannedHost) -> tuple[NetworkInterface, ...]:
    """Return the interfaces that are up and may be on the machine network: not the card on a provisioning network."""
    boots_here = intent.provisioning.mode == DISABLED
    return tuple(interface for interface in host.network.up if boots_here or interface.mac != host.boot_mac)


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
    networks = [network for network in intent.machine_networks if network.version == address.version]
    if not in_any(address, networks):
        return f"is outside machineNetwork {', '.join(map(str, networks))}"
    return "is one of several"


def _of_family(
    interfaces: Sequence[NetworkInterface], boot_mac: str, preferred: list[Network], allowed: list[Network]
) -> list[Address]:
    for networks in (preferred, allowed):
        found = [interface for interface in interfaces if _in(interface, networks)]
        booting = [interface for interface in found if interface.mac == boot_mac]
        if len(booting or found) == 1:
            interface = (booting or found)[0]
            first = _in(interface, networks)
            return first + [address for address in _in(interface, allowed) if address not in first]
        if found:
            return []
    return []


def _in(interface: NetworkInterface, networks: list[Network]) -> list[Address]:
    return [static.address for static in interface.addresses if in_any(static.address, networks)]
