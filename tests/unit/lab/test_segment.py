"""Which machines answer an address, for the rehearsal's proofs: real kernels on a bridge, a real HTTPS server."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import TypeVar

import pytest

from lab.rehearsal.segment import answering_macs, interface_to, status
from lab.shell import LabError
from testing.certificates import authority
from testing.fakes.https_server import UNAVAILABLE, HttpsServer, https_server
from testing.namespaces import in_own_network, ip, needs_root, neighbour

T = TypeVar("T")
ONE, OTHER = "52:54:00:00:00:31", "52:54:00:00:00:32"
VIP, VIP6 = "192.0.2.5", "2001:db8::5"


def with_holders(ask: Callable[[], T], *macs: str) -> T:
    """Return the result of `ask` on a segment on which each of these machines has the VIP."""

    def inside() -> T:
        ip("link add lan type bridge")
        ip("address add 192.0.2.1/24 dev lan")
        ip("address add 2001:db8::1/64 dev lan nodad")
        ip("link set lan up")
        with ExitStack() as machines:
            for number, mac in enumerate(macs):
                addresses = (f"192.0.2.3{number}/24", f"{VIP}/32", f"{VIP6}/128")
                machines.enter_context(neighbour("lan", f"port{number}", mac, *addresses))
            return ask()

    return in_own_network(inside)


@needs_root
@pytest.mark.parametrize("vip", [VIP, VIP6])
@pytest.mark.parametrize("macs", [(), (ONE,), (ONE, OTHER)], ids=["none", "one", "two"])
def test_every_machine_that_answers_is_seen(macs: tuple[str, ...], vip: str) -> None:
    assert with_holders(lambda: answering_macs(vip, wait_s=0.5), *macs) == set(macs)


@needs_root
def test_each_question_goes_to_all_machines() -> None:
    """The answer of a second holder to the first question may be lost."""

    def ask() -> list[bytes]:
        everything = socket.htons(0x0003)  # ETH_P_ALL of linux/if_ether.h
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, everything) as frames:
            answering_macs(VIP, wait_s=1.5)
            frames.setblocking(False)
            seen = list[bytes]()
            with suppress(BlockingIOError):
                while True:
                    seen.append(frames.recv(100))
        return seen

    question = bytes.fromhex("0806 0001 0800 06 04 0001")  # RFC 826: who has an IPv4 address, on Ethernet
    asked = [frame for frame in with_holders(ask, ONE) if frame[12:22] == question]
    assert {frame[:6] for frame in asked if frame[38:42] == socket.inet_aton(VIP)} == {b"\xff" * 6}


@needs_root
def test_the_interface_is_the_one_on_the_network_of_the_address() -> None:
    assert with_holders(lambda: interface_to(VIP)) == "lan"


@needs_root
@pytest.mark.parametrize(
    ("address", "why"),
    [("198.51.100.1", "198.51.100.1 is behind the gateway 192.0.2.9"), ("203.0.113.1", "unreachable")],
    ids=["behind-a-gateway", "no-route"],
)
def test_an_address_of_another_network_is_refused(address: str, why: str) -> None:
    def ask() -> None:
        ip("route add 198.51.100.0/24 via 192.0.2.9")
        with pytest.raises(LabError, match=why):
            answering_macs(address)

    with_holders(ask)


@needs_root
def test_an_interface_that_cannot_be_probed_is_an_error() -> None:
    def ask() -> None:
        with pytest.raises(LabError, match="arping"):
            answering_macs("127.0.0.1")

    with_holders(ask)


@pytest.fixture
def server(certificate: str) -> Iterator[HttpsServer]:
    with https_server(certificate) as server:
        yield server


def test_a_get_goes_to_the_address_with_the_name_of_the_url(server: HttpsServer) -> None:
    url = f"https://api.okd.lab.test:{server.port}/readyz"
    assert status(url, "127.0.0.1", authority("test-ca").pem) == 200
    assert server.names == ["api.okd.lab.test"]
    assert server.requests[0].startswith(b"GET /readyz HTTP/1.1\r\nHost: api.okd.lab.test:")


def test_a_refused_get_returns_its_status(certificate: str) -> None:
    with https_server(certificate, UNAVAILABLE) as server:
        url = f"https://api.okd.lab.test:{server.port}/readyz"
        assert status(url, "127.0.0.1", authority("test-ca").pem) == 503


@pytest.mark.parametrize(
    ("name", "ca"),
    [("api.okd.lab.test", "another-ca"), ("api-int.okd.lab.test", "test-ca")],
    ids=["other-ca", "other-name"],
)
def test_a_wrong_certificate_is_no_answer(server: HttpsServer, name: str, ca: str) -> None:
    assert status(f"https://{name}:{server.port}/readyz", "127.0.0.1", authority(ca).pem) == 0


def test_a_closed_port_is_no_answer(certificate: str) -> None:
    with https_server(certificate) as server:
        port = server.port
    assert status(f"https://api.okd.lab.test:{port}/readyz", "127.0.0.1", authority("test-ca").pem) == 0
