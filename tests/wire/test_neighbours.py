"""Which machines answer for an address: real kernels in network namespaces."""

import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from typing import cast

import pytest

from base.errors import OkdBaremetalError
from testing.namespaces import give_up_raw_sockets, in_own_network, ip, needs_root, neighbour
from wires.segment import arp, nd
from wires.segment.neighbours import answering_macs, interface_to, macs_at, unproven
from wires.segment.packets import ALL_MULTICAST, QUEUED, frames, let_through
from wires.segment.tcp_probe import reached_macs

pytestmark = needs_root

LISTEN = "import socket; s = socket.create_server(('', 9)); print(flush=True); s.accept()"
ROUTES = {4: 0x40, 6: 0x400}
"""The groups of rtnetlink that hear of each change of a route: RTMGRP_IPV4_ROUTE, RTMGRP_IPV6_ROUTE."""
MACS = ("52:54:00:00:00:21", "52:54:00:00:00:22")


@dataclass(frozen=True)
class Family:
    vip: str
    other: str
    own: str
    prefix: str
    elsewhere: str
    gateway: str

    def on_a_bridge(self, work: Callable[[], object], holders: Iterable[str] = (), *, own: bool = True) -> object:
        """Run `work` on a machine with a bridge, behind which one neighbour per MAC has the VIP."""

        def inside() -> object:
            ip("link add baremetal type bridge")
            if not own:  # not even a link-local one
                ip("link set baremetal addrgenmode none")
            ip("link set baremetal up")
            if own:
                ip(f"address add {self.own}{self.prefix} dev baremetal{' nodad' if self is SIX else ''}")
            with ExitStack() as machines:
                for number, mac in enumerate(holders):
                    machines.enter_context(neighbour("baremetal", f"port{number}", mac, f"{self.vip}{self.prefix}"))
                return work()

        return in_own_network(inside)


FOUR = Family("192.0.2.5", "192.0.2.6", "192.0.2.1", "/24", "203.0.113.5", "192.0.2.254")
SIX = Family("2001:db8::5", "2001:db8::6", "2001:db8::1", "/64", "2001:db8:1::5", "2001:db8::fe")
both = pytest.mark.parametrize("family", [FOUR, SIX], ids=["ipv4", "ipv6"])


@both
@pytest.mark.parametrize("holders", [(), MACS[:1], MACS], ids=["nobody", "one", "two"])
def test_every_mac_that_answers_is_seen(family: Family, holders: tuple[str, ...]) -> None:
    assert family.on_a_bridge(lambda: answering_macs("baremetal", family.vip), holders) == frozenset(holders)


@both
def test_an_answer_for_another_address_is_not_counted(family: Family) -> None:
    assert family.on_a_bridge(lambda: answering_macs("baremetal", family.other), MACS) == frozenset()


@both
def test_a_bridge_without_an_address_gets_answers(family: Family) -> None:
    seen = family.on_a_bridge(lambda: answering_macs("baremetal", family.vip), MACS[:1], own=False)
    assert seen == frozenset(MACS[:1])


def test_an_interface_without_ipv6_receives_an_answer_to_all_nodes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A bridge has no such filter, as many a card has: seen here is what is asked of the kernel."""
    asked = list[tuple[str, int]]()

    def noting(wire: socket.socket, interface: str, what: int) -> None:
        asked.append((interface, what))
        let_through(wire, interface, what)

    monkeypatch.setattr(nd, "let_through", noting)
    assert SIX.on_a_bridge(lambda: answering_macs("baremetal", SIX.vip), MACS[:1], own=False) == {MACS[0]}
    assert asked == [("baremetal", ALL_MULTICAST)]


def test_an_ipv6_probe_causes_no_advertisement_to_all_nodes() -> None:
    """A solicitation from an address is answered to that address, not to all nodes."""

    def frames_to() -> object:
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as wire:
            wire.bind(("baremetal", nd.ETH_P_IPV6))
            assert answering_macs("baremetal", SIX.vip) == frozenset(MACS[:1])
            wire.setblocking(False)
            seen = list[bytes]()
            while True:
                try:
                    frame = wire.recv(2048)
                except BlockingIOError:
                    return [frame[:6] for frame in seen if frame[54] == nd.ADVERTISEMENT]
                seen.append(frame)

    to = SIX.on_a_bridge(frames_to, MACS[:1])
    assert isinstance(to, list)
    assert to
    assert b"\x33\x33\0\0\0\x01" not in to


@both
def test_the_interface_is_the_one_on_the_network_of_the_address(family: Family) -> None:
    def look() -> object:
        ip("link add provisioning type bridge")
        ip("link set provisioning up")
        ip("address add 172.22.0.1/24 dev provisioning")
        ip("address add fd00:22::1/64 dev provisioning nodad")
        return interface_to(family.vip), interface_to("172.22.0.9"), interface_to("fd00:22::9")

    assert family.on_a_bridge(look) == ("baremetal", "provisioning", "provisioning")


@both
def test_an_address_on_no_network_of_this_machine_is_one_line(family: Family) -> None:
    with pytest.raises(
        OkdBaremetalError, match=rf"^{family.vip}: no interface of this machine is on its network"
    ) as caught:
        in_own_network(lambda: interface_to(family.vip))
    assert "\n" not in str(caught.value)


@both
def test_an_address_behind_a_gateway_is_refused(family: Family) -> None:
    """A machine that reaches the VIP through a router gets no answers for it."""

    def look() -> object:
        ip(f"route add default via {family.gateway}")
        return interface_to(family.elsewhere)

    with pytest.raises(OkdBaremetalError, match=rf"is on its network \(it is behind the gateway {family.gateway}\)"):
        family.on_a_bridge(look)


def test_a_gateway_of_the_other_family_is_none_the_less_one() -> None:
    def look() -> object:
        ip(f"address add {SIX.own}{SIX.prefix} dev baremetal nodad")
        ip(f"route add 203.0.113.0/24 via inet6 {SIX.gateway} dev baremetal")
        return interface_to(FOUR.elsewhere)

    with pytest.raises(OkdBaremetalError, match=rf"is on its network \(it is behind the gateway {SIX.gateway}\)"):
        FOUR.on_a_bridge(look)


@both
def test_the_hosts_own_address_is_refused(family: Family) -> None:
    def look() -> object:
        _until_it_is_routed_here(family.own)
        return interface_to(family.own)

    with pytest.raises(OkdBaremetalError, match=rf"^{family.own}: an address of this machine itself"):
        family.on_a_bridge(look)


def _until_it_is_routed_here(address: str) -> None:
    """The kernel adds the local route of an IPv6 address some moments after the address."""
    version = ip_address(address).version
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as changes:
        changes.bind((0, ROUTES[version]))
        changes.settimeout(10)
        while address not in ip(f"-{version} route show table local type local {address}"):
            changes.recv(65536)


@both
def test_a_missing_interface_is_one_line(family: Family) -> None:
    with pytest.raises(
        OkdBaremetalError,
        match=r"^baremetal: no (ARP|neighbour adv.+) here.*Fix: make it, or",
    ):
        in_own_network(lambda: answering_macs("baremetal", family.vip))


@both
def test_without_raw_sockets_the_error_names_the_missing_permission(family: Family) -> None:
    def work() -> object:
        give_up_raw_sockets()
        return answering_macs("lo", family.vip)

    with pytest.raises(OkdBaremetalError, match=r"^lo: raw sockets are not permitted, so no .* can be .*CAP_NET_RAW"):
        in_own_network(work)


@both
@pytest.mark.parametrize("holders", [(), MACS[:1], MACS], ids=["nobody", "one", "two"])
def test_without_raw_sockets_one_of_the_answering_machines_is_seen(family: Family, holders: tuple[str, ...]) -> None:
    def work() -> object:
        give_up_raw_sockets()
        assert unproven()
        return macs_at(family.vip)

    seen = cast("frozenset[str]", family.on_a_bridge(work, holders))
    assert seen <= set(holders)
    assert len(seen) == min(len(holders), 1)


@both
def test_without_raw_sockets_a_machine_that_left_is_not_seen(family: Family) -> None:
    def work() -> object:
        with neighbour("baremetal", "port", MACS[0], f"{family.vip}{family.prefix}"):
            before = reached_macs("baremetal", family.vip, 1)
            ip("link set port down")
            return before, reached_macs("baremetal", family.vip, 0.2)

    assert family.on_a_bridge(work) == ({MACS[0]}, frozenset())


def test_without_raw_sockets_a_machine_that_accepts_the_connection_is_seen() -> None:
    def work() -> object:
        with neighbour("baremetal", "port", MACS[0], f"{FOUR.vip}{FOUR.prefix}") as inside:
            command = [*inside, sys.executable, "-c", LISTEN]
            with subprocess.Popen(command, stdout=subprocess.PIPE) as listener:
                assert listener.stdout
                listener.stdout.readline()
                seen = reached_macs("baremetal", FOUR.vip, 1)
                listener.kill()
            return seen

    assert FOUR.on_a_bridge(work) == {MACS[0]}


@both
def test_with_raw_sockets_all_answering_machines_are_seen(family: Family) -> None:
    assert unproven() is None
    assert family.on_a_bridge(lambda: macs_at(family.vip), MACS) == set(MACS)


def test_other_frames_are_ignored() -> None:
    """A gratuitous answer for another address, a request, and a truncated frame come before the answer."""

    def frame(operation: int, mac: int, address: str) -> bytes:
        content = arp.ETHERNET_IPV4 + operation.to_bytes(2) + bytes([mac] * 6) + socket.inet_aton(address)
        return arp.BROADCAST + bytes([mac] * 6) + b"\x08\x06" + content + bytes(10)

    frames = [
        frame(2, 1, FOUR.other),
        frame(1, 2, FOUR.vip),
        frame(2, 3, FOUR.vip)[:30],
        frame(2, 4, FOUR.vip),
        frame(2, 4, FOUR.vip),
    ]
    with wire_with(frames) as wire:
        assert arp._answers(wire, socket.inet_aton(FOUR.vip), 0.05) == {"04:04:04:04:04:04"}


def test_frames_that_came_in_time_are_read_after_the_deadline() -> None:
    with wire_with([b"a", b"b"]) as wire:
        assert list(frames(wire, 0)) == [b"a", b"b"]


class Flood:
    """A socket that always has more to read."""

    def settimeout(self, left: float) -> None: ...

    def recv(self, size: int) -> bytes:
        return b"a"


def test_an_endless_stream_of_frames_is_cut_off() -> None:
    assert list(frames(cast("socket.socket", Flood()), 0)) == [b"a"] * QUEUED


@contextmanager
def wire_with(frames: Iterable[bytes]) -> Iterator[socket.socket]:
    wire, others = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with wire, others:
        for each in frames:
            others.send(each)
        yield wire


def advertisement(
    options: bytes = b"", *, of: str = SIX.vip, kind: int = nd.ADVERTISEMENT, hops: int = 255, wrong: int = 0
) -> bytes:
    """Build an advertisement from 02:00:00:00:00:99, with its checksum plus `wrong`."""
    message = bytes([kind]) + bytes(7) + socket.inet_pton(socket.AF_INET6, of) + options
    source = socket.inet_pton(socket.AF_INET6, "fe80::99")
    packet = struct.pack("!IHBB", 6 << 28, len(message), nd.ICMPV6, hops) + source + source + message
    total = nd._checksum(packet) ^ wrong
    ethernet = bytes(6) + bytes.fromhex("020000000099") + b"\x86\xdd"
    return ethernet + packet[:42] + total.to_bytes(2) + packet[44:]


TARGET = bytes([2, 1]) + bytes.fromhex("020000000042")


@pytest.mark.parametrize(
    ("frame", "mac"),
    [
        pytest.param(advertisement(TARGET), "02:00:00:00:00:42", id="option"),
        pytest.param(advertisement(), "02:00:00:00:00:99", id="no-option-the-source"),
        pytest.param(advertisement(bytes([14, 1]) + bytes(6) + TARGET), "02:00:00:00:00:42", id="another-before-it"),
        pytest.param(advertisement(TARGET) + bytes(18), "02:00:00:00:00:42", id="padded"),
        pytest.param(advertisement(of=SIX.other), None, id="another-address"),
        pytest.param(advertisement(kind=nd.SOLICITATION), None, id="a-solicitation"),
        pytest.param(advertisement(hops=254), None, id="routed"),
        pytest.param(advertisement(TARGET, wrong=1), None, id="wrong-checksum"),
        pytest.param(advertisement(TARGET)[:-1], None, id="torn"),
        pytest.param(advertisement()[:60], None, id="torn-early"),
        pytest.param(advertisement(bytes([2, 0]) + bytes(6)), None, id="option-of-no-length"),
        pytest.param(advertisement(bytes([2, 2]) + bytes(6)), None, id="option-longer-than-the-packet"),
        pytest.param(b"", None, id="empty"),
    ],
)
def test_only_a_valid_advertisement_gives_a_mac(frame: bytes, mac: str | None) -> None:
    with wire_with([frame]) as wire:
        seen = nd._answers(wire, socket.inet_pton(socket.AF_INET6, SIX.vip), 0.02)
    assert seen == (frozenset({mac}) if mac else frozenset())
