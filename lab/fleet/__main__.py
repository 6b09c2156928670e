"""`python -m lab.fleet`: take four clusters of two sites to production, and kill one worker meanwhile."""

import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from fleet.workflows import IN_PRODUCTION, PHASES
from testing.fakes.fleet.fleet import Fleet, Pace
from testing.sites.postgres import postgres
from testing.sites.sites import LateError, Sites, servers_of
from testing.sites.temporal import TemporalServer, temporal_server

CLUSTERS = {"north": ("north-a", "north-b"), "south": ("south-a", "south-b")}
WAVES: list[dict[str, Any]] = [{"clusters": ["north-a"]}, {"at_a_time": 3}]
"""A canary, then the others."""
PACE = Pace(by_requests=False, power=(1, 2), install=(4, 8), boot=(2, 4), latency_s=(0.01, 0.05))
"""In seconds: short, but long enough for a kill in the middle of an installation."""


def main() -> int:
    """Run the rehearsal, and return 0, or 1 if a step or a proof fails."""
    began = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the processes below must end first
    with tempfile.TemporaryDirectory(prefix="okd-fleet-") as folder, ExitStack() as stack:
        try:
            servers = stack.enter_context(servers_of(sum(map(len, CLUSTERS.values())), PACE))
            temporal = stack.enter_context(temporal_server(Path(folder)))
            database = stack.enter_context(postgres())
            environment = {"TEMPORAL_ADDRESS": temporal.address, **database.environment}
            sites = Sites(Path(folder), servers, CLUSTERS, environment, WAVES)
            say(f"server, database, two sites and four clusters: {time.monotonic() - began:.0f} s")
            _Rehearsal(sites, servers, temporal, stack).run()
        except LateError as error:
            say(f"FAILED: {error}")
            return 1
    say(f"nothing is left running; {time.monotonic() - began:.0f} s in all")
    return 0


class _Rehearsal:
    def __init__(self, sites: Sites, servers: Fleet, temporal: TemporalServer, stack: ExitStack) -> None:
        self._sites, self._servers, self._temporal, self._stack = sites, servers, temporal, stack
        self._clusters = [cluster for clusters in CLUSTERS.values() for cluster in clusters]
        self._wanted = {cluster: sites.wanted(cluster) for cluster in self._clusters}

    def run(self) -> None:
        """Take all clusters to production."""
        say(self._sites.command("check").splitlines()[-1])
        self._start("")
        north = self._start("north")
        self._start("south")
        say(self._sites.command("start").splitlines()[0])
        canary = self._clusters[0]
        self._approve(canary, "bootstrap")
        self._sites.wait(lambda: self._servers.total().installs > 0, "the canary's first server is installed")
        north.kill()
        say("north: its worker was killed in the middle of an `up`")
        self._sites.wait(lambda: self._sites.attempt(canary) > 1, "the server notices, after 30 s of silence")
        self._wanted[canary] = self._sites.wanted(canary)
        say("north: another worker starts")
        self._start("north")
        self._table()
        self._approve(canary, "production")
        for phase in PHASES:
            for cluster in self._clusters[1:]:
                self._approve(cluster, phase)
        for cluster in self._clusters:
            self._sites.until(cluster, IN_PRODUCTION)
        self._table()
        self._prove()

    def _start(self, site: str) -> "subprocess.Popen[bytes]":
        process = self._sites.worker(site)
        self._stack.callback(end, process)
        return process

    def _approve(self, cluster: str, phase: str) -> None:
        for line in self._sites.approve(cluster, phase).splitlines():
            say(line)

    def _table(self) -> None:
        for line in self._sites.command("status").splitlines():
            say(line)

    def _prove(self) -> None:
        for cluster, wanted in self._wanted.items():
            if (got := self._sites.got(cluster)) != wanted:
                raise LateError(f"{cluster}: its servers got {got}, wanted {wanted}")
        total = self._servers.total()
        hosts, resets = self._servers.options.hosts, total.resets.total()
        say(f"{hosts} servers, {total.installs} installations, {resets} resets: exactly those that the rules want")
        say(f"Temporal's server: {self._temporal.memory_mib():.0f} MiB")


def end(process: "subprocess.Popen[bytes]") -> None:
    """End a worker."""
    process.send_signal(signal.SIGTERM)
    process.wait()


def say(text: str) -> None:
    """Print a line of the rehearsal."""
    print(f"fleet: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
