"""Frames of the segment, and answers of the kernel, as the parsers of ARP, NDP, DHCP, VRRP and netlink get them."""

import socket
import struct
from collections.abc import Callable
from random import Random

from testing.fuzz.engine import Surface
from testing.fuzz.mutations import mutated_bytes
from wires.segment import arp, dhcp, nd, vrrp

MAC = bytes.fromhex("020000000001")
VIP4, VIP6 = socket.inet_aton("192.0.2.5"), socket.inet_pton(socket.AF_INET6, "2001:db8::5")
TRANSACTION = b"fuzz"
LONGEST = 2048
"""Bytes of a frame that `wires.segment.packets.frames` takes."""


def _ipv4(protocol: int, message: bytes) -> bytes:
    head = struct.pack("!BBHIBBH", 0x45, 0, 20 + len(message), 0, 255, protocol, 0)
    return bytes(6) + MAC + b"\x08\x00" + head + VIP4 + VIP4 + message


def _ipv6(header: int, message: bytes) -> bytes:
    return (
        bytes(6) + MAC + b"\x86\xdd" + struct.pack("!IHBB", 6 << 28, len(message), header, 255) + VIP6 * 2 + message
    )


def _offer() -> bytes:
    """Return a question of ours as an answer: an offer has the same form."""
    asked = bytearray(dhcp.discover(MAC, MAC, TRANSACTION))
    asked[36:38], asked[42] = struct.pack("!H", 68), 2
    return bytes(asked).replace(b"\x35\x01\x01", b"\x35\x01\x02\x36\x04" + VIP4)


def _advertisement() -> bytes:
    message = struct.pack("!BBHI16sBB6s", 136, 0, 0, 1 << 29, VIP6, 2, 1, MAC)
    packet = _ipv6(58, message)[14:]
    return _ipv6(58, message[:2] + struct.pack("!H", nd._checksum(packet)) + message[4:])


def _received(answers: Callable[[socket.socket], object]) -> Callable[[bytes], object]:
    """Return a parser of one frame by a parser of what a wire receives."""

    def parse(frame: bytes) -> object:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        with ours, theirs:
            theirs.send(frame[:LONGEST])
            return answers(ours)

    return parse


PARSERS: tuple[tuple[Callable[[bytes], object], tuple[bytes, ...]], ...] = (
    (vrrp.parse, (_ipv4(112, bytes([0x21, 67, 100, 1, 0, 1, 0, 0]) + VIP4 * 2),)),
    (vrrp.parse, (_ipv6(112, bytes([0x31, 67, 100, 1, 0, 99, 0, 0]) + VIP6 * 2),)),
    (lambda frame: dhcp.parse(frame, TRANSACTION), (_offer(), dhcp.discover(MAC, MAC, TRANSACTION))),
    (_received(lambda wire: arp._answers(wire, VIP4, 0)), (arp._request(MAC, VIP4, VIP4).replace(b"\0\1", b"\0\2"),)),
    (_received(lambda wire: nd._answers(wire, VIP6, 0)), (_advertisement(), nd._solicitation(MAC, VIP6, VIP6))),
)
"""Each parser, with valid frames of its protocol."""


def _make(random: Random) -> bytes:
    number = random.randrange(len(PARSERS))
    return bytes([number]) + mutated_bytes(random, random.choice(PARSERS[number][1]))[:LONGEST]


def _run(case: bytes) -> str:
    parse, _ = PARSERS[case[0]]
    parse(case[1:])
    return ""


SURFACE = Surface(_make, _run)
