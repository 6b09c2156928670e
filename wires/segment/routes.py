"""The kernel's route to an address, of either family."""

import socket
import struct
import sys
from dataclasses import dataclass
from ipaddress import ip_address

from wires.segment import netlink

ROUTE = struct.Struct("=8BI")
"""The struct rtmsg: family, length of the destination in bits, …, type, flags."""
DISCARD = 9
"""Any port does: nothing is sent to it."""
RTM_GETROUTE = 26
RTN_UNICAST = 1
RTA_DST, RTA_OIF, RTA_GATEWAY, RTA_VIA = 1, 4, 5, 18


@dataclass(frozen=True)
class Route:
    """One route."""

    interface: str
    unicast: bool
    """False: the address is this machine's own, or a group's."""
    gateway: str
    """Empty if the address is on the interface's network."""


def source_to(host: str) -> str:
    """Return the address of this machine from which packets to a host would come. No packet is sent.

    Raises:
        OSError: The host has no address, or there is no route to it.
    """
    family, kind, protocol, _, target = socket.getaddrinfo(host, DISCARD, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind, protocol) as datagrams:
        datagrams.connect(target)
        return str(datagrams.getsockname()[0])


def route_to(address: str) -> Route:
    """Return the route that a packet to `address` would take.

    Raises:
        OSError: There is no route.
    """
    head = ROUTE.pack(netlink.family_of(address), ip_address(address).max_prefixlen, 0, 0, 0, 0, 0, 0, 0)
    body = netlink.ask(RTM_GETROUTE, head, RTA_DST, address)
    attributes = dict(netlink.attributes(body[ROUTE.size :]))
    # RTA_VIA is a gateway of the other family: two bytes with the number of the family, then the address.
    gateway = attributes.get(RTA_GATEWAY) or attributes.get(RTA_VIA, b"")[2:]
    return Route(
        interface=socket.if_indextoname(int.from_bytes(attributes[RTA_OIF], sys.byteorder)),
        unicast=ROUTE.unpack_from(body)[7] == RTN_UNICAST,
        gateway=str(ip_address(gateway)) if gateway else "",
    )
