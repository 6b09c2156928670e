"""A DHCP client like the firmware of a network card, or iPXE: a program that prints its first answers as JSON.

Usage: python -m testing.dhcp_client MAC {bios,uefi,uefi-9,uefi-http,ipxe} ANSWERS [SERVER ADDRESS]
"""

import json
import socket
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass

INTERFACE = "eth0"
MAGIC = bytes((99, 130, 83, 99))
BROADCAST = 0x8000
"""The flag by which a client without an address requests broadcast answers."""
DISCOVER, REQUEST = 1, 3
ANSWERS = {2: "offer", 5: "ack", 6: "nak"}
KIND, ASKED, SERVER, WANTED, CLASS, ARCHITECTURE, IPXE = 53, 50, 54, 55, 60, 93, 175
"""Options of RFC 2132, of RFC 4578, and of iPXE."""
MASK, ROUTER, DNS = 1, 3, 6
PXE = CLASS, b"PXEClient"
KINDS = {
    "bios": (PXE, (ARCHITECTURE, b"\0\0")),
    "uefi": (PXE, (ARCHITECTURE, b"\0\7")),
    "uefi-9": (PXE, (ARCHITECTURE, b"\0\x09")),
    "uefi-http": ((CLASS, b"HTTPClient:Arch:00016:UNDI:003001"), (ARCHITECTURE, b"\0\x10")),
    "ipxe": (PXE, (ARCHITECTURE, b"\0\7"), (IPXE, b"\x01\x01\x01")),
}
TIMEOUT_S = 10


@dataclass(frozen=True)
class Answer:
    """One answer of a server."""

    kind: str
    """`offer`, `ack` or `nak`."""
    server: str
    address: str
    next_server: str
    """The TFTP server."""
    boot_file: str
    options: list[int]
    """The numbers of its options."""


def question(mac: str, client: str, *options: tuple[int, bytes]) -> bytes:
    """Return a packet of a client."""
    head = struct.pack("!BBBBIHH16x16s192x", 1, 1, 6, 0, 0x6F6B64, 0, BROADCAST, bytes.fromhex(mac.replace(":", "")))
    wanted = (WANTED, bytes((MASK, ROUTER, DNS, 66, 67)))
    listed = (*options, *KINDS[client], wanted)
    return head + MAGIC + b"".join(bytes((number, len(value))) + value for number, value in listed) + b"\xff"


def answer(packet: bytes) -> Answer:
    """Parse a packet of a server."""
    options = dict(_options(packet[240:]))
    boot_file = options.get(67) or packet[108:236].split(b"\0")[0]
    return Answer(
        ANSWERS[options[KIND][0]],
        socket.inet_ntoa(options[SERVER]),
        socket.inet_ntoa(packet[16:20]),
        socket.inet_ntoa(packet[20:24]),
        boot_file.rstrip(b"\0").decode(),
        sorted(options),
    )


def _options(text: bytes) -> Iterator[tuple[int, bytes]]:
    while text and text[0] != 255:
        number, length = text[0], text[1]
        yield number, text[2 : 2 + length]
        text = text[2 + length :]


def main(mac: str, client: str, answers: str, server: str = "", address: str = "") -> None:
    """Ask for an address, or accept the one that a server has offered; print the answers."""
    accepting = ((SERVER, socket.inet_aton(server)), (ASKED, socket.inet_aton(address))) if server else ()
    kind = (KIND, bytes((REQUEST if server else DISCOVER,)))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port:
        port.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        port.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, INTERFACE.encode())
        port.bind(("", 68))
        port.settimeout(TIMEOUT_S)
        port.sendto(question(mac, client, kind, *accepting), ("255.255.255.255", 67))
        for _ in range(int(answers)):
            print(json.dumps(vars(answer(port.recv(2048)))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
