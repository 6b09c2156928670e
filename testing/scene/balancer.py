"""A cluster behind the site's balancer: a real haproxy on a machine of its own, in another network."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from testing.namespaces import MORTAL, SBIN, ip, neighbour
from testing.scene.cluster import Cluster, cluster_of
from testing.scene.handoff import LiveHandoff
from testing.scene.machine import BRIDGE, until
from wires.api.https import connect_problem

PAGES = {6443: "/readyz", 22623: "/healthz"}
INGRESS = (443, 80)
CHECKED = "check check-ssl verify none inter 300ms fall 2 rise 1"
"""Parameters of a backend with a health check."""


@dataclass
class BalancedCluster:
    """A cluster, and its balancer, which `lead_to` starts."""

    cluster: Cluster
    handoff: LiveHandoff
    folder: Path
    inside: list[str]
    """Prefix of commands on the balancer's machine."""

    @property
    def address(self) -> str:
        """The balancer's address."""
        return str(self.cluster.vips[0])

    @contextmanager
    def leading_to(self, *names: str, check: str = CHECKED) -> Iterator[None]:
        """Run the balancer, with these machines as its backends."""
        plan = self.cluster.plan
        machines = {machine.name: str(machine.address) for machine in (plan.bootstrap, *plan.control_plane)}
        config, log = self.folder / "site.cfg", self.folder / "site.log"
        config.write_text(_config({name: machines[name] for name in names}, check))
        command = [*MORTAL, *self.inside, "haproxy", "-db", "-f", str(config)]
        with (
            log.open("wb") as output,
            subprocess.Popen(command, stdout=output, stderr=output, env={"PATH": SBIN}) as haproxy,
        ):
            try:
                until("the balancer listens", lambda: connect_problem(self.address, 6443) is None)
                yield
            finally:
                haproxy.kill()

    def start_api(self, names: Sequence[str]) -> None:
        """Start the API and config server of these nodes."""
        for name in names:
            self.cluster.nodes[name].start_api(self.cluster.certificate)


@contextmanager
def balanced_cluster(folder: Path, certificate: str) -> Iterator[BalancedCluster]:
    """Make the machines of the cluster `balancer`, and the machine of the site's balancer."""
    with (
        cluster_of("balancer", folder, certificate) as cluster,
        neighbour(BRIDGE, "site", "02:00:00:00:00:64", "192.168.111.100/24", "10.20.0.100/24") as inside,
    ):
        ip(f"address add 10.20.0.1/24 dev {BRIDGE}")
        yield BalancedCluster(cluster, LiveHandoff(cluster, _no_channel), folder, inside)


def _no_channel(word: str) -> str:
    pytest.fail(f"{word} was sent, but this cluster has no channel")


def _config(machines: dict[str, str], check: str) -> str:
    lines = ["defaults", "mode tcp", "timeout connect 1s", "timeout client 10s", "timeout server 10s"]
    for port, page in PAGES.items():
        lines += [f"listen api{port}", f"bind :{port}", "balance roundrobin"]
        lines += [f"option httpchk GET {page}"] if check else []
        lines += [f"server {name} {address}:{port} {check}" for name, address in machines.items()]
    for port in INGRESS:
        lines += [f"listen ingress{port}", f"bind :{port}"]
    return "\n".join([*lines, ""])
