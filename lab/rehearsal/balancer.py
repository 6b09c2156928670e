"""Proofs behind a load balancer of the site.

The MAC at its addresses is its own, so these proofs read from its records which machine serves.
"""

import http.client
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from cluster.plan import Server
from cluster.plan.model import Machine
from lab.rehearsal.proofs import Proofs, settle
from lab.rehearsal.report import RehearsalError
from lab.rehearsal.stack import OnLine
from lab.site import balancer
from lab.site.balancer import API, CONFIG_SERVER, INGRESS

AWAITED = re.compile("VipHandoff .* await: .* still accepts connections on 6443 and 22623")
LET_GO = re.compile("VipHandoff .* let go")
SETTLE_S = 40
"""The balancer's checks take up to 10 s each on a busy machine."""
_UP = re.compile(rf"Server {API}/(\S+) is UP")
_LED = re.compile(rf"led (\S+) to {CONFIG_SERVER}/(\S+)")


@dataclass(frozen=True)
class BalancerProofs(Proofs):
    """The proofs of a stack with `loadBalancer.type: UserManaged`, whose payload ends its bootstrap by itself."""

    api_names_in_site_dns: ClassVar = ["api", "api-int"]

    def hand_over(self, up: Callable[[OnLine], object]) -> None:
        """Prove that the VM stays while its API serves, and goes when the balancer no longer leads to it.

        Raises:
            RehearsalError: `up` succeeded without showing both.
        """
        while_it_serves, as_it_goes = list[list[str]](), list[list[str]]()

        def watch(line: str, _: int) -> None:
            if AWAITED.search(line):
                while_it_serves.append(_behind(API))
                with suppress(OSError, http.client.HTTPException):  # the line comes again
                    self.etcd().complete()
            elif LET_GO.search(line):
                as_it_goes.append(_behind(API))

        up(watch)
        if not (while_it_serves and as_it_goes):
            raise RehearsalError("the handoff never awaited the end of the bootstrap's API, or never let the VM go")
        nodes = _names(self.plan.control_plane)
        for when, wanted, seen in (
            ("while the VM stays because it serves", self._api_machines, while_it_serves[0]),
            ("when the VM is let go", nodes, as_it_goes[0]),
        ):
            self.report.prove(f"API behind the balancer {when}", wanted=", ".join(wanted), seen=", ".join(seen))

    def node_to_freeze(self) -> Server:
        """Return the last node: none keeps the balancer's address, which is the provisioner's own in a twin."""
        return self.plan.control_plane[-1]

    def first_boots(self, path: str, servers: tuple[Server, ...], console: Callable[[], list[str]]) -> None:
        """Prove that the balancer led every server of a role to a config server, and that it served their path.

        Config servers see only the balancer as their client, and the balancer sees no paths.
        """
        names = {str(address): server.name for server in servers for address in server.addresses}
        wanted = _names(servers)
        self._settled(
            f"were led to a config server for {path}",
            wanted,
            lambda: sorted({names[client] for client, _ in _LED.findall(_log()) if client in names}),
            SETTLE_S,
        )
        served = settle(lambda: sum(f" {path} from " in line for line in console()), len(servers).__le__, 10)
        holds = served >= len(servers)
        self.report.prove(f"answers to {path}", wanted=f"{len(servers)} at least", seen=served, holds=holds)

    @property
    def _api_machines(self) -> list[str]:
        return _names((self.plan.bootstrap, *self.plan.control_plane))

    def _bootstrap_answers(self) -> None:
        first = next(iter(_UP.findall(_log())), "none")
        self.report.prove("first behind the balancer", wanted=self.plan.bootstrap.name, seen=first)
        self._behind_are(self._api_machines, API, CONFIG_SERVER)

    def _control_plane_answers(self) -> None:
        self._behind_are(_names(self.plan.control_plane), API, CONFIG_SERVER)

    def _routers_answer(self) -> None:
        self._behind_are(_names(self.plan.of(self.plan.ingress_role)), *INGRESS)

    def _behind_are(self, wanted: list[str], *services: str) -> None:
        for service in services:
            self._settled(f"{service} behind the balancer", wanted, partial(_behind, service), SETTLE_S)


def _behind(service: str) -> list[str]:
    """Return the names of the machines that a service leads to now, sorted."""
    return sorted(backend.machine for backend in balancer.backends() if backend.service == service and backend.is_up)


def _log() -> str:
    return balancer.daemon.log.read_text(errors="replace")


def _names(machines: Iterable[Machine]) -> list[str]:
    return sorted(machine.name for machine in machines)
