"""`python -m lab.fleet`: take four clusters of two sites to production, with one worker killed on the way."""

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from fleet.server.development import DevelopmentServer, running
from fleet.workflows import PHASES
from testing.fakes.fleet.fleet import Fleet, Options, Pace, running_apart
from testing.sites.sites import ROLES, Sites

CLUSTERS = {"north": ("north-a", "north-b"), "south": ("south-a", "south-b")}
WAVES: list[dict[str, Any]] = [{"clusters": ["north-a"]}, {"at_a_time": 3}]
"""A canary, then the others."""
PACE = Pace(by_requests=False, power=(1, 2), install=(4, 8), boot=(2, 4), latency_s=(0.01, 0.05))
"""In seconds: short, but long enough for a kill in the middle of an installation."""
LONGEST_S = 300
LOOK_S = 1


class FailedError(Exception):
    """A step did not come, or a proof fails."""


def main() -> int:
    """Run the rehearsal, and return 0, or 1 if a step or a proof fails."""
    began = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what is left must end first
    with tempfile.TemporaryDirectory(prefix="okd-fleet-") as folder, ExitStack() as stack:
        try:
            hosts = sum(map(len, CLUSTERS.values())) * len(ROLES)
            servers = stack.enter_context(running_apart(Options(hosts=hosts, pace=PACE)))
            servers.change(power="Off", running=False, disk="", image="", target="None", enabled="Disabled")
            servers.forget()
            development = stack.enter_context(running(Path(folder) / "server", say))
            environment = {"TEMPORAL_ADDRESS": development.address, **development.state}
            sites = Sites(Path(folder), servers, CLUSTERS, environment, WAVES)
            say(f"server, database, two sites and four clusters: {time.monotonic() - began:.0f} s")
            _Rehearsal(sites, servers, development, stack).run()
        except FailedError as error:
            say(f"FAILED: {error}")
            return 1
    say(f"nothing is left running; {time.monotonic() - began:.0f} s in all")
    return 0


class _Rehearsal:
    def __init__(self, sites: Sites, servers: Fleet, development: DevelopmentServer, stack: ExitStack) -> None:
        self._sites, self._servers, self._development, self._stack = sites, servers, development, stack
        self._clusters = [cluster for clusters in CLUSTERS.values() for cluster in clusters]

    def run(self) -> None:
        """Take all clusters to production."""
        say(self._sites.command("check").splitlines()[-1])
        self._start("")
        north = self._start("north")
        self._start("south")
        say(self._sites.command("start").splitlines()[0])
        canary = self._clusters[0]
        self._approve(canary, "bootstrap")
        self._until(lambda: self._servers.total().installs > 0, "the canary's first server is installed")
        kill(north)
        say("north: its worker was killed in the middle of an `up`; another one starts")
        self._start("north")
        self._table()
        self._approve(canary, "production")
        for phase in PHASES:
            for cluster in self._clusters[1:]:
                self._approve(cluster, phase)
        self._until(lambda: self._table_text().count("in production") == len(self._clusters), "all are in production")
        self._table()
        self._prove()

    def _start(self, site: str) -> "subprocess.Popen[bytes]":
        process = self._sites.worker(site)
        self._stack.callback(end, process)
        return process

    def _approve(self, cluster: str, phase: str) -> None:
        """Wait for a cluster's preview, show it, and approve it."""
        gate = f"{phase}: waits for approval"
        self._until(lambda: gate in self._row(cluster), f"{cluster}: {gate}")
        text = self._sites.command("status", cluster)
        for line in text.splitlines():
            say(line)
        say(self._sites.command("approve", cluster, text.split()[-1], "--by", "the-rehearsal").strip())

    def _row(self, cluster: str) -> str:
        return next((line for line in self._table_text().splitlines() if f"  {cluster}  " in line), "")

    def _until(self, is_so: Callable[[], bool], what: str) -> None:
        began = time.monotonic()
        while not is_so():
            if "stopped" in self._table_text():
                told = [
                    self._sites.command("status", each) for each in self._clusters if "stopped" in self._row(each)
                ]
                raise FailedError("\n".join(told))
            if time.monotonic() - began > LONGEST_S:
                raise FailedError(f"not within {LONGEST_S} s: {what}\n{self._table_text()}")
            time.sleep(LOOK_S)

    def _table_text(self) -> str:
        return self._sites.command("status")

    def _table(self) -> None:
        for line in self._table_text().splitlines():
            say(line)

    def _prove(self) -> None:
        wrong = {name: figures for each in self._clusters for name, figures in self._sites.wrong(each).items()}
        if wrong:
            raise FailedError(f"not installed exactly once: {wrong}")
        total = self._servers.total()
        say(f"{total.installs} servers were installed, each exactly once, with {total.resets.total()} resets")
        say(f"Temporal's server: {self._development.server_memory_mib():.0f} MiB")


def kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill a worker as a power cut does."""
    process.kill()
    process.wait()


def end(process: "subprocess.Popen[bytes]") -> None:
    """End a worker."""
    process.send_signal(signal.SIGTERM)
    process.wait()


def say(text: str) -> None:
    """Print a line of the rehearsal."""
    print(f"fleet: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
