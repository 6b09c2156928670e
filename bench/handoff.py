"""`python -m bench.handoff [RUNS]`, as root: compare four methods to take the API VIP from the bootstrap.

The figures are those of a client. In the first row nothing moves: it shows the noise of the machine itself. Real
keepalived and haproxy run in network namespaces, with the rendered files of a bootstrap and three nodes.
"""

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


@dataclass(frozen=True)
class Rig:
    """A running cluster with the VIP on the bootstrap, and the methods that move it to a node and back."""

    cluster: Cluster
    send: Callable[[str], str]

    @property
    def moves(self) -> dict[str, tuple[Callable[[], object], Callable[[], object]] | None]:
        """The calls that move the VIP and bring it back, by name; None for no move."""
        port = f"link set {self.cluster.bootstrap.port()}"
        return {
            "nothing": None,
            "handoff": (partial(self.send, "release"), self._hold),
            "keepalived stopped": (self._stop, self._restart),
            "power cut": (partial(ip, f"{port} down"), partial(ip, f"{port} up")),
            "upstream's order": (self._tear_down, self._build_up),
        }

    def run(self, move: tuple[Callable[[], object], Callable[[], object]] | None) -> dict[str, Any]:
        """Move the VIP once, and return the figures of a client."""
        vips = tuple(map(str, self.cluster.vips))
        with measuring(vips, Api(DOMAIN, authority("test-ca").pem)) as client:
            settle(client)
            if move:
                before = self._masters()
                move[0]()
                until("a node is MASTER", lambda: self._masters() > before)
            else:
                time.sleep(QUIET_S)
            settle(client)
        if move:
            move[1]()
            self.cluster.until_held_by(self.cluster.bootstrap.name)
        figures = client.figures(0)
        counts: dict[str, Any] = figures["clients"]
        broken = counts["connects_broken_in_flight"] + counts["requests_broken_in_flight"]
        return {**counts, "gap_ms": figures["gap_ms"], "broken_in_flight": broken}

    def _masters(self) -> int:
        """Count how often a node became MASTER, from logs: a process for each poll would disturb the client."""
        return sum(node.log("keepalived").count("Entering MASTER") for node in self.cluster.nodes.values())

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


def settle(client: VipClients) -> None:
    """Wait until the client has SETTLED more successes of each kind."""
    both = [attempts for one in client.clients for attempts in (one.connects, one.requests)]
    wanted = [attempts.tried - attempts.failed + SETTLED for attempts in both]

    def settled() -> bool:
        return all(attempts.tried - attempts.failed >= enough for attempts, enough in zip(both, wanted, strict=True))

    until("the client succeeds", settled)


def measure(runs: int, answer_ms: int, folder: Path, certificate: str) -> dict[str, list[dict[str, Any]]]:
    """Return the figures of each run by method. The methods take turns, so that a busy moment affects all."""
    figures: dict[str, list[dict[str, Any]]] = defaultdict(list)
    with (
        cluster_of("rehearsal", folder, certificate, answer_ms=answer_ms) as cluster,
        vip_channel(cluster.bootstrap) as send,
    ):
        cluster.start_bootstrap()
        cluster.until_held_by(cluster.bootstrap.name)
        for node in cluster.nodes:
            cluster.start_node(node)
        cluster.until_healthy(*cluster.nodes)
        rig = Rig(cluster, send)
        for _ in range(runs):
            for name, move in rig.moves.items():
                figures[name].append(rig.run(move))
    return figures


def show(answer_ms: int, figures: dict[str, list[dict[str, Any]]]) -> None:
    """Print a row per method: sums over all its runs, and the gap."""
    print(f"server answers in {answer_ms} ms; {len(next(iter(figures.values())))} runs each")
    print(f"| {'method':18} | connects failed | requests failed | broken in flight | gap, ms: median | worst |")
    print("|---|---|---|---|---|---|")
    for name, runs in figures.items():
        connects, requests, broken = (sum(run[count] for run in runs) for count in COUNTS)
        tried = [sum(run[count] for run in runs) for count in ("connects_tried", "requests_tried")]
        gaps = [run["gap_ms"] for run in runs]
        cells = f"{connects} of {tried[0]} | {requests} of {tried[1]} | {broken}"
        print(f"| {name:18} | {cells} | {statistics.median(gaps):.0f} | {max(gaps)} |", flush=True)


def main() -> None:
    """Measure all methods with a quick API server, and then with a slow one."""
    runs = int(sys.argv[1]) if sys.argv[1:] else RUNS
    with tempfile.TemporaryDirectory() as scratch:
        ca = authority("test-ca")
        pair = ca.issue([f"api.{DOMAIN}", f"api-int.{DOMAIN}"])
        certificate = Path(scratch, "api.pem")
        certificate.write_text(pair.key + pair.certificate + ca.pem)
        for answer_ms in ANSWERS_MS:
            folder = Path(scratch, str(answer_ms))
            work = partial(measure, runs, answer_ms, folder, str(certificate))
            show(answer_ms, in_own_network(work))


if __name__ == "__main__":
    main()
