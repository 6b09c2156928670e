"""`python -m bench.fleet [N ...]`: compare the installation of N servers with that of the slowest of them alone.

It runs the real engine on BMCs of the fake fleet, over TLS, each with its own certificate.
"""

import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from bench import slots
from bench.stack import Stack, Update
from bench.tables import row, table
from testing.fakes.fleet.fetch import fetch
from testing.fakes.fleet.fleet import OFF, Fleet, Options, Pace, running_in_process
from testing.fakes.fleet.machine import Machine
from testing.fakes.fleet.vendors import GENERIC

SIZES = (1, 10, 100, 1000)
PACE = Pace(by_requests=False, power=(5, 30), install=(5, 10), boot=(5, 10), latency_s=(0.05, 0.3))
"""In seconds. The number of a host determines its times; the latency differs for each request."""
PARALLEL = 1000
MOST_WITH_SERVERS = 100
"""Beyond that, only the engine's own slots would be measured."""
SLOT_SIZES = (10, 20)
INSTALLED = Counter({"On": 2})
RUNNING = {**OFF, "power": "On", "running": True, "disk": "something of before"}


@dataclass(frozen=True)
class Measured:
    """One update, and figures about it.

    Args:
        wrong: Hosts with other resets than wanted, or not installed exactly once.
    """

    update: Update
    preview_s: float
    state_bytes: int
    requests: int
    connections: int
    wrong: list[int]


@dataclass
class Bench:
    """Runs measurements on one fleet, one after the other."""

    fleet: Fleet
    _alone: dict[tuple[int, bool, bool], float] = field(default_factory=dict)

    def install(self, hosts: list[int], *words: str, with_servers: bool = False, running: bool = False) -> Measured:
        """Install hosts with one `pulumi up`.

        Args:
            hosts: Numbers of the hosts.
            words: Options of the command.
            with_servers: Whether each has a `BmcHost`, which runs first.
            running: Whether the hosts run at first.
        """
        fleet = self.fleet
        fleet.change(**RUNNING if running else OFF)
        fleet.forget()
        with tempfile.TemporaryDirectory() as folder:
            stack = Stack(Path(folder), fleet, hosts, with_servers=with_servers)
            preview_s = stack.preview_s()
            update = stack.up(*words)
            wanted = INSTALLED + Counter({"ForceOff": int(running)})
            figures = {host: fleet.figures(host) for host in hosts}
            wrong = [host for host, seen in figures.items() if seen.resets != wanted or seen.installs != 1]
            total = fleet.total()
            return Measured(update, preview_s, stack.state_bytes(), total.requests, total.connections, wrong)

    def alone_s(self, hosts: int, *, with_servers: bool = False, running: bool = False) -> float:
        """Return the seconds that the slowest of the first `hosts` takes alone."""
        key = slowest(hosts), with_servers, running
        if key not in self._alone:
            measured = self.install([key[0]], with_servers=with_servers, running=running)
            self._alone[key] = measured.update.work_s
        return self._alone[key]


def slowest(hosts: int) -> int:
    """Return which of the first `hosts` has the longest times."""

    def needs_s(index: int) -> float:
        drawn = Machine(index, GENERIC, PACE, lambda machine, url: fetch(machine, url, "", 0, 0))
        return 2 * drawn.power_s + drawn.install_s + drawn.boot_s

    return max(range(hosts), key=needs_s)


def rollouts(bench: Bench, sizes: list[int]) -> None:
    """Measure `HostProvisioning` alone."""
    columns = ["hosts", "slowest alone, s", "rollout, s", "ratio", "pulumi up, s", "CPU ms/host: plugin", "the rest"]
    columns += ["plugin's peak, MiB", "preview, s", "state bytes/host", "requests/host", "connections/host"]
    table("HostProvisioning", *columns, "hosts not reset exactly as wanted", "load")
    for hosts in sizes:
        alone_s, seen = bench.alone_s(hosts), bench.install(list(range(hosts)))
        took, plugin = seen.update, seen.update.costs["plugin"]
        rest_s = sum(cost.cpu_s for cost in took.costs.values()) - plugin.cpu_s
        times = f"{alone_s:.1f}", f"{took.work_s:.1f}", took.work_s / alone_s, f"{took.whole_s:.1f}"
        cpu_ms = [round(1000 * cpu_s / hosts) for cpu_s in (plugin.cpu_s, rest_s)]
        each = [round(count / hosts, 1) for count in (seen.state_bytes, seen.requests, seen.connections)]
        row(
            hosts,
            *times,
            *cpu_ms,
            round(plugin.peak_mib),
            f"{seen.preview_s:.1f}",
            *map(str, each),
            seen.wrong or "none",
        )


def with_servers(bench: Bench, hosts: int) -> None:
    """Measure `HostProvisioning` after a `BmcHost` for each server, as in the real graph."""
    columns = "hosts", "servers", "--parallel", "slowest alone, s", "BmcHosts, s", "rollout, s", "ratio"
    table("BmcHost and HostProvisioning", *columns, "pulumi up, s", "hosts not reset exactly as wanted", "load")
    for running in (False, True):
        for words in ((), ("--parallel", str(PARALLEL))):
            alone_s = bench.alone_s(hosts, with_servers=True, running=running)
            seen = bench.install(list(range(hosts)), *words, with_servers=True, running=running)
            took = seen.update
            servers_s = took.work_s - took.rollout_s
            times = f"{alone_s:.1f}", f"{servers_s:.1f}", f"{took.rollout_s:.1f}", took.work_s / alone_s
            kind, parallel = "running" if running else "off", words[-1] if words else "default"
            row(hosts, kind, parallel, *times, f"{took.whole_s:.1f}", seen.wrong or "none")


def in_slots(bench: Bench, sizes: list[int]) -> None:
    """Measure sushy with its defaults, one host per slot; extrapolate sizes beyond the last of SLOT_SIZES."""
    columns = (
        "hosts",
        "slowest alone, s",
        "sushy's defaults in four slots, s",
        "ratio",
        "requests/host",
        "connections/host",
    )
    table("A host per slot", *columns, "load")
    each_s = 0.0
    for hosts in SLOT_SIZES:
        alone_s = bench.alone_s(hosts)
        bench.fleet.change(**OFF)
        bench.fleet.forget()
        with tempfile.TemporaryDirectory() as folder:
            took_s = slots.install_all(bench.fleet, hosts, Path(folder))
        total, each_s = bench.fleet.total(), took_s / hosts
        counts = f"{total.requests / hosts:.1f}", f"{total.connections / hosts:.1f}"
        row(hosts, f"{alone_s:.1f}", f"{took_s:.1f}", took_s / alone_s, *counts)
    for hosts in (size for size in sizes if size > max(SLOT_SIZES)):
        alone_s = bench.alone_s(hosts)
        row(hosts, f"{alone_s:.1f}", f"{each_s * hosts:,.0f} (extrapolated)", each_s * hosts / alone_s, "", "")


def main() -> None:
    """Run all measurements on one fleet."""
    sizes = [int(word) for word in sys.argv[1:]] or list(SIZES)
    with running_in_process(Options(hosts=max(*sizes, *SLOT_SIZES), pace=PACE)) as fleet:
        bench = Bench(fleet)
        rollouts(bench, sizes)
        with_servers(bench, min(max(sizes), MOST_WITH_SERVERS))
        in_slots(bench, sizes)


if __name__ == "__main__":
    main()
