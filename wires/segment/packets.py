"""Frames of one interface, as they are on the wire."""

import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager

from providers.base.errors import SegmentError

SOL_PACKET, PACKET_ADD_MEMBERSHIP = 263, 1
PROMISCUOUS, ALL_MULTICAST = 1, 2
"""PACKET_MR_…: what an interface lets through beside what is its own."""
QUEUED = 1000
"""More than a queue of Linux's default size has; others come while it is emptied."""


def let_through(wire: socket.socket, interface: str, what: int) -> None:
    """Have an interface let more through, as long as the socket lives."""
    request = struct.pack("iHH8s", socket.if_nametoindex(interface), what, 0, bytes(8))
    wire.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, request)


@contextmanager
def packets(interface: str, ethertype: int, what: str) -> Iterator[socket.socket]:
    """A packet socket that sends and receives whole Ethernet frames of one type.

    Args:
        interface: Name of an interface of this machine.
        ethertype: ETH_P_….
        what: What the frames are, for people.

    Raises:
        SegmentError: Raw sockets are not permitted, or the interface is not there or down.
    """
    try:
        # Of no protocol until it is bound: else frames of other interfaces would be in its queue already.
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as wire:
            wire.bind((interface, ethertype))
            yield wire
    except PermissionError as error:
        fix = "run as root, or give the process CAP_NET_RAW"
        what = f"raw sockets are not permitted, so nobody's {what} is seen"
        raise SegmentError(what, where=interface, fix=fix) from error
    except OSError as error:
        raise SegmentError(f"no {what} here: {error}", where=interface, fix="set the bridge up") from error


def frames(wire: socket.socket, wait_s: float) -> Iterator[bytes]:
    """What comes within `wait_s` seconds; on a busy machine some of it is still in the queue after them."""
    until = time.monotonic() + wait_s
    late = 0
    while late < QUEUED:
        left = max(until - time.monotonic(), 0)
        late += not left
        wire.settimeout(left)
        try:
            yield wire.recv(2048)
        except (TimeoutError, BlockingIOError):
            return


def checksum(data: bytes) -> int:
    """Internet checksum (RFC 1071); 0 over data that has its own right one in it."""
    total = sum(int.from_bytes(data[at : at + 2].ljust(2, b"\0")) for at in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
