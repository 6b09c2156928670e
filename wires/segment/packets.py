"""Raw Ethernet frames of one interface."""

import ctypes
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from providers.base.errors import SegmentError

SOL_PACKET, PACKET_ADD_MEMBERSHIP = 263, 1
PROMISCUOUS, ALL_MULTICAST = 1, 2
"""PACKET_MR_…: frames that an interface receives besides its own."""
SO_ATTACH_FILTER = 26
LOAD_HALF, LOAD_BYTE, IF_EQUAL, RETURN = 0x28, 0x30, 0x15, 0x06
"""Codes of a filter's instructions (the kernel's Documentation/networking/filter.rst)."""
QUEUED = 1000
"""Most frames to read after the time is over: more than a queue of Linux's default size holds."""


def let_through(wire: socket.socket, interface: str, what: int) -> None:
    """Have an interface receive more frames until the socket is closed."""
    request = struct.pack("iHH8s", socket.if_nametoindex(interface), what, 0, bytes(8))
    wire.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, request)


def keep_only(wire: socket.socket, program: Sequence[tuple[int, int, int, int]]) -> None:
    """Have the kernel drop the frames that a filter returns 0 for: otherwise a busy bridge would fill the queue.

    Args:
        wire: A packet socket.
        program: Each instruction: code, instructions to skip if equal, if not equal, operand.
    """
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *each) for each in program))
    wire.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", len(program), ctypes.addressof(code)))


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
        raise SegmentError(f"no {what} here: {error}", where=interface, fix="set the bridge up") from error


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
