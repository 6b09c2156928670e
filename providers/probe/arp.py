"""Who answers ARP for an IPv4 address."""

import fcntl
import socket
import struct
import time

from providers.errors import OkdBaremetalError

ETH_P_ARP = 0x0806
SIOCGIFADDR = 0x8915
REQUEST, REPLY = 1, 2
BROADCAST = b"\xff" * 6
ETHERNET_IPV4 = struct.pack("!HHBB", 1, 0x0800, 6, 4)


def interface_to(address: str) -> str:
    """Name of the interface that is on the network of `address`.

    Raises:
        OkdBaremetalError: This machine has no address on that network.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Without this, a machine that only reaches the address through its gateway would name that interface.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_DONTROUTE, 1)
            probe.connect((address, 9))
            own = probe.getsockname()[0]
        except OSError as error:
            raise _no_interface(address, str(error)) from error
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(probe, SIOCGIFADDR, struct.pack("256s", name.encode()))
            except OSError:
                continue  # an interface without an IPv4 address
            if socket.inet_ntoa(answer[20:24]) == own:
                return name
    raise _no_interface(address, f"{own} is on no interface")


def answering_macs(interface: str, address: str, *, wait_s: float = 0.3) -> frozenset[str]:
    """MACs that answer one ARP request within `wait_s` seconds, `aa:bb:cc:dd:ee:ff`.

    Raises:
        OkdBaremetalError: Raw sockets are not permitted, or the interface is not there.
    """
    try:
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ARP)) as wire:
            wire.bind((interface, ETH_P_ARP))
            wire.send(_request(wire.getsockname()[4], _own_address(interface), socket.inet_aton(address)))
            return _answers(wire, socket.inet_aton(address), wait_s)
    except PermissionError as error:
        hint = "Run as root, or give the process CAP_NET_RAW"
        raise OkdBaremetalError(
            "raw sockets are not permitted, so nobody's ARP is seen", where=interface, hint=hint
        ) from error
    except OSError as error:
        raise OkdBaremetalError(f"cannot send ARP: {error}", where=interface, hint="Is the bridge up?") from error


def _own_address(interface: str) -> bytes:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            return fcntl.ioctl(probe, SIOCGIFADDR, struct.pack("256s", interface.encode()))[20:24]
        except OSError:
            return b"\0" * 4  # a bridge without an address asks as RFC 5227 probes do


def _request(mac: bytes, own: bytes, wanted: bytes) -> bytes:
    arp = ETHERNET_IPV4 + struct.pack("!H", REQUEST) + mac + own + b"\0" * 6 + wanted
    return BROADCAST + mac + struct.pack("!H", ETH_P_ARP) + arp


def _answers(wire: socket.socket, wanted: bytes, wait_s: float) -> frozenset[str]:
    macs = set()
    until = time.monotonic() + wait_s
    while (left := until - time.monotonic()) > 0:
        wire.settimeout(left)
        try:
            frame = wire.recv(64)
        except TimeoutError:
            break
        if len(frame) >= 42 and frame[20:22] == struct.pack("!H", REPLY) and frame[28:32] == wanted:  # noqa: PLR2004
            macs.add(frame[22:28].hex(":"))
    return frozenset(macs)


def _no_interface(address: str, seen: str) -> OkdBaremetalError:
    hint = "Give the provisioner's bridge an address on the machine network"
    return OkdBaremetalError(f"no interface of this machine is on its network ({seen})", where=address, hint=hint)
