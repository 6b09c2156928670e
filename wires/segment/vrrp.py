"""A passive listener for VRRP advertisements on the segment (version 2: RFC 3768; version 3: RFC 5798)."""

from dataclasses import dataclass
from ipaddress import ip_address

from wires.segment.packets import (
    ETH_P_ALL,
    ETH_P_IP,
    IF_EQUAL,
    LOAD_BYTE,
    LOAD_HALF,
    PROMISCUOUS,
    RETURN,
    frames,
    keep_only,
    let_through,
    packets,
)

ETH_P_IPV6 = 0x86DD
VRRP = 112
"""Number of the protocol in an IPv4 header, and of the next header in IPv6."""
ADVERTISEMENT = 1
ETHERNET, IPV4, IPV6, MESSAGE = 14, 20, 40, 8
"""Lengths of the headers of Ethernet, IPv4 without options, IPv6 and VRRP, in bytes."""

VRRP_ALONE = (
    (LOAD_HALF, 0, 0, 12),
    (IF_EQUAL, 0, 2, ETH_P_IP),
    (LOAD_BYTE, 0, 0, 23),
    (IF_EQUAL, 3, 4, VRRP),
    (IF_EQUAL, 0, 3, ETH_P_IPV6),
    (LOAD_BYTE, 0, 0, 20),
    (IF_EQUAL, 0, 1, VRRP),
    (RETURN, 0, 0, 0xFFFF),
    (RETURN, 0, 0, 0),
)


@dataclass(frozen=True)
class Advert:
    """A master's advertisement of one virtual router."""

    version: int
    """2 or 3."""
    vrid: int
    priority: int
    """0: the master gives the VIPs up."""
    interval_s: float
    source: str
    """Address of the master; with IPv6 multicast always a link-local one."""
    mac: str
    """MAC that sent it, `aa:bb:cc:dd:ee:ff`."""
    vips: tuple[str, ...]


def adverts(interface: str, *, wait_s: float) -> tuple[Advert, ...]:
    """Listen on an interface for adverts of both versions and families.

    Unicast adverts are included if they pass the interface: on a bridge, those between its ports.

    Args:
        interface: Name of an interface of this machine.
        wait_s: Seconds to listen. A master advertises once per interval, usually 1 s.

    Returns:
        Each distinct advert once, in order of arrival.

    Raises:
        SegmentError: Raw sockets are not permitted, or the interface does not exist.
    """
    with packets(interface, ETH_P_ALL, "VRRP") as wire:
        keep_only(wire, VRRP_ALONE)
        let_through(wire, interface, PROMISCUOUS)
        heard = (parse(frame) for frame in frames(wire, wait_s))
        return tuple(dict.fromkeys(advert for advert in heard if advert))


def parse(frame: bytes) -> Advert | None:
    """Return the advert in an Ethernet frame. None: the frame has none.

    The checksum is not verified, because a sender of a wrong checksum uses the VRID all the same.
    """
    ethertype, packet = int.from_bytes(frame[12:ETHERNET]), frame[ETHERNET:]
    if ethertype == ETH_P_IP and packet[9:10] == bytes([VRRP]):
        length, source, size = max(IPV4, 4 * (packet[0] & 0x0F)), packet[12:16], 4
        message = packet[length : int.from_bytes(packet[2:4])]
    elif ethertype == ETH_P_IPV6 and packet[6:7] == bytes([VRRP]):
        source, size = packet[8:24], 16
        message = packet[IPV6 : IPV6 + int.from_bytes(packet[4:6])]
    else:
        return None
    if len(message) < MESSAGE:
        return None
    head, vrid, priority, count = message[:4]
    version, end = head >> 4, MESSAGE + count * size
    if head & 0x0F != ADVERTISEMENT or version not in (2, 3) or len(message) < end:
        return None
    interval_s = message[5] if version == 2 else (int.from_bytes(message[4:6]) & 0x0FFF) / 100  # noqa: PLR2004
    vips = tuple(str(ip_address(message[at : at + size])) for at in range(MESSAGE, end, size))
    return Advert(version, vrid, priority, interval_s, str(ip_address(source)), frame[6:12].hex(":"), vips)
