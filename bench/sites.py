"""`python -m bench.sites [N ...]`: what the engine of many sites costs for one rollout of N clusters.

Server, workflows and codec are real; the sites' updates only take time: see `stand_ins.py`. `python -m
bench.sites real [N]` takes N clusters of the fake fleet to production, with real updates: see `real_sites.py`.
"""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from temporalio.client import Client, WorkflowExecution

from bench import real_sites
from bench.processes import Cost, Watch, by_words
from bench.rollouts import approved_until_done, clusters_of
from bench.stand_ins import SITES, needs_s
from bench.tables import row, table
from fleet import approvers, desk
from fleet.codec import KEY_FILE
from fleet.connection import connected
from fleet.keys import write_key
from fleet.messages import Order, Rollout, Wave
from fleet.site.activities import BEAT_S
from fleet.workflows import PHASES, rollout_id
from testing.sites.temporal import temporal_server

SIZES = (10, 100, 1000)
REAL = 20
KINDS = {"start-dev": "server", "fleet worker": "workflows", "stand_ins": "sites"}
SAMPLE_S = 1.0
COMMIT = "c0ffee" * 6 + "c0de"
SIDE_BY_SIDE = 10
"""The number of rollouts that share the largest size, for comparison."""
BEATS_S = (25, 1)
"""Pauses between heartbeats, which show the cost of one, for `WITH_BEATS` clusters."""
WITH_BEATS = 100


@dataclass(frozen=True)
class Run:
    """The scenario: a number of clusters in a number of rollouts side by side, with or without both gates."""

    size: int
    rollouts: int = 1
    gates: Sequence[str] = ()
    beat_s: float = BEAT_S


@dataclass(frozen=True)
class Measured:
    """One rollout, or several side by side. Times are in seconds.

    Args:
        started_s: From the start of the rollout to that of its last cluster.
        ideal_s: The steps of the slowest cluster.
        median_s: Time of a cluster besides its steps, for server and worker of workflows; with gates, also for
            its approvals.
        worst_s: The same for the slowest cluster.
        rollout_events: Events in the largest history of a rollout.
        status_s: One `okd-baremetal fleet status` of all clusters.
    """

    clusters: int
    rollouts: int
    started_s: float
    starts_per_s: float
    whole_s: float
    ideal_s: float
    ratio: float
    median_s: float
    worst_s: float
    server_cpu_ms: float
    workflows_cpu_ms: float
    sites_cpu_ms: float
    server_mib: float
    workflows_mib: float
    events: float
    kib: float
    rollout_events: float
    rollout_kib: float
    status_s: float


COLUMNS = (
    *("clusters", "rollouts", "all started, s", "starts/s", "all in production, s", "ideal, s", "ratio"),
    *("besides its steps a cluster needs, s: median", "worst"),
    *("CPU, ms/cluster: server", "worker of workflows", "stand-ins"),
    *("peak memory, MiB: server", "worker of workflows"),
    *("history of a cluster: events", "KiB", "of a rollout: events", "KiB", "status, s"),
)


def measured(run: Run) -> Measured:
    """Take clusters to production on a new server."""
    with tempfile.TemporaryDirectory(prefix="okd-bench-") as name, temporal_server(Path(name)) as server:
        key, approver = Path(name) / "key", Path(name) / "approver.key"
        write_key(key)
        approvers.write_approver(approver)
        os.environ |= {
            "TEMPORAL_ADDRESS": server.address,
            KEY_FILE: str(key),
            approvers.KEY_FILE: str(approver),
        }
        with _process("cli", "fleet", "worker"), _process("bench.stand_ins", str(run.beat_s)):
            return asyncio.run(_measured(run))


async def _measured(run: Run) -> Measured:
    client, watch = await connected(), Watch(os.getpid(), by_words(KINDS), SAMPLE_S).start()
    gates = list(run.gates)
    orders = [Order(f"cluster-{number:05}", SITES[number % len(SITES)], COMMIT, gates) for number in range(run.size)]
    names = [f"bench-{number}" for number in range(run.rollouts)]
    try:
        for number, name in enumerate(names):
            own = orders[number :: run.rollouts]
            await desk.start(client, Rollout(name, [Wave(own, at_a_time=len(own), hold_at=1)]))
        await approved_until_done(client, names, has_gates=bool(gates))
    finally:
        costs = watch.stop()
    return await _figures(client, run.size, names, costs)


async def _figures(client: Client, size: int, names: list[str], costs: Mapping[str, Cost]) -> Measured:
    rollouts = [await client.get_workflow_handle(rollout_id(name)).describe() for name in names]
    clusters = await clusters_of(client, size)
    needs = {cluster.id: needs_s(cluster.id.partition("/")[2]) for cluster in clusters}
    began = min(rollout.start_time for rollout in rollouts)
    started_s = (max(cluster.start_time for cluster in clusters) - began).total_seconds()
    whole_s = max(_ended(rollout) - began for rollout in rollouts).total_seconds()
    besides_s = [(_ended(cluster) - cluster.start_time).total_seconds() - needs[cluster.id] for cluster in clusters]
    asked = time.monotonic()
    await desk.cluster_statuses(client)
    status_s = time.monotonic() - asked
    cpu_ms = {kind: 1000 * cost.cpu_s / size for kind, cost in costs.items()}
    return Measured(
        clusters=size,
        rollouts=len(names),
        started_s=started_s,
        starts_per_s=size / started_s,
        whole_s=whole_s,
        ideal_s=max(needs.values()),
        ratio=whole_s / max(needs.values()),
        median_s=statistics.median(besides_s),
        worst_s=max(besides_s),
        **{f"{kind}_cpu_ms": cpu_ms[kind] for kind in KINDS.values()},
        **{f"{kind}_mib": costs[kind].together_mib for kind in ("server", "workflows")},
        events=statistics.median(cluster.history_length for cluster in clusters),
        kib=statistics.median(map(_kib, clusters)),
        rollout_events=max(rollout.history_length for rollout in rollouts),
        rollout_kib=max(map(_kib, rollouts)),
        status_s=status_s,
    )


def _ended(execution: WorkflowExecution) -> datetime:
    assert execution.close_time is not None  # noqa: S101  (it has ended)
    return execution.close_time


def _kib(execution: WorkflowExecution) -> float:
    return execution.raw_info.history_size_bytes / 1024


@contextmanager
def _process(*words: str) -> Iterator[None]:
    """Run a module as a process that ends with this one, from when it is ready."""
    command = ["setpriv", "--pdeathsig", "KILL", sys.executable, "-m", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None  # noqa: S101  (a pipe was asked for)
        try:
            if not process.stdout.readline():
                raise RuntimeError(f"{' '.join(words)} ended before it was ready")
            yield
        finally:
            process.terminate()


def compare(sizes: list[int]) -> None:
    """Compare sizes, one rollout with several, and heartbeats."""
    gated = "With both gates, approved as soon as they wait"
    for title, gates in {"Without gates": (), gated: PHASES}.items():
        runs = [Run(size, gates=gates) for size in sizes]
        _print(title, [*runs, Run(sizes[-1], SIDE_BY_SIDE, gates)])
    beats = " s, and every ".join(map(str, BEATS_S))
    _print(f"Without gates, a heartbeat every {beats} s", [Run(WITH_BEATS, beat_s=beat_s) for beat_s in BEATS_S])


def _print(title: str, runs: Sequence[Run]) -> None:
    """Print a row per run, and between two of them the ratios of the second to the first."""
    table(title, *COLUMNS, "load")
    before: dict[str, float] = {}
    for run in runs:
        now = asdict(measured(run))
        if before:
            row(*(f"x {now[name] / before[name]:.2f}" for name in now))
        row(*(round(value, 2) for value in now.values()))
        before = now


def main() -> None:
    """Measure stand-ins, or real updates."""
    words = sys.argv[1:]
    if words[:1] == ["real"]:
        real_sites.measure(int(words[1]) if words[1:] else REAL)
    else:
        compare([int(word) for word in words] or list(SIZES))


if __name__ == "__main__":
    main()
