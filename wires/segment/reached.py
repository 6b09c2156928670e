"""Who is behind an address, seen without raw sockets: whom a TCP connection reaches. A second one is not seen."""

import socket
import struct

from wires.segment import netlink

DISCARD = 9
"""A port on which nobody listens: what comes back is the kernel's refusal."""
NEIGHBOUR = struct.Struct("=BxxxiHBB")
"""ndmsg: family, interface, state, flags, type."""
RTM_GETNEIGH, NDA_DST, NDA_LLADDR = 30, 1, 2


def reached_macs(interface: str, address: str, wait_s: float) -> frozenset[str]:
    """MAC of the machine that takes or refuses a connection within `wait_s` seconds, `aa:bb:cc:dd:ee:ff`; or none."""
    try:
        socket.create_connection((address, DISCARD), timeout=wait_s).close()
    except ConnectionRefusedError:
        pass
    except OSError:
        return frozenset()
    return _last_sent_to(interface, address)


def _last_sent_to(interface: str, address: str) -> frozenset[str]:
    """By the kernel's table of neighbours, which follows gratuitous answers as any client's does."""
    try:
        head = NEIGHBOUR.pack(netlink.family_of(address), socket.if_nametoindex(interface), 0, 0, 0)
        body = netlink.ask(RTM_GETNEIGH, head, NDA_DST, address)
    except OSError:  # none, or the interface has gone
        return frozenset()
    mac = dict(netlink.attributes(body[NEIGHBOUR.size :])).get(NDA_LLADDR)
    return frozenset({mac.hex(":")} if mac else ())
