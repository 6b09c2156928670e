"""Who answers an address on the segment: ARP for IPv4, neighbour discovery for IPv6."""

import socket
from ipaddress import ip_address

from cluster.values.address import IPV4
from providers.base.errors import SegmentError
from wires.segment import arp, nd
from wires.segment.reached import reached_macs
from wires.segment.routes import route_to

UNPROVEN = (
    "raw sockets are not permitted, so machines were known by whom a TCP connection reaches: that nobody else"
    " answers a VIP was not proven. Run as root, or give the process CAP_NET_RAW"
)


def answering_macs(interface: str, address: str, *, wait_s: float = 0.3) -> frozenset[str]:
    """MACs that answer one question for an address of either family.

    Args:
        interface: Name of the interface that is on the address's network.
        address: IPv4 or IPv6.
        wait_s: How long answers are waited for, in seconds.

    Returns:
        Each MAC as `aa:bb:cc:dd:ee:ff`; several where several machines have the address.

    Raises:
        SegmentError: Raw sockets are not permitted, or the interface is not there.
    """
    ask = arp.answering_macs if ip_address(address).version == IPV4 else nd.answering_macs
    return ask(interface, address, wait_s)


def unproven() -> str | None:
    """What `macs_at` cannot see from this process; None: it sees all that answers."""
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    except PermissionError:
        return UNPROVEN
    return None


def macs_at(address: str, *, wait_s: float = 0.3) -> frozenset[str]:
    """As `macs_on`, wherever the address is.

    Raises:
        SegmentError: This machine is not on that network, or the address is its own.
    """
    return macs_on(interface_to(address), address, wait_s=wait_s)


def macs_on(interface: str, address: str, *, wait_s: float = 0.3) -> frozenset[str]:
    """MACs that answer an address: all of them, or where raw sockets are not permitted, the one that is reached.

    Raises:
        SegmentError: The interface is not there.
    """
    if unproven():
        return reached_macs(interface, address, wait_s)
    return answering_macs(interface, address, wait_s=wait_s)


def interface_to(address: str) -> str:
    """Name of the interface that is on the network of `address`.

    Raises:
        SegmentError: This machine is not on that network, or the address is its own.
    """
    try:
        route = route_to(address)
    except OSError as error:
        raise _no_interface(address, str(error)) from error
    if route.gateway:
        raise _no_interface(address, f"it is behind the gateway {route.gateway}")
    if not route.unicast:
        raise _no_interface(address, "it is an address of this machine itself")
    return route.interface


def _no_interface(address: str, seen: str) -> SegmentError:
    fix = "give the provisioner's bridge an address on the machine network"
    return SegmentError(f"no interface of this machine is on its network ({seen})", where=address, fix=fix)
