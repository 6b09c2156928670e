"""Queries of the kernel's network tables over rtnetlink(7), which need no permission."""

import os
import socket
import struct
import sys
from collections.abc import Iterator
from ipaddress import ip_address

from cluster.values.address import IPV4

HEADER = struct.Struct("=IHHII")
"""The struct nlmsghdr: length, type, flags, sequence, port."""
ATTRIBUTE = struct.Struct("=HH")
"""The struct rtattr: length, type."""
NLM_F_REQUEST, NLMSG_ERROR = 1, 2


def family_of(address: str) -> socket.AddressFamily:
    """Return AF_INET or AF_INET6."""
    return socket.AF_INET if ip_address(address).version == IPV4 else socket.AF_INET6


def ask(kind: int, head: bytes, attribute: int, address: str) -> bytes:
    """Send one query about an address to the kernel, and return its answer.

    Args:
        kind: Type of the message: RTM_GET….
        head: The struct of that type.
        attribute: Type of the attribute that holds the address.
        address: IPv4 or IPv6.

    Returns:
        The answer's struct and attributes.

    Raises:
        OSError: The kernel has no entry for the address.
    """
    wanted = ip_address(address).packed
    body = head + ATTRIBUTE.pack(ATTRIBUTE.size + len(wanted), attribute) + wanted
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
        kernel.send(HEADER.pack(HEADER.size + len(body), kind, NLM_F_REQUEST, 1, 0) + body)
        answer = kernel.recv(8192)
    _, answered, *_ = HEADER.unpack_from(answer)
    body = answer[HEADER.size :]
    if answered == NLMSG_ERROR:
        code = -int.from_bytes(body[:4], sys.byteorder, signed=True)
        raise OSError(code, os.strerror(code))
    return body


def attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the type and value of each attribute."""
    while data:
        length, kind = ATTRIBUTE.unpack_from(data)
        yield kind, data[ATTRIBUTE.size : length]
        data = data[length + 3 & ~3 :]
