"""Finds the machines that answer an address on the segment: by ARP for IPv4, by neighbour discovery for IPv6."""

import logging
import socket
from collections.abc import Callable
from functools import partial
from ipaddress import ip_address

from base.errors import OwnAddressError, SegmentError
from base.shown import few
from cluster.values.address import IPV4
from wires.segment import arp, nd
from wires.segment.routes import route_to
from wires.segment.tcp_probe import reached_macs

_log = logging.getLogger(__name__)

QUESTIONS = 3
"""How often `asked_again` asks."""
UNPROVEN = (
    "raw sockets are not permitted, so holders were found by TCP connections: a second machine that answers a VIP"
    " would not be seen. Run as root, or give the process CAP_NET_RAW"
)


def answering_macs(interface: str, address: str, *, wait_s: float = 0.3) -> frozenset[str]:
    """Send one ARP request or neighbour solicitation, and return the MACs that answer.

    Args:
        interface: Name of the interface on the address's network.
        address: IPv4 or IPv6.
        wait_s: Seconds to wait for answers.

    Returns:
        Each MAC as `aa:bb:cc:dd:ee:ff`; more than one if several machines have the address.

    Raises:
        SegmentError: Raw sockets are not permitted, or the interface does not exist.
    """
    ask = arp.answering_macs if ip_address(address).version == IPV4 else nd.answering_macs
    return ask(interface, address, wait_s)


def unproven() -> str | None:
    """Return what `macs_at` cannot see without raw sockets. None: it sees every machine that answers."""
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    except PermissionError:
        return UNPROVEN
    return None


def macs_at(address: str, *, wait_s: float = 0.3) -> frozenset[str]:
    """Return the same as `macs_on`, on the interface that is on the address's network.

    Raises:
        SegmentError: This machine is not on that network.
        OwnAddressError: The address is its own.
    """
    return macs_on(interface_to(address), address, wait_s=wait_s)


def macs_on(interface: str, address: str, *, wait_s: float = 0.3) -> frozenset[str]:
    """Return all MACs that answer an address or, if raw sockets are not permitted, the one that TCP reaches.

    Raises:
        SegmentError: The interface does not exist.
    """
    ask = reached_macs if unproven() else answering_macs
    macs = ask(interface, address, wait_s=wait_s)
    _log.debug("%s on %s: answered by %s", address, interface, " and ".join(few(macs)) or "nobody")
    return macs


def all_macs_on(interface: str, address: str) -> frozenset[str]:
    """Return what `macs_on` does, asked several times.

    Raises:
        SegmentError: The interface does not exist.
    """
    return asked_again(partial(macs_on, interface, address))


def asked_again(ask: Callable[[], frozenset[str]]) -> frozenset[str]:
    """Return the answers to several questions, as RFC 5227 asks them: a lost one would hide a machine."""
    return frozenset[str]().union(*(ask() for _ in range(QUESTIONS)))


def interface_to(address: str) -> str:
    """Return the name of the interface that is on the network of `address`.

    Raises:
        SegmentError: This machine is not on that network.
        OwnAddressError: The address is its own.
    """
    try:
        route = route_to(address)
    except OSError as error:
        raise _no_interface(address, str(error)) from error
    if route.gateway:
        raise _no_interface(address, f"it is behind the gateway {route.gateway}")
    if not route.unicast:
        raise own_address(address)
    return route.interface


def own_address(address: str) -> OwnAddressError:
    """Return the error of an address that is this machine's own."""
    what = "an address of this machine itself, so no other machine can be asked for it"
    return OwnAddressError(what, where=address, fix="remove it from this machine, or write another one")


def _no_interface(address: str, reason: str) -> SegmentError:
    fix = "give the provisioner's bridge an address on the machine network"
    return SegmentError(f"no interface of this machine is on its network ({reason})", where=address, fix=fix)
