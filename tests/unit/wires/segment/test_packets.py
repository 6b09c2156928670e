"""Frames of one interface, and of no other."""

import socket
from typing import Any

import pytest

from testing.namespaces import in_own_network, ip, needs_root
from wires.segment.arp import ETH_P_ARP
from wires.segment.packets import frames, packets

pytestmark = needs_root


def test_a_frame_that_came_before_the_socket_was_bound_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = socket.socket

    class Late(plain):  # type: ignore[misc,valid-type]
        """Something is sent on another interface before this one is bound."""

        def bind(self, address: Any) -> None:
            with plain(socket.AF_PACKET, socket.SOCK_RAW, 0) as other:
                other.bind(("lo", 0))
                other.send(bytes(12) + ETH_P_ARP.to_bytes(2) + bytes(46))
            super().bind(address)

    def heard() -> list[bytes]:
        ip("link add baremetal type bridge")
        ip("link set baremetal up")
        with packets("baremetal", ETH_P_ARP, "ARP") as wire:
            return list(frames(wire, 0))

    monkeypatch.setattr(socket, "socket", Late)
    assert in_own_network(heard) == []
