"""Finds the DHCP servers that answer a PXE client (RFC 2131, RFC 4578), and takes no lease from them."""

import os
import socket
import struct
from dataclasses import dataclass

from wires.segment.packets import ETH_P_ALL, ETH_P_IP, broadcast, checksum, frames, keep_only, packets, udp_to

BROADCAST = b"\xff" * 6
UDP, SERVER_PORT, CLIENT_PORT = 17, 67, 68
BOOTREQUEST, BOOTREPLY = 1, 2
TO_BROADCAST = 0x8000
"""The flag by which a client that has no address yet asks for answers to all."""
COOKIE = b"\x63\x82\x53\x63"
PAD, OVERLOAD, KIND, SERVER, BOOT_FILE, END = 0, 52, 53, 54, 67, 255
DISCOVER, OFFER = b"\1", b"\2"
ASKED = {
    KIND: DISCOVER,
    60: b"PXEClient:Arch:00000:UNDI:003000",
    93: bytes(2),  # the same architecture, x86 with BIOS
    94: b"\1\3\0",  # the same UNDI, 3.0
    97: bytes(17),  # the UUID of no machine
    55: bytes([1, 3, 6, SERVER, 66, BOOT_FILE, 175]),
}
ETHERNET, IP, UDP_HEAD = 14, 20, 8
OFFERED, FILE, OPTIONS = slice(16, 20), slice(108, 236), 240
"""Places of `yiaddr`, `file` and the options in a message."""
QUIET_S = 1.0
"""Time for others, such as a proxyDHCP, to answer after the first."""


@dataclass(frozen=True, order=True)
class Offer:
    """What one server offers."""

    server: str
    """Its address, by its own account."""
    mac: str
    """MAC that sent it, `aa:bb:cc:dd:ee:ff`: the server's or, from another network, the relay's."""
    address: str
    """0.0.0.0 from a proxyDHCP, which names only a boot file."""
    boot_file: str


def offers(interface: str, mac: str, wait_s: float) -> frozenset[Offer]:
    """Broadcast the DHCPDISCOVER of a PXE client, and return the offers. No server records a lease for it.

    Args:
        interface: Name of an interface of this machine; it needs no address.
        mac: MAC of the client. The interface's own is that of the frame, or switches would look for the client here.
        wait_s: Seconds to wait for the first offer.

    Raises:
        SegmentError: Raw sockets are not permitted, or the interface does not exist or is down.
    """
    transaction = os.urandom(4)
    # All frames, because this machine may itself run the server that answers.
    with packets(interface, ETH_P_ALL, "DHCP") as wire:
        keep_only(wire, udp_to(CLIENT_PORT))
        question = discover(wire.getsockname()[4], bytes.fromhex(mac.replace(":", "")), transaction)
        wire.send(question)
        broadcast(interface, question[ETHERNET:])
        for frame in frames(wire, wait_s):
            if first := parse(frame, transaction):
                later = (parse(answer, transaction) for answer in frames(wire, QUIET_S))
                return frozenset({first, *(offer for offer in later if offer)})
    return frozenset()


def discover(sender: bytes, mac: bytes, transaction: bytes) -> bytes:
    """Return the Ethernet frame of a DHCPDISCOVER."""
    head = struct.pack("!BBBB4sHH", BOOTREQUEST, 1, len(mac), 0, transaction, 0, TO_BROADCAST)
    options = b"".join(bytes([number, len(value)]) + value for number, value in ASKED.items()) + bytes([END])
    message = head + bytes(16) + mac.ljust(OPTIONS - len(COOKIE) - 28, b"\0") + COOKIE + options
    length = UDP_HEAD + len(message)
    udp = struct.pack("!HHHH", CLIENT_PORT, SERVER_PORT, length, 0)  # 0: no checksum
    ip = struct.pack("!BBHIBBH4s4s", 0x45, 0, IP + length, 0, 64, UDP, 0, bytes(4), b"\xff" * 4)
    summed = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    return BROADCAST + sender + struct.pack("!H", ETH_P_IP) + summed + udp + message


def parse(frame: bytes, transaction: bytes) -> Offer | None:
    """Return the offer in an Ethernet frame, without the options that its `file` may hold. None: not of this kind."""
    length = int.from_bytes(frame[16:18])
    packet = frame[ETHERNET : ETHERNET + length]  # short frames are padded
    message = packet[IP + UDP_HEAD :]
    if len(packet) < length or len(message) < OPTIONS or frame[12:15] != b"\x08\x00\x45" or packet[9] != UDP:
        return None
    if packet[IP + 2 : IP + 4] != struct.pack("!H", CLIENT_PORT) or message[OPTIONS - 4 : OPTIONS] != COOKIE:
        return None
    options = _options(message[OPTIONS:])
    server, kind = options.get(SERVER, b""), options.get(KIND)
    if message[0] != BOOTREPLY or message[4:8] != transaction or kind != OFFER or len(server) != 4:  # noqa: PLR2004
        return None
    named = options.get(BOOT_FILE) or (b"" if OVERLOAD in options else message[FILE])
    boot_file = named.partition(b"\0")[0].decode(errors="replace")
    return Offer(socket.inet_ntoa(server), frame[6:12].hex(":"), socket.inet_ntoa(message[OFFERED]), boot_file)


def _options(data: bytes) -> dict[int, bytes]:
    """Return the options by their numbers; the value of a torn one is too short."""
    options = dict[int, bytes]()
    while data and data[0] != END:
        end = 1 if data[0] == PAD else 2 + int.from_bytes(data[1:2])
        options[data[0]] = data[2:end]
        data = data[end:]
    return options
