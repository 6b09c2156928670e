"""The bytes of VRRP adverts; tests/wire receives real ones."""

import socket
import struct
from collections.abc import Iterator

import pytest

from testing.namespaces import in_own_network, ip, needs_root, until_it_forwards
from wires.segment import vrrp
from wires.segment.packets import frames
from wires.segment.vrrp import Advert, parse

MAC = bytes.fromhex("00005e000143")
VIP4, VIP6 = socket.inet_aton("192.0.2.5"), socket.inet_pton(socket.AF_INET6, "2001:db8::5")
LINK_LOCAL = socket.inet_pton(socket.AF_INET6, "fe80::99")


def ipv4(message: bytes, *, protocol: int = 112, options: bytes = b"", length: int | None = None) -> bytes:
    total = length or 20 + len(options) + len(message)
    head = struct.pack("!BBHIBBH", 0x45 + len(options) // 4, 0, total, 0, 255, protocol, 0)
    addresses = socket.inet_aton("192.0.2.99") + socket.inet_aton("224.0.0.18")
    return bytes(6) + MAC + b"\x08\x00" + head + addresses + options + message


def ipv6(message: bytes, *, header: int = 112) -> bytes:
    head = struct.pack("!IHBB", 6 << 28, len(message), header, 255)
    return bytes(6) + MAC + b"\x86\xdd" + head + LINK_LOCAL + LINK_LOCAL + message


def version_2(*vips: bytes, count: int | None = None, kind: int = 0x21, priority: int = 100) -> bytes:
    number = len(vips) if count is None else count
    return bytes([kind, 67, priority, number, 0, 1, 0, 0]) + b"".join(vips)


def version_3(*vips: bytes, centiseconds: int = 25) -> bytes:
    # The four bits before the interval are reserved, and ignored.
    return bytes([0x31, 67, 100, len(vips)]) + (0xA000 | centiseconds).to_bytes(2) + bytes(2) + b"".join(vips)


def advert(version: int, source: str, *vips: str, interval_s: float, priority: int = 100) -> Advert:
    return Advert(version, 67, priority, interval_s, source, "00:00:5e:00:01:43", vips)


FROM4, FROM6 = "192.0.2.99", "fe80::99"


@pytest.mark.parametrize(
    ("frame", "wanted"),
    [
        pytest.param(ipv4(version_2(VIP4) + b"password"), advert(2, FROM4, "192.0.2.5", interval_s=1), id="password"),
        pytest.param(
            ipv4(version_2(VIP4, VIP4)), advert(2, FROM4, "192.0.2.5", "192.0.2.5", interval_s=1), id="two-vips"
        ),
        pytest.param(ipv4(version_2()), advert(2, FROM4, interval_s=1), id="no-vip"),
        pytest.param(
            ipv4(version_2(VIP4, priority=0)),
            advert(2, FROM4, "192.0.2.5", interval_s=1, priority=0),
            id="lets-go",
        ),
        pytest.param(
            ipv4(version_2(VIP4), options=bytes(8)), advert(2, FROM4, "192.0.2.5", interval_s=1), id="ip-options"
        ),
        pytest.param(
            ipv4(version_3(VIP4)) + bytes(14), advert(3, FROM4, "192.0.2.5", interval_s=0.25), id="padded-version-3"
        ),
        pytest.param(
            ipv6(version_3(VIP6, centiseconds=4095)), advert(3, FROM6, "2001:db8::5", interval_s=40.95), id="ipv6"
        ),
    ],
)
def test_an_advert_is_read(frame: bytes, wanted: Advert) -> None:
    assert parse(frame) == wanted


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(b"", id="empty"),
        pytest.param(ipv4(b"")[:14], id="no-packet"),
        pytest.param(ipv4(version_2(VIP4), protocol=17), id="udp"),
        pytest.param(ipv6(version_3(VIP6), header=58), id="icmpv6"),
        pytest.param(ipv4(version_2(VIP4)[:7]), id="torn-head"),
        pytest.param(ipv4(version_2(VIP4, count=2)), id="fewer-vips-than-it-counts"),
        pytest.param(ipv4(version_2(VIP4), length=28), id="shorter-than-it-counts"),
        pytest.param(ipv6(version_3(VIP6))[:-1], id="torn-vip"),
        pytest.param(ipv4(version_2(VIP4, kind=0x22)), id="no-advertisement"),
        pytest.param(ipv4(version_2(VIP4, kind=0x41)), id="version-4"),
        pytest.param(bytes(12) + b"\x08\x06" + bytes(28), id="arp"),
    ],
)
def test_other_frames_are_no_adverts(frame: bytes) -> None:
    assert parse(frame) is None


@pytest.mark.parametrize("words", range(5))
def test_a_header_that_is_too_short_to_be_one_has_no_advert(words: int) -> None:
    """Found for issue 43: a frame of 26 bytes ended the whole preflight of the network."""
    frame = bytearray(ipv4(version_2()))
    frame[14] = 0x40 + words
    frame[14 + 4 * words : 14 + 4 * words + 4] = version_2()[:4]
    frame[14 + 9] = 112
    assert {parse(bytes(frame[:length])) for length in range(27)} == {None}


def test_a_truncated_frame_is_no_advert() -> None:
    for whole in (ipv4(version_2(VIP4)), ipv6(version_3(VIP6))):
        assert parse(whole) is not None
        assert [parse(whole[:length]) for length in range(len(whole))] == [None] * len(whole)


@needs_root
def test_adverts_by_unicast_from_one_port_of_a_bridge_to_another_are_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    to_somebody = bytes.fromhex("020000000098") + ipv6(version_3(VIP6))[6:]

    def while_one_speaks(wire: socket.socket, wait_s: float) -> Iterator[bytes]:
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as speaker:
            speaker.bind(("far", 0))
            speaker.send(to_somebody)
        return frames(wire, wait_s)

    def heard() -> tuple[Advert, ...]:
        ip("link add baremetal type bridge")
        ip("link set baremetal up")
        ip("link add port type veth peer name far")
        ip("link set port master baremetal up")
        ip("link set far up")
        until_it_forwards("baremetal", "port")
        return vrrp.adverts("baremetal", wait_s=0.2)

    monkeypatch.setattr(vrrp, "frames", while_one_speaks)
    assert in_own_network(heard) == (advert(3, FROM6, "2001:db8::5", interval_s=0.25),)
