"""`python -m bench.handoff [RUNS [CLUSTER]]`, as root: compare four methods to take the API VIP from the bootstrap.

The figures are those of a client. In the first row nothing moves: it shows the noise of the machine itself. Real
keepalived and haproxy run in network namespaces, with the rendered files of a bootstrap and three nodes. On platform
baremetal, nodes have a keepalived as the machine-config operator sets it up, and the way back is measured, too.
"""

import itertools
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from providers.vip_handoff.adapters import VipClients, measuring
from testing.certificates import authority
from testing.namespaces import in_own_network, ip
from testing.scene.cluster import DOMAIN, Cluster, cluster_of
from testing.scene.machine import until, vip_channel
from wires.api.api import Api

RUNS = 20
ANSWERS_MS = (5, 50)
SETTLED = 25
"""Successful connects, and requests, to wait for before and after a move."""
QUIET_S = 4
"""The time of a move."""
TORN_DOWN_S = 5
"""The time for which the bootstrap's API fails before upstream stops keepalived (baremetal-runtimecfg 48239572)."""
COUNTS = ("connects_failed", "requests_failed_after_retry", "broken_in_flight")


def _nothing() -> None:
    """Do nothing."""


@dataclass(frozen=True)
class Method:
    """A way to move the VIP."""

    move: Callable[[], object]
    """It is measured."""
    undo: Callable[[], object] = _nothing
    prepare: Callable[[], object] = _nothing


@dataclass(frozen=True)
class Rig:
    """A running cluster with the VIP on the bootstrap, and the methods that move it."""

    cluster: Cluster
    send: Callable[[str], str]

    @property
    def methods(self) -> dict[str, Method | None]:
        """The methods by name; None for no move."""
        port = f"link set {self.cluster.bootstrap.port()}"
        return {
            "nothing": None,
            "handoff": Method(partial(self.send, "release"), self._hold),
            "keepalived stopped": Method(self._stop, self._restart),
            "power cut": Method(partial(ip, f"{port} down"), partial(ip, f"{port} up")),
            "upstream's order": Method(self._tear_down, self._build_up),
        }

    def run(self, method: Method | None) -> dict[str, Any]:
        """Move the VIP once, and return the figures of a client."""
        vips = tuple(map(str, self.cluster.vips))
        if method:
            method.prepare()
        with measuring(vips, Api(DOMAIN, authority("test-ca").pem)) as client:
            settle(client)
            if method:
                before = self._masters()
                method.move()
                until("another machine is MASTER", lambda: self._masters() > before)
            else:
                time.sleep(QUIET_S)
            settle(client)
        if method:
            method.undo()
            self.cluster.until_held_by(self.cluster.bootstrap.name)
        figures = client.figures(0)
        counts: dict[str, Any] = figures["clients"]
        broken = counts["connects_broken_in_flight"] + counts["requests_broken_in_flight"]
        return {**counts, "gap_ms": figures["gap_ms"], "broken_in_flight": broken}

    def _masters(self) -> int:
        """Count how often a machine became MASTER, from logs: a process for each poll would disturb the client."""
        machines = (self.cluster.bootstrap, *self.cluster.nodes.values())
        return sum(machine.log("keepalived").count("Entering MASTER") for machine in machines)

    def _hold(self) -> None:
        self.send("hold")
        vips, bootstrap = self.cluster.vips, self.cluster.bootstrap
        until("no VIP on lo", lambda: not any(map(bootstrap.has_on_lo, vips)))

    def _stop(self) -> None:
        self.cluster.bootstrap.stop_keepalived(self.cluster.bootstrap_keepalived)

    def _restart(self) -> None:
        self.cluster.bootstrap_keepalived = self.cluster.bootstrap.start_keepalived(self.cluster.vips)

    def _tear_down(self) -> None:
        self.cluster.bootstrap.kill("stand_in_api.py")
        time.sleep(TORN_DOWN_S)
        self._stop()

    def _build_up(self) -> None:
        self.cluster.bootstrap.start_api(self.cluster.certificate, self.cluster.answer_ms)
        self._restart()


@dataclass(frozen=True)
class BaremetalRig(Rig):
    """The same on platform baremetal."""

    @property
    def methods(self) -> dict[str, Method | None]:
        """See `Rig`."""
        return {
            "nothing": None,
            "handoff": Method(self._release, self._hold),
            "way back": Method(self._hold, prepare=self._release),
            "own API ends": Method(partial(self.cluster.bootstrap.kill, "stand_in_api.py"), self._start_api),
        }

    def _release(self) -> None:
        before = self._masters()
        self.send("release")
        until("a node is MASTER", lambda: self._masters() > before)
        self.send("leave")

    def _start_api(self) -> None:
        self.cluster.bootstrap.start_api(self.cluster.certificate, self.cluster.answer_ms)


RIGS = {"rehearsal": Rig, "baremetal": BaremetalRig}
"""By the cluster of `testing.clusters`."""


def settle(client: VipClients) -> None:
    """Wait until the client has SETTLED more successes of each kind."""
    both = [attempts for one in client.clients for attempts in (one.connects, one.requests)]
    wanted = [attempts.tried - attempts.failed + SETTLED for attempts in both]

    def settled() -> bool:
        return all(attempts.tried - attempts.failed >= enough for attempts, enough in zip(both, wanted, strict=True))

    until("the client succeeds", settled)


def measure(name: str, runs: int, answer_ms: int, folder: Path, certificate: str) -> dict[str, list[dict[str, Any]]]:
    """Return the figures of each run by method. The methods take turns, so that a busy moment affects all."""
    figures: dict[str, list[dict[str, Any]]] = defaultdict(list)
    with (
        cluster_of(name, folder, certificate, answer_ms=answer_ms) as cluster,
        vip_channel(cluster.bootstrap) as send,
    ):
        cluster.start_bootstrap()
        cluster.until_held_by(cluster.bootstrap.name)
        for node in cluster.nodes:
            cluster.start_node(node)
        cluster.until_healthy(*cluster.nodes)
        rig = RIGS[name](cluster, send)
        for _ in range(runs):
            for title, method in rig.methods.items():
                figures[title].append(rig.run(method))
    return figures


def show(name: str, answer_ms: int, figures: dict[str, list[dict[str, Any]]]) -> None:
    """Print a row per method: sums over all its runs, and the gap."""
    print(f"cluster {name}; server answers in {answer_ms} ms; {len(next(iter(figures.values())))} runs each")
    print(f"| {'method':18} | connects failed | requests failed | broken in flight | gap, ms: median | worst |")
    print("|---|---|---|---|---|---|")
    for title, runs in figures.items():
        connects, requests, broken = (sum(run[count] for run in runs) for count in COUNTS)
        tried = [sum(run[count] for run in runs) for count in ("connects_tried", "requests_tried")]
        gaps = [run["gap_ms"] for run in runs]
        cells = f"{connects} of {tried[0]} | {requests} of {tried[1]} | {broken}"
        print(f"| {title:18} | {cells} | {statistics.median(gaps):.0f} | {max(gaps)} |", flush=True)


def main() -> None:
    """Measure the methods of each cluster with a quick API server, and then with a slow one."""
    runs = int(sys.argv[1]) if sys.argv[1:] else RUNS
    wanted = sys.argv[2:] or [*RIGS]
    with tempfile.TemporaryDirectory() as scratch:
        ca = authority("test-ca")
        pair = ca.issue([f"api.{DOMAIN}", f"api-int.{DOMAIN}"])
        certificate = Path(scratch, "api.pem")
        certificate.write_text(pair.key + pair.certificate + ca.pem)
        for name, answer_ms in itertools.product(wanted, ANSWERS_MS):
            folder = Path(scratch, f"{name}-{answer_ms}")
            work = partial(measure, name, runs, answer_ms, folder, str(certificate))
            show(name, answer_ms, in_own_network(work))


if __name__ == "__main__":
    main()
