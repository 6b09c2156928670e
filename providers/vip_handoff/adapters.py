"""Connects the handoff to the wires: the segment, the bootstrap VM over libvirt, and clients of the VIPs."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from assets.contract import API_PORT
from base.clock import SYSTEM_CLOCK
from base.progress import Report
from wires.api.api import Api
from wires.api.client import VipClient
from wires.api.https import connect_problem
from wires.libvirt.connection import connected
from wires.libvirt.shutdown import end
from wires.segment.neighbours import macs_at

PATIENCE_S = 10.0
"""Limit of each step of a client's request, as client-go has it for the TLS handshake (transport/cache.go, 2026-11).

It waits longer still for a connect, and without a limit for an answer.
"""


@dataclass(frozen=True)
class LocalClusterProbe:
    """`ClusterProbe` from this machine."""

    vips: tuple[str, ...]
    api: Api

    def vip_macs(self) -> tuple[frozenset[str], ...]:
        """See `ClusterProbe`."""
        return tuple(map(macs_at, self.vips))

    def macs_of(self, address: str) -> frozenset[str]:
        """See `ClusterProbe`."""
        return macs_at(address, wait_s=0.1)

    def problem(self, address: str) -> str | None:
        """See `ClusterProbe`."""
        return self.api.problem(address)

    def serves_config(self, address: str) -> bool:
        """See `ClusterProbe`."""
        return self.api.serves_config(address)

    def accepts(self, address: str, port: int) -> bool:
        """See `ClusterProbe`."""
        return connect_problem(address, port) is None


@dataclass(frozen=True)
class LibvirtGuest:
    """`BootstrapGuest` over libvirt."""

    uri: str
    name: str
    stack: str
    """The stack that made the VM; one of another stack is left alone."""
    deadline_s: float
    """Time for a graceful shutdown, in seconds."""
    report: Report

    def send(self, word: str) -> str:
        """See `BootstrapGuest`."""
        with connected(self.uri) as hypervisor:
            return hypervisor.ask(self.name, word)

    def stop(self) -> None:
        """See `BootstrapGuest`."""
        with connected(self.uri) as hypervisor:
            domain = hypervisor.find(self.name)
            if domain and domain.owner.endswith(f"/{self.stack}"):
                end(hypervisor, self.name, deadline_s=self.deadline_s, clock=SYSTEM_CLOCK, report=self.report)


@dataclass(frozen=True)
class VipClients:
    """`MeasuringClient` of all VIPs, with one client each."""

    clients: tuple[VipClient, ...]

    def figures(self, started: float) -> dict[str, Any]:
        """See `MeasuringClient`."""
        connects = [client.connects for client in self.clients]
        requests = [client.requests for client in self.clients]
        both = [*connects, *requests]
        worst = max(connects, key=lambda attempts: attempts.gap_ms)
        return {
            "gap_ms": round(worst.gap_ms),
            "gap_at_s": round(worst.gap_began - started, 2) if worst.gap_ms else None,
            "probes_sent": sum(attempts.tried for attempts in both),
            "probes_failed": sum(attempts.failed for attempts in both),
            "clients": {
                "connects_tried": sum(attempts.tried for attempts in connects),
                "connects_failed": sum(attempts.failed for attempts in connects),
                "connects_broken_in_flight": sum(attempts.retried for attempts in connects),
                "requests_tried": sum(attempts.tried for attempts in requests),
                "requests_failed_after_retry": sum(attempts.failed for attempts in requests),
                "requests_broken_in_flight": sum(attempts.retried for attempts in requests),
                "problems": [problem for attempts in both for problem in attempts.problems],
            },
        }


@contextmanager
def measuring(vips: tuple[str, ...], api: Api) -> Iterator[VipClients]:
    """Run a client of each VIP during the block."""
    with ExitStack() as stack:
        yield VipClients(
            tuple(
                stack.enter_context(
                    VipClient(
                        partial(connect_problem, vip, API_PORT), partial(api.problem, vip, timeout_s=PATIENCE_S)
                    )
                )
                for vip in vips
            )
        )
