"""Finds the machines that answer neighbour solicitations for an IPv6 address (RFC 4861)."""

import socket
import struct

from wires.segment.packets import ALL_MULTICAST, checksum, frames, let_through, packets

ETH_P_IPV6 = 0x86DD
ICMPV6, HOPS = 58, 255
SOLICITATION, ADVERTISEMENT = 135, 136
SOURCE_MAC, TARGET_MAC = 1, 2
UNSPECIFIED = bytes(16)
ALL_NODES = "ff02::1"
ETHERNET, IPV6, MESSAGE = 14, 40, 24
"""Lengths of the two headers, and of an advertisement without options, in bytes."""


def answering_macs(interface: str, address: str, wait_s: float) -> frozenset[str]:
    """Send one neighbour solicitation, and return the MACs that answer within `wait_s` seconds, `aa:bb:cc:dd:ee:ff`.

    Raises:
        SegmentError: Raw sockets are not permitted, or the interface does not exist.
    """
    wanted = socket.inet_pton(socket.AF_INET6, address)
    with packets(interface, ETH_P_IPV6, "neighbour advertisement") as wire:
        # A solicitation from `::` is answered to all nodes, a group that an interface without IPv6 does not receive.
        let_through(wire, interface, ALL_MULTICAST)
        own = _own_address(socket.if_nametoindex(interface))
        wire.send(_solicitation(wire.getsockname()[4], own, wanted))
        return _answers(wire, wanted, wait_s)


def _own_address(index: int) -> bytes:
    """Return the address that the kernel itself would solicit from, or `::` if it has none.

    An answer to `::` refreshes the neighbour cache of every machine, and a probe should change nothing.
    """
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((ALL_NODES, 9, 0, index))
        except OSError:
            return UNSPECIFIED
        return socket.inet_pton(socket.AF_INET6, probe.getsockname()[0].partition("%")[0])


def _solicitation(mac: bytes, own: bytes, wanted: bytes) -> bytes:
    group = socket.inet_pton(socket.AF_INET6, "ff02::1:ff00:0")[:13] + wanted[13:]
    option = bytes([SOURCE_MAC, 1]) + mac if own != UNSPECIFIED else b""
    message = bytes([SOLICITATION]) + bytes(7) + wanted + option
    packet = struct.pack("!IHBB", 6 << 28, len(message), ICMPV6, HOPS) + own + group + message
    summed = packet[: IPV6 + 2] + struct.pack("!H", _checksum(packet)) + packet[IPV6 + 4 :]
    return b"\x33\x33" + group[12:] + mac + struct.pack("!H", ETH_P_IPV6) + summed


def _checksum(packet: bytes) -> int:
    """Return the checksum of a packet's ICMPv6 message and pseudo-header."""
    message = packet[IPV6:]
    return checksum(packet[8:IPV6] + struct.pack("!II", len(message), ICMPV6) + message)


def _answers(wire: socket.socket, wanted: bytes, wait_s: float) -> frozenset[str]:
    macs = (_answering_mac(frame, wanted) for frame in frames(wire, wait_s))
    return frozenset(mac.hex(":") for mac in macs if mac)


def _answering_mac(frame: bytes, wanted: bytes) -> bytes | None:
    """Return the MAC that a frame advertises for the address. None: not a valid advertisement (RFC 4861, 7.1.2)."""
    packet = frame[ETHERNET:][: IPV6 + int.from_bytes(frame[18:20])]  # short frames are padded
    message = packet[IPV6:]
    if packet[6:8] != bytes([ICMPV6, HOPS]) or len(message) < MESSAGE:
        return None
    if message[:2] != bytes([ADVERTISEMENT, 0]) or message[8:MESSAGE] != wanted or _checksum(packet):
        return None
    options = message[MESSAGE:]
    while options:
        length = 8 * options[1] if len(options) > 1 else 0
        if not 0 < length <= len(options):
            return None
        if options[0] == TARGET_MAC:
            return options[2:8]
        options = options[length:]
    return frame[6:12]
