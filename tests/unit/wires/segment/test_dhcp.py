"""The bytes of DHCP messages; tests/wire asks a real server."""

import socket
import struct
from collections.abc import Callable, Iterator

import pytest

from testing.namespaces import in_own_network, ip, needs_root, until_it_forwards
from wires.segment import dhcp
from wires.segment.dhcp import Offer, discover, parse
from wires.segment.packets import ETH_P_IP, checksum, frames, packets

SENDER, CLIENT = bytes.fromhex("020000000001"), bytes.fromhex("52540011aa21")
SERVER_MAC, SERVER = bytes.fromhex("020000000099"), socket.inet_aton("172.22.0.9")
TRANSACTION = b"\x12\x34\x56\x78"
TO_ALL = b"\xff" * 6
NO_ADDRESS = "0.0.0.0"  # noqa: S104
COOKIE = b"\x63\x82\x53\x63"
IS_OFFER, FROM_SERVER, END = b"\x35\x01\x02", b"\x36\x04" + SERVER, b"\xff"
USUAL = IS_OFFER + FROM_SERVER


def offer(
    options: bytes = USUAL + END,
    *,
    file: bytes = b"undionly.kpxe",
    operation: int = 2,
    transaction: bytes = TRANSACTION,
    cookie: bytes = COOKIE,
    port: int = 68,
    protocol: int = 17,
    ethertype: bytes = b"\x08\x00",
    address: str = "172.22.0.21",
) -> bytes:
    head = bytes([operation, 1, 6, 0]) + transaction + bytes(8) + socket.inet_aton(address) + bytes(8)
    message = head + CLIENT.ljust(16, b"\0") + bytes(64) + file.ljust(128, b"\0") + cookie + options
    udp = struct.pack("!HHHH", 67, port, 8 + len(message), 0)
    start = struct.pack("!BBHIBB", 0x45, 0, 28 + len(message), 0, 64, protocol)
    to_all = SERVER + b"\xff" * 4
    summed = start + checksum(start + to_all).to_bytes(2) + to_all  # a bridge may drop what has a wrong sum
    return TO_ALL + SERVER_MAC + ethertype + summed + udp + message


def parsed(address: str = "172.22.0.21", boot_file: str = "undionly.kpxe") -> Offer:
    return Offer("172.22.0.9", "02:00:00:00:00:99", address, boot_file)


def test_a_discover_is_that_of_a_pxe_client() -> None:
    assert (
        discover(SENDER, CLIENT, TRANSACTION)
        == bytes.fromhex(
            # Ethernet: to all, from the interface's own MAC
            "ffffffffffff 020000000001 0800"
            # IPv4 with its checksum, and UDP from port 68 to 67
            "45 00 0157 0000 0000 40 11 7997 00000000 ffffffff  0044 0043 0143 0000"
            # op 1, Ethernet, 6, no hops, xid, secs 0, flag BROADCAST; ciaddr, yiaddr, siaddr, giaddr
            "01 01 06 00 12345678 0000 8000  00000000 00000000 00000000 00000000"
            # chaddr, sname, file
            "52540011aa21 00000000000000000000"
            + 192
            * "00"
            # the cookie; 53: DISCOVER; 60: PXEClient:Arch:00000:UNDI:003000
            + "63825363 350101 3c20 505845436c69656e743a417263683a30303030303a554e44493a303033303030"
            # 93: x86 BIOS; 94: UNDI 3.0; 97: a UUID; 55: 1, 3, 6, 54, 66, 67 and 175 are wanted; the end
            "5d020000 5e03010300 6111" + 17 * "00" + "3707 01 03 06 36 42 43 af ff"
        )
    )


@pytest.mark.parametrize(
    ("frame", "wanted"),
    [
        pytest.param(offer(), parsed(), id="boot-file-in-its-field"),
        pytest.param(offer() + bytes(20), parsed(), id="padded"),
        pytest.param(offer(USUAL), parsed(), id="no-end"),
        pytest.param(
            offer(b"\0\0" + USUAL + b"\x43\x04ipxe" + END), parsed(boot_file="ipxe"), id="boot-file-as-option"
        ),
        pytest.param(offer(USUAL + END, file=b""), parsed(boot_file=""), id="no-boot-file"),
        pytest.param(offer(address=NO_ADDRESS), parsed(NO_ADDRESS), id="proxy-dhcp"),
        pytest.param(
            offer(USUAL + b"\x34\x01\x01" + END, file=b"\x43\x04ipxe\xff"), parsed(boot_file=""), id="overloaded-file"
        ),
        pytest.param(offer(USUAL + b"\x43\x09ipxe"), parsed(boot_file="ipxe"), id="torn-option-behind-the-others"),
    ],
)
def test_an_offer_is_read(frame: bytes, wanted: Offer) -> None:
    assert parse(frame, TRANSACTION) == wanted


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(b"", id="empty"),
        pytest.param(offer()[:14] + b"\x45", id="torn-ipv4"),
        pytest.param(offer(transaction=b"\x12\x34\x56\x79"), id="another-transaction"),
        pytest.param(offer(operation=1), id="a-request"),
        pytest.param(offer(b"\x35\x01\x05" + FROM_SERVER + END), id="ack"),
        pytest.param(offer(FROM_SERVER + END), id="bootp"),
        pytest.param(offer(IS_OFFER + END), id="no-server"),
        pytest.param(offer(IS_OFFER + FROM_SERVER[:-1]), id="torn-server"),
        pytest.param(offer(FROM_SERVER + b"\x35"), id="torn-kind"),
        pytest.param(offer(END + USUAL), id="behind-the-end"),
        pytest.param(offer(cookie=bytes(4)), id="no-cookie"),
        pytest.param(offer(port=67), id="to-a-server"),
        pytest.param(offer(protocol=6), id="tcp"),
        pytest.param(offer(ethertype=b"\x86\xdd"), id="ipv6"),
    ],
)
def test_other_frames_are_no_offers(frame: bytes) -> None:
    assert parse(frame, TRANSACTION) is None


def test_a_truncated_frame_is_no_offer() -> None:
    assert [parse(offer()[:length], TRANSACTION) for length in range(len(offer()))] == [None] * len(offer())


def on_a_bridge(work: Callable[[], object]) -> object:
    """Run `work` on a machine with a bridge without an address, whose only port leads to the interface `far`."""

    def inside() -> object:
        ip("link add provisioning address 02:00:00:00:00:01 type bridge")
        ip("link set provisioning up")
        ip("link add port type veth peer name far")
        ip("link set port master provisioning up")
        ip("link set far up")
        until_it_forwards("provisioning", "port")
        return work()

    return in_own_network(inside)


@pytest.fixture
def _known_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.urandom", lambda size: TRANSACTION[:size])


@needs_root
@pytest.mark.usefixtures("_known_transaction")
def test_the_interface_asks_for_another_mac_than_its_own() -> None:
    def sent() -> bytes:
        with packets("far", ETH_P_IP, "DHCP") as far:
            assert dhcp.offers("provisioning", "52:54:00:11:aa:21", wait_s=0) == frozenset()
            # The kernel says by IGMP which groups it listens to.
            return next(frame for frame in frames(far, 5) if frame.startswith(TO_ALL))

    assert on_a_bridge(sent) == discover(SENDER, CLIENT, TRANSACTION)


@needs_root
@pytest.mark.usefixtures("_known_transaction")
def test_offers_of_several_servers_are_collected_and_other_frames_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A stranger's answer, a reader of TFTP and a TCP segment come before two offers."""
    noise = [offer(transaction=bytes(4)), offer(port=6969), offer(protocol=6)]
    proxy = offer(address=NO_ADDRESS)
    queued = list[bytes]()

    def while_servers_answer(wire: socket.socket, wait_s: float) -> Iterator[bytes]:
        if wait_s != dhcp.QUIET_S:
            with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as speaker:
                speaker.bind(("far", 0))
                for frame in (*noise, offer(), proxy):
                    speaker.send(frame)
        for frame in frames(wire, 0.2):
            queued.append(frame)
            yield frame

    monkeypatch.setattr(dhcp, "frames", while_servers_answer)
    heard = on_a_bridge(lambda: dhcp.offers("provisioning", "52:54:00:11:aa:21", wait_s=5))
    assert heard == {parsed(), parsed(NO_ADDRESS)}
    # The kernel says by IGMP which groups it listens to, maybe before the socket has its filter.
    assert [frame for frame in queued if frame.startswith(TO_ALL)] == [noise[0], offer(), proxy]
