"""Probes the segment and the resolver from this machine, and changes nothing."""

import socket
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial

from base.progress import Progress, Report
from wires.segment import dhcp, vrrp
from wires.segment.dhcp import Offer
from wires.segment.neighbours import answering_macs, asked_again, interface_to
from wires.segment.vrrp import Advert

LISTEN_S = 4.0
"""Time for four adverts at VRRP's default of one per second; a backup waits about as long before it takes over."""
DHCP_S = 5.0
"""Time for the first offer: dnsmasq pings an address of its range for 3 s before it offers it (its PING_WAIT)."""
CONNECT_S = 4.0
"""Linux sends a lost SYN again after 1 s and 3 s."""
FAMILY = {4: socket.AF_INET, 6: socket.AF_INET6}


@dataclass(frozen=True)
class LocalNetworkProbe:
    """`NetworkProbe` from the machine that this process runs on."""

    report: Report

    def macs_of(self, address: str) -> frozenset[str]:
        """See `NetworkProbe`."""
        return asked_again(partial(answering_macs, interface_to(address), address))

    def unanswered(self, address: str, port: int) -> str | None:
        """See `NetworkProbe`. A reset proves a host too: a balancer without backends may send it."""
        try:
            socket.create_connection((address, port), CONNECT_S).close()
        except (ConnectionRefusedError, ConnectionResetError):
            return None
        except OSError as error:
            return str(error)
        return None

    def adverts(self, addresses: Collection[str]) -> Collection[Advert]:
        """See `NetworkProbe`."""
        interfaces = sorted({interface_to(address) for address in addresses})
        self.report(Progress("listening for VRRP", f"{', '.join(interfaces)}, {LISTEN_S * len(interfaces):g} s"))
        return [advert for interface in interfaces for advert in vrrp.adverts(interface, wait_s=LISTEN_S)]

    def dhcp_offers(self, interface: str, mac: str) -> Collection[Offer]:
        """See `NetworkProbe`."""
        self.report(Progress("asking for DHCP", f"{interface} as {mac}, at most {DHCP_S:g} s"))
        return dhcp.offers(interface, mac, wait_s=DHCP_S)

    def resolve(self, name: str, version: int) -> frozenset[str]:
        """See `NetworkProbe`; asks for one family: for both, only the first line of /etc/hosts would count."""
        answers = socket.getaddrinfo(name, None, FAMILY[version], socket.SOCK_STREAM)
        return frozenset(str(socket_address[0]) for *_, socket_address in answers)
