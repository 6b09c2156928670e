"""Raw Ethernet frames of one interface."""

import ctypes
import errno
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from base.errors import SegmentError, word

ETH_P_ALL, ETH_P_IP = 0x0003, 0x0800
SOL_PACKET, PACKET_ADD_MEMBERSHIP = 263, 1
PROMISCUOUS, ALL_MULTICAST = 1, 2
"""PACKET_MR_…: frames that an interface receives besides its own."""
SO_ATTACH_FILTER = 26
LOAD_HALF, LOAD_BYTE, IF_EQUAL, RETURN = 0x28, 0x30, 0x15, 0x06
"""Codes of a filter's instructions (the kernel's Documentation/networking/filter.rst)."""
Program = Sequence[tuple[int, int, int, int]]
"""A filter. Each instruction: code, instructions to skip if equal, if not equal, operand."""
QUEUED = 1000
"""Most frames to read after the time is over: more than a queue of Linux's default size holds."""


def let_through(wire: socket.socket, interface: str, what: int) -> None:
    """Have an interface receive more frames until the socket is closed."""
    request = struct.pack("iHH8s", socket.if_nametoindex(interface), what, 0, bytes(8))
    wire.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, request)


def keep_only(wire: socket.socket, program: Program) -> None:
    """Have the kernel drop the frames that a filter returns 0 for: otherwise a busy bridge would fill the queue."""
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *instruction) for instruction in program))
    wire.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", len(program), ctypes.addressof(code)))


def udp_to(port: int) -> Program:
    """Return the filter that keeps UDP of IPv4 to a port."""
    return (
        (LOAD_HALF, 0, 0, 12),
        (IF_EQUAL, 0, 5, ETH_P_IP),
        (LOAD_BYTE, 0, 0, 23),
        (IF_EQUAL, 0, 3, socket.IPPROTO_UDP),
        (LOAD_HALF, 0, 0, 36),  # behind an IPv4 header without options
        (IF_EQUAL, 0, 1, port),
        (RETURN, 0, 0, 0xFFFF),
        (RETURN, 0, 0, 0),
    )


@contextmanager
def packets(interface: str, ethertype: int, what: str) -> Iterator[socket.socket]:
    """Open a packet socket that sends and receives whole Ethernet frames of one type.

    Args:
        interface: Name of an interface of this machine.
        ethertype: ETH_P_….
        what: Name of the frames, for messages.

    Raises:
        SegmentError: Raw sockets are not permitted, or the interface does not exist or is down.
    """
    try:
        # Without a protocol until it is bound: otherwise it would already queue frames of other interfaces.
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as wire:
            wire.bind((interface, ethertype))
            yield wire
    except PermissionError as error:
        fix = "run as root, or give the process CAP_NET_RAW"
        what = f"raw sockets are not permitted, so no {what} can be seen"
        raise SegmentError(what, where=interface, fix=fix) from error
    except OSError as error:
        fix = (
            "make it, or name the bridge that is there"
            if error.errno == errno.ENODEV
            else f"`ip link set {word(interface)} up`"
        )
        raise SegmentError(f"no {what} here: {error}", where=interface, fix=fix) from error


def broadcast(interface: str, packet: bytes) -> None:
    """Send an IPv4 packet by the kernel, which shows it to this machine's own servers too. A frame passes them by."""
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as wire:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        wire.sendto(packet, ("255.255.255.255", 0))


def frames(wire: socket.socket, wait_s: float) -> Iterator[bytes]:
    """Yield the frames that arrive within `wait_s` seconds, including those that are still in the queue then."""
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
    """Return the Internet checksum (RFC 1071). It is 0 for data that includes its own correct checksum."""
    total = sum(int.from_bytes(data[at : at + 2].ljust(2, b"\0")) for at in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
