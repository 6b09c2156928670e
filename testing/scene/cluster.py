"""The machines of a cluster on one bridge: a bootstrap and its control plane, with their rendered files."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from assets.file import Files
from assets.render import render_bootstrap, render_role, render_server
from cluster.plan import ClusterPlan, Role, Server
from cluster.values.address import Address
from cluster.values.balancer import Balancer
from testing import clusters
from testing.certificates import authority
from testing.scene.machine import Machine, bridge, machine, until
from testing.scene.operators_node import BEST, operator_files
from wires.api.client import Attempts, VipClient
from wires.api.https import Endpoint, connect_problem

DOMAIN = "okd.lab.test"


@dataclass
class Cluster:
    """The machines of a cluster; tests start the programs on them."""

    plan: ClusterPlan
    bootstrap: Machine
    nodes: dict[str, Machine]
    certificate: str
    bootstrap_mac: str
    answer_ms: int
    """Time that an API server takes to answer."""
    bootstrap_keepalived: subprocess.Popen[bytes] = field(init=False, repr=False)

    @property
    def vips(self) -> tuple[Address, ...]:
        return self.plan.api.addresses

    def start_bootstrap(self) -> None:
        self.bootstrap.start_api(self.certificate, self.answer_ms)
        self.bootstrap_keepalived = self.bootstrap.start_keepalived(self.vips)

    def restart_bootstrap(self) -> None:
        """Restart keepalived with an empty /run, as a reboot of the VM does."""
        self.bootstrap.stop_keepalived(self.bootstrap_keepalived)
        for file in (self.bootstrap.folder / "run/okd-baremetal").iterdir():
            file.unlink()
        self.bootstrap_keepalived = self.bootstrap.start_keepalived(self.vips)

    def start_all(self, *healthy: str) -> None:
        """Start all machines, the API only on the `healthy` nodes, and wait until their keepalived is healthy.

        The bootstrap has the VIP before a node may claim it.
        """
        self.start_bootstrap()
        for name in self.nodes:
            self.start_services(name, healthy=name in healthy)
        self.until_held_by(self.bootstrap.name)
        for name in self.nodes:
            self.start_keepalived(name)
        self.until_healthy(*healthy)

    def start_node(self, name: str, *, healthy: bool = True) -> None:
        self.start_services(name, healthy=healthy)
        self.start_keepalived(name)

    def start_services(self, name: str, *, healthy: bool = True) -> None:
        """Start all services of a node except keepalived."""
        if healthy:
            self.nodes[name].start_api(self.certificate, self.answer_ms)
        self.nodes[name].start_haproxy()

    def start_keepalived(self, name: str) -> None:
        vips = [address for vip in self.plan.vips_of(Role.CONTROL_PLANE) for address in vip.addresses]
        self.nodes[name].start_keepalived(vips)

    def holders(self) -> set[str]:
        """Return the names of the machines that answer the API VIP of any family."""
        machines = {self.bootstrap.name: self.bootstrap, **self.nodes}
        return {name for name, machine in machines.items() for vip in self.vips if machine.holds(vip)}

    def until_held_by(self, *names: str) -> float:
        """Wait until only one of these machines answers the VIPs of all families; return the seconds."""

        def held() -> bool:
            owners = self.holders()
            return len(owners) == 1 and owners <= set(names)

        return until(f"the VIP only on {' or '.join(names)}", held)

    def until_healthy(self, *names: str) -> None:
        """Wait until keepalived of each node has the priority of a healthy node."""
        if self.plan.balancer is Balancer.OPERATOR:
            for name in names:
                until(f"{name} at {BEST}", partial(self._is_at, name, BEST))
            return
        numbers = self.plan.api.priorities
        ranks = [server.name for server in self.plan.control_plane]
        for name in names:
            best = (
                numbers.control_plane
                - ranks.index(name)
                + numbers.load_balancer
                + numbers.api
                + numbers.config_server
            )
            until(f"{name} at {best}", partial(self._is_at, name, best))

    def _is_at(self, name: str, priority: int) -> bool:
        return self.nodes[name].priorities()[-1:] == [priority]


@contextmanager
def cluster_of(name: str, folder: Path, certificate: str, *, answer_ms: int = 0, **options: Any) -> Iterator[Cluster]:
    """Make the machines of a cluster of `testing.clusters`, with further options.

    The files of its servers are those of its plan; those of its spares of the control plane are of the plan in which
    they are servers, too.
    """
    plan = clusters.plan(name, **options)
    grown = clusters.grown(plan)

    def files_of(server: Server) -> Files:
        own = plan if server in plan.servers else grown
        if own.balancer is Balancer.OPERATOR:
            return operator_files(own, server)
        return (*render_role(own, Role.CONTROL_PLANE), *render_server(own, server))

    with ExitStack() as stack:
        stack.enter_context(bridge(plan.machine_networks))
        bootstrap = stack.enter_context(machine(folder, plan, plan.bootstrap, render_bootstrap(plan)))
        nodes = {
            server.name: stack.enter_context(machine(folder, plan, server, files_of(server)))
            for server in grown.control_plane
        }
        yield Cluster(grown, bootstrap, nodes, certificate, bootstrap.mac, answer_ms)


@contextmanager
def connects_of_a_client(vip: Address) -> Iterator[Attempts]:
    """Count a client's connects, one every 20 ms, from a first success before the block to another one after it."""
    ready = Endpoint(6443, "/readyz", f"api.{DOMAIN}", authority("test-ca").pem)
    with VipClient(partial(connect_problem, str(vip), 6443), partial(ready.problem, str(vip))) as client:
        _until_one_more(client.connects)
        yield client.connects
        _until_one_more(client.connects)


def _until_one_more(attempts: Attempts) -> None:
    before = attempts.tried - attempts.failed
    until("a connect through the VIP", lambda: attempts.tried - attempts.failed > before)
