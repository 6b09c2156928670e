"""`python -m bench.fleet [N ...]`: compare the installation of N servers with that of only the slowest one.

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
"""With more, the measurement would show only the engine's own slots."""
SLOT_SIZES = (10, 20)
INSTALLED = Counter({"On": 2})
RUNNING = {**OFF, "power": "On", "running": True, "disk": "another installation"}


@dataclass(frozen=True)
class Measured:
    """One update, and figures about it.

    Args:
        bmcs_cpu_s: CPU time of the BMCs during it, which share the cores with it.
        wrong: Hosts with other resets than wanted, or not installed exactly once.
    """

    update: Update
    bmcs_cpu_s: float
    preview_s: float
    state_bytes: int
    requests: int
    connections: int
    wrong: list[int]


@dataclass
class Bench:
    """Runs measurements on one fleet, one after the other."""

    fleet: Fleet
    _single: dict[tuple[int, bool, bool], float] = field(default_factory=dict)

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
            before_s = fleet.total().cpu_s
            update = stack.up(*words)
            total = fleet.total()
            stack.end()
            wanted = INSTALLED + Counter({"ForceOff": int(running)})
            figures = {host: fleet.figures(host) for host in hosts}
            wrong = [host for host, counted in figures.items() if counted.resets != wanted or counted.installs != 1]
            counts = stack.state_bytes(), total.requests, total.connections
            return Measured(update, total.cpu_s - before_s, preview_s, *counts, wrong)

    def slowest_s(self, hosts: int, *, with_servers: bool = False, running: bool = False) -> float:
        """Return the seconds for only the slowest of the first `hosts`."""
        key = slowest(hosts), with_servers, running
        if key not in self._single:
            measured = self.install([key[0]], with_servers=with_servers, running=running)
            self._single[key] = measured.update.work_s
        return self._single[key]


def slowest(hosts: int) -> int:
    """Return the number of the host with the longest times among the first `hosts`."""

    def needs_s(index: int) -> float:
        drawn = Machine(index, GENERIC, PACE, lambda machine, url: fetch(machine, url, "", 0, 0))
        return 2 * drawn.power_s + drawn.install_s + drawn.boot_s

    return max(range(hosts), key=needs_s)


def rollouts(bench: Bench, sizes: list[int]) -> None:
    """Measure `HostProvisioning` without `BmcHost`."""
    columns = [
        "hosts",
        "only the slowest, s",
        "rollout, s",
        "ratio",
        "pulumi up, s",
        "CPU ms/host: plugin",
        "the rest",
        "the BMCs",
    ]
    columns += ["plugin's peak, MiB", "preview, s", "state bytes/host", "requests/host", "connections/host"]
    table("HostProvisioning", *columns, "hosts not reset exactly as wanted", "load")
    for hosts in sizes:
        slowest_s, measured = bench.slowest_s(hosts), bench.install(list(range(hosts)))
        took, plugin = measured.update, measured.update.costs["plugin"]
        rest_s = sum(cost.cpu_s for cost in took.costs.values()) - plugin.cpu_s
        times = f"{slowest_s:.1f}", f"{took.work_s:.1f}", took.work_s / slowest_s, f"{took.whole_s:.1f}"
        cpu_ms = [round(1000 * cpu_s / hosts) for cpu_s in (plugin.cpu_s, rest_s, measured.bmcs_cpu_s)]
        counts = measured.state_bytes, measured.requests, measured.connections
        per_host = [round(count / hosts, 1) for count in counts]
        row(
            hosts,
            *times,
            *cpu_ms,
            round(plugin.peak_mib),
            f"{measured.preview_s:.1f}",
            *map(str, per_host),
            measured.wrong or "none",
        )


def with_servers(bench: Bench, hosts: int) -> None:
    """Measure `HostProvisioning` after a `BmcHost` for each server, as in the real graph."""
    columns = "hosts", "servers", "--parallel", "only the slowest, s", "BmcHosts, s", "rollout, s", "ratio"
    table("BmcHost and HostProvisioning", *columns, "pulumi up, s", "hosts not reset exactly as wanted", "load")
    for running in (False, True):
        for words in ((), ("--parallel", str(PARALLEL))):
            slowest_s = bench.slowest_s(hosts, with_servers=True, running=running)
            measured = bench.install(list(range(hosts)), *words, with_servers=True, running=running)
            took = measured.update
            servers_s = took.work_s - took.rollout_s
            times = f"{slowest_s:.1f}", f"{servers_s:.1f}", f"{took.rollout_s:.1f}", took.work_s / slowest_s
            kind, parallel = "running" if running else "off", words[-1] if words else "default"
            row(hosts, kind, parallel, *times, f"{took.whole_s:.1f}", measured.wrong or "none")


def in_slots(bench: Bench, sizes: list[int]) -> None:
    """Measure sushy with its defaults, one host per slot; extrapolate sizes beyond the last of SLOT_SIZES."""
    columns = (
        "hosts",
        "only the slowest, s",
        "sushy's defaults in four slots, s",
        "ratio",
        "requests/host",
        "connections/host",
    )
    table("A host per slot", *columns, "load")
    host_s = 0.0
    for hosts in SLOT_SIZES:
        slowest_s = bench.slowest_s(hosts)
        bench.fleet.change(**OFF)
        bench.fleet.forget()
        with tempfile.TemporaryDirectory() as folder:
            took_s = slots.install_all(bench.fleet, hosts, Path(folder))
        total, host_s = bench.fleet.total(), took_s / hosts
        counts = f"{total.requests / hosts:.1f}", f"{total.connections / hosts:.1f}"
        row(hosts, f"{slowest_s:.1f}", f"{took_s:.1f}", took_s / slowest_s, *counts)
    for hosts in (size for size in sizes if size > max(SLOT_SIZES)):
        slowest_s = bench.slowest_s(hosts)
        row(hosts, f"{slowest_s:.1f}", f"{host_s * hosts:,.0f} (extrapolated)", host_s * hosts / slowest_s, "", "")


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
