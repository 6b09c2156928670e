"""Finds the machine behind an address by a TCP connection, without raw sockets. A second machine stays unseen."""

import socket
import struct

from wires.segment import netlink

DISCARD = 9
"""A port on which no program listens, so the kernel of the machine refuses the connection."""
NEIGHBOUR = struct.Struct("=BxxxiHBB")
"""The struct ndmsg: family, interface, state, flags, type."""
RTM_GETNEIGH, NDA_DST, NDA_LLADDR = 30, 1, 2


def reached_macs(interface: str, address: str, wait_s: float) -> frozenset[str]:
    """Return the MAC `aa:bb:cc:dd:ee:ff` of the machine that accepts or refuses a connection within `wait_s` seconds.

    The set is empty if no machine does.
    """
    try:
        socket.create_connection((address, DISCARD), timeout=wait_s).close()
    except ConnectionRefusedError:
        pass
    except OSError:
        return frozenset()
    return _last_sent_to(interface, address)


def _last_sent_to(interface: str, address: str) -> frozenset[str]:
    """Return the MAC in the kernel's neighbour table, which follows gratuitous ARP as any client's table does."""
    try:
        head = NEIGHBOUR.pack(netlink.family_of(address), socket.if_nametoindex(interface), 0, 0, 0)
        body = netlink.ask(RTM_GETNEIGH, head, NDA_DST, address)
    except OSError:  # no entry, or the interface is gone
        return frozenset()
    mac = dict(netlink.attributes(body[NEIGHBOUR.size :])).get(NDA_LLADDR)
    return frozenset({mac.hex(":")} if mac else ())
