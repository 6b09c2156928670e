"""Which way the kernel would send to an address: rtnetlink(7), of either family."""

import os
import socket
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address

HEADER = struct.Struct("=IHHII")
"""nlmsghdr: length, type, flags, sequence, port."""
ROUTE = struct.Struct("=8BI")
"""rtmsg: family, length of the destination in bits, …, type, flags."""
ATTRIBUTE = struct.Struct("=HH")
"""rtattr: length, type."""
RTM_GETROUTE, NLM_F_REQUEST, NLMSG_ERROR = 26, 1, 2
RTN_UNICAST = 1
RTA_DST, RTA_OIF, RTA_GATEWAY, RTA_VIA = 1, 4, 5, 18


@dataclass(frozen=True)
class Route:
    """One route."""

    interface: str
    unicast: bool
    """False: to this machine itself, or to a group."""
    gateway: str
    """Empty: the address is on the interface's network."""


def route_to(address: str) -> Route:
    """The route that a packet to `address` would take.

    Raises:
        OSError: There is none.
    """
    wanted = ip_address(address).packed
    family = socket.AF_INET if len(wanted) == 4 else socket.AF_INET6  # noqa: PLR2004
    body = ROUTE.pack(family, 8 * len(wanted), 0, 0, 0, 0, 0, 0, 0)
    body += ATTRIBUTE.pack(ATTRIBUTE.size + len(wanted), RTA_DST) + wanted
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
        kernel.send(HEADER.pack(HEADER.size + len(body), RTM_GETROUTE, NLM_F_REQUEST, 1, 0) + body)
        answer = kernel.recv(8192)
    _, kind, *_ = HEADER.unpack_from(answer)
    body = answer[HEADER.size :]
    if kind == NLMSG_ERROR:
        code = -int.from_bytes(body[:4], sys.byteorder, signed=True)
        raise OSError(code, os.strerror(code))
    attributes = dict(_attributes(body[ROUTE.size :]))
    # RTA_VIA is a gateway of the other family, with its number before it.
    gateway = attributes.get(RTA_GATEWAY) or attributes.get(RTA_VIA, b"")[2:]
    return Route(
        interface=socket.if_indextoname(int.from_bytes(attributes[RTA_OIF], sys.byteorder)),
        unicast=ROUTE.unpack_from(body)[7] == RTN_UNICAST,
        gateway=str(ip_address(gateway)) if gateway else "",
    )


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    while data:
        length, kind = ATTRIBUTE.unpack_from(data)
        yield kind, data[ATTRIBUTE.size : length]
        data = data[length + 3 & ~3 :]
