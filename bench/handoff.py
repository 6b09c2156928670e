"""`python -m bench.handoff [RUNS]`: four ways to take the API VIP from the bootstrap, as a client feels them.

The first row is of no move at all: what this machine alone does to the figures.

On the rendered files of a bootstrap and three control-plane nodes, in network namespaces with real keepalived and
haproxy. As root.
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

from providers.vip_handoff.provider import MeasuringClient, measuring
from testing.certificates import authority
from testing.namespaces import in_own_network, ip
from testing.scene.cluster import DOMAIN, Segment, segment
from testing.scene.segment import until, vip_channel
from wires.api.api import Api

RUNS = 20
ANSWERS_MS = (5, 50)
SETTLED = 25
"""Successes of each kind before and after a move."""
QUIET_S = 4
"""As long as a move takes."""
TORN_DOWN_S = 5
"""How long the bootstrap's API fails before upstream stops keepalived (baremetal-runtimecfg 48239572)."""
COUNTS = ("connects_failed", "requests_failed_after_retry", "broken_in_flight")


@dataclass(frozen=True)
class Rig:
    """A segment at work, its VIP on the bootstrap, and the ways to move it; each has a way back."""

    net: Segment
    say: Callable[[str], str]

    @property
    def ways(self) -> dict[str, tuple[Callable[[], object], Callable[[], object]] | None]:
        """By name: what moves the VIP, and what brings it back; None: nothing is done."""
        port = f"link set p{self.net.bootstrap.pid}"
        return {
            "nothing": None,
            "our handoff": (partial(self.say, "release"), self._hold),
            "keepalived stopped": (self._stop, self._restart),
            "power cut": (partial(ip, f"{port} down"), partial(ip, f"{port} up")),
            "upstream's order": (self._tear_down, self._build_up),
        }

    def run(self, way: tuple[Callable[[], object], Callable[[], object]] | None) -> dict[str, Any]:
        """What a client felt of one move."""
        vips = tuple(map(str, self.net.vips))
        with measuring(vips, Api(DOMAIN, authority("test-ca").pem)) as client:
            settle(client)
            if way:
                before = self._masters()
                way[0]()
                until("a node is MASTER", lambda: self._masters() > before)
            else:
                time.sleep(QUIET_S)
            settle(client)
        if way:
            way[1]()
            self.net.until_held_by(self.net.bootstrap.name)
        figures = client.figures(0)
        felt: dict[str, Any] = figures["felt"]
        broken = felt["connects_broken_in_flight"] + felt["requests_broken_in_flight"]
        return {**felt, "gap_ms": figures["gap_ms"], "broken_in_flight": broken}

    def _masters(self) -> int:
        """How often a node became MASTER; read from logs, for a process at each look would disturb the client."""
        return sum(node.log("keepalived").count("Entering MASTER") for node in self.net.nodes.values())

    def _hold(self) -> None:
        self.say("hold")
        until("lo free of the VIP", lambda: "/32" not in self.net.bootstrap.run("ip", "-o", "address", "show", "lo"))

    def _stop(self) -> None:
        self.net.bootstrap.stop_keepalived(self.net.bootstrap_keepalived)

    def _restart(self) -> None:
        self.net.bootstrap_keepalived = self.net.bootstrap.start_keepalived(self.net.vips)

    def _tear_down(self) -> None:
        self.net.bootstrap.kill("api.py")
        time.sleep(TORN_DOWN_S)
        self._stop()

    def _build_up(self) -> None:
        self.net.bootstrap.start_api(self.net.certificate, self.net.answer_ms)
        self._restart()


def settle(client: MeasuringClient) -> None:
    """Until it succeeds as before."""
    felts = [felt for each in client.clients for felt in (each.connects, each.requests)]
    wanted = [felt.tried - felt.failed + SETTLED for felt in felts]

    def settled() -> bool:
        return all(felt.tried - felt.failed >= enough for felt, enough in zip(felts, wanted, strict=True))

    until("the client succeeds", settled)


def measure(runs: int, answer_ms: int, folder: Path, certificate: str) -> dict[str, list[dict[str, Any]]]:
    """Figures of each run, by way: the ways take turns, so that a busy moment of the machine meets all."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    with segment("rehearsal", folder, certificate, answer_ms=answer_ms) as net, vip_channel(net.bootstrap) as say:
        net.start_bootstrap()
        net.until_held_by(net.bootstrap.name)
        for node in net.nodes:
            net.start_node(node)
        net.until_healthy(*net.nodes)
        rig = Rig(net, say)
        for _ in range(runs):
            for name, way in rig.ways.items():
                found[name].append(rig.run(way))
    return found


def tell(answer_ms: int, found: dict[str, list[dict[str, Any]]]) -> None:
    """A row per way: sums over all its runs, and the gap."""
    print(f"server answers in {answer_ms} ms; {len(next(iter(found.values())))} runs each")
    print(f"| {'way':18} | connects failed | requests failed | broken in flight | gap, ms: median | worst |")
    print("|---|---|---|---|---|---|")
    for name, runs in found.items():
        connects, requests, broken = (sum(run[count] for run in runs) for count in COUNTS)
        tried = [sum(run[count] for run in runs) for count in ("connects_tried", "requests_tried")]
        gaps = [run["gap_ms"] for run in runs]
        cells = f"{connects} of {tried[0]} | {requests} of {tried[1]} | {broken}"
        print(f"| {name:18} | {cells} | {statistics.median(gaps):.0f} | {max(gaps)} |", flush=True)


def main() -> None:
    """All ways, behind a quick server and behind a slow one."""
    runs = int(sys.argv[1]) if sys.argv[1:] else RUNS
    with tempfile.TemporaryDirectory() as scratch:
        pair = authority("test-ca").issue([f"api.{DOMAIN}", f"api-int.{DOMAIN}"])
        certificate = Path(scratch, "api.pem")
        certificate.write_text(pair.key + pair.certificate)
        for answer_ms in ANSWERS_MS:
            folder = Path(scratch, str(answer_ms))
            work = partial(measure, runs, answer_ms, folder, str(certificate))
            tell(answer_ms, in_own_network(work))


if __name__ == "__main__":
    main()
