"""Who answers ARP: real kernels in networks of the test's own."""

import socket
from collections.abc import Callable, Iterable
from contextlib import ExitStack

import pytest

from providers.errors import OkdBaremetalError
from providers.probe.arp import BROADCAST, ETHERNET_IPV4, _answers, answering_macs, interface_to
from tests.namespaces import in_own_network, ip, needs_root, neighbour

pytestmark = needs_root

VIP = "192.0.2.5"
MACS = ("52:54:00:00:00:21", "52:54:00:00:00:22")


def on_a_bridge(work: Callable[[], object], holders: Iterable[str], address: str = "192.0.2.1/24") -> object:
    """Do `work` on a machine with a bridge, behind which one neighbour per MAC has the VIP."""

    def inside() -> object:
        ip("link add baremetal type bridge")
        ip("link set baremetal up")
        if address:
            ip(f"address add {address} dev baremetal")
        with ExitStack() as machines:
            for number, mac in enumerate(holders):
                machines.enter_context(neighbour("baremetal", f"port{number}", mac, f"{VIP}/24"))
            return work()

    return in_own_network(inside)


@pytest.mark.parametrize("holders", [(), MACS[:1], MACS], ids=["nobody", "one", "two"])
def test_every_mac_that_answers_is_seen(holders: tuple[str, ...]) -> None:
    assert on_a_bridge(lambda: answering_macs("baremetal", VIP), holders) == frozenset(holders)


def test_an_answer_for_another_address_is_not_counted() -> None:
    assert on_a_bridge(lambda: answering_macs("baremetal", "192.0.2.6"), MACS) == frozenset()


def test_a_bridge_without_an_address_can_ask() -> None:
    seen = on_a_bridge(lambda: answering_macs("baremetal", VIP), MACS[:1], address="")
    assert seen == frozenset(MACS[:1])


def test_the_interface_is_the_one_on_the_addresss_network() -> None:
    def look() -> object:
        ip("link add provisioning type bridge")
        ip("link set provisioning up")
        ip("address add 172.22.0.1/24 dev provisioning")
        return interface_to(VIP), interface_to("172.22.0.9")

    assert on_a_bridge(look, ()) == ("baremetal", "provisioning")


def test_an_address_of_no_network_is_one_clean_line() -> None:
    with pytest.raises(OkdBaremetalError, match=rf"^{VIP}: no interface of this machine is on its network") as caught:
        in_own_network(lambda: interface_to(VIP))
    assert "\n" not in str(caught.value)


def test_an_interface_that_is_not_there_is_one_clean_line() -> None:
    with pytest.raises(OkdBaremetalError, match=r"^baremetal: cannot send ARP.*Is the bridge up"):
        in_own_network(lambda: answering_macs("baremetal", VIP))


def test_what_else_is_on_the_wire_is_not_counted() -> None:
    """A gratuitous answer for another address, a request, a torn frame; then the one that was asked for."""

    def frame(operation: int, mac: int, address: str) -> bytes:
        arp = ETHERNET_IPV4 + operation.to_bytes(2) + bytes([mac] * 6) + socket.inet_aton(address) + bytes(10)
        return BROADCAST + bytes([mac] * 6) + b"\x08\x06" + arp

    wire, others = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with wire, others:
        frames = [
            frame(2, 1, "192.0.2.6"),
            frame(1, 2, VIP),
            frame(2, 3, VIP)[:30],
            frame(2, 4, VIP),
            frame(2, 4, VIP),
        ]
        for each in frames:
            others.send(each)
        assert _answers(wire, socket.inet_aton(VIP), 0.05) == {"04:04:04:04:04:04"}


def test_a_gateway_is_not_mistaken_for_a_network() -> None:
    """A machine that only reaches the VIP through a router sees nobody's ARP for it."""

    def look() -> object:
        ip("route add default via 192.0.2.254")
        return interface_to("203.0.113.5")

    with pytest.raises(OkdBaremetalError, match="no interface of this machine is on its network"):
        on_a_bridge(look, ())
