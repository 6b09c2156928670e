"""The lab's VLANs on a real kernel."""

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from lab.shell import run
from lab.site.vlan import tag
from testing.namespaces import in_own_network, ip, needs_root, until_it_forwards

ETHERTYPE, EVERY = 0x88B5, 0x0003  # the first is that of local experiments
ADDRESSES = bytes.fromhex("ffffffffffff 525400000001")
SOL_PACKET, PACKET_AUXDATA = 263, 8


def frame(text: bytes, vlan: int | None = None) -> bytes:
    """Return a broadcast of 64 bytes or more, with or without a tag."""
    header = b"" if vlan is None else struct.pack("!HH", 0x8100, vlan)
    return ADDRESSES + header + struct.pack("!H", ETHERTYPE) + text.ljust(60, b".")


@contextmanager
def on(interface: str) -> Iterator[socket.socket]:
    """Yield a socket of an interface. One for `ETHERTYPE` alone would not be told the tag."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(EVERY)) as opened:
        opened.bind((interface, EVERY))
        opened.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        opened.settimeout(10)
        yield opened


def received(by: socket.socket) -> tuple[bytes, int]:
    """Return the next frame of ours that came in, without its tag, and the tag; 0 for none."""
    while True:
        data, ((_, _, seen),), _, address = by.recvmsg(2048, 128)
        if address[2] != socket.PACKET_OUTGOING and data[12:14] == struct.pack("!H", ETHERTYPE):
            return data, struct.unpack("IIIHHHH", seen)[5]


@needs_root
def test_only_frames_with_the_tag_pass_and_those_to_the_server_get_it() -> None:
    def work() -> None:
        for bridge in ("machines", "trunk"):
            ip(f"link add name {bridge} type bridge stp_state 0 forward_delay 0 mcast_snooping 0")
        for bridge, port, peer in (("trunk", "server", "nic"), ("trunk", "to-trunk", "port")):
            ip(f"link add {port} type veth peer name {peer}")
            ip(f"link set {port} master {bridge} up")
        tag("port", 120, partial(run, "tc"))
        tag("port", 120, partial(run, "tc"))
        ip("link set port master machines up")
        for name in ("nic", "trunk", "machines"):
            ip(f"link set {name} up")
        for port, bridge in (("server", "trunk"), ("to-trunk", "trunk"), ("port", "machines")):
            until_it_forwards(bridge, port)
        with on("nic") as nic, on("machines") as machines:
            for sent in (frame(b"bare"), frame(b"other", 121), frame(b"own", 120)):
                nic.send(sent)
            assert received(machines) == (frame(b"own"), 0)
            machines.send(frame(b"answer"))
            assert received(nic) == (frame(b"answer"), 120)

    in_own_network(work)
