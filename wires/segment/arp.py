"""Finds the machines that answer ARP for an IPv4 address."""

import fcntl
import socket
import struct

from wires.segment.packets import frames, packets

ETH_P_ARP = 0x0806
SIOCGIFADDR = 0x8915
REQUEST, REPLY = 1, 2
BROADCAST = b"\xff" * 6
ETHERNET_IPV4 = struct.pack("!HHBB", 1, 0x0800, 6, 4)


def answering_macs(interface: str, address: str, wait_s: float) -> frozenset[str]:
    """Send one ARP request, and return the MACs that answer within `wait_s` seconds, as `aa:bb:cc:dd:ee:ff`.

    Raises:
        SegmentError: Raw sockets are not permitted, or the interface does not exist.
    """
    wanted = socket.inet_aton(address)
    with packets(interface, ETH_P_ARP, "ARP") as wire:
        wire.send(_request(wire.getsockname()[4], _own_address(interface), wanted))
        return _answers(wire, wanted, wait_s)


def _own_address(interface: str) -> bytes:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            return fcntl.ioctl(probe, SIOCGIFADDR, struct.pack("256s", interface.encode()))[20:24]
        except OSError:
            return b"\0" * 4  # without an address, send a probe as in RFC 5227


def _request(mac: bytes, own: bytes, wanted: bytes) -> bytes:
    arp = ETHERNET_IPV4 + struct.pack("!H", REQUEST) + mac + own + b"\0" * 6 + wanted
    return BROADCAST + mac + struct.pack("!H", ETH_P_ARP) + arp


def _answers(wire: socket.socket, wanted: bytes, wait_s: float) -> frozenset[str]:
    return frozenset(
        frame[22:28].hex(":")
        for frame in frames(wire, wait_s)
        if len(frame) >= 42 and frame[20:22] == struct.pack("!H", REPLY) and frame[28:32] == wanted  # noqa: PLR2004
    )
