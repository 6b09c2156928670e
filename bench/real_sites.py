"""The real engine on the fake fleet: one cluster by itself, then N of two sites side by side, in one rollout."""

import asyncio
import os
import statistics
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from temporalio.client import Client, WorkflowExecution

from bench.processes import Cost, Watch, command_line, fields
from bench.rollouts import approved_until_done, clusters_of
from bench.tables import row, table
from cluster.values.vrrp import derived_vrids
from fleet.connection import connected
from fleet.messages import Done
from fleet.worker import AT_A_TIME
from fleet.workflows import PHASES, ClusterWorkflow
from testing.fakes.fleet.fleet import Pace
from testing.sites.postgres import postgres
from testing.sites.sites import ROLES, Sites, servers_of
from testing.sites.temporal import temporal_server

SITES = ("north", "south")
SINGLE = "alone"
NAME = "real"
PACE = Pace(by_requests=False, power=(1, 2), install=(4, 8), boot=(2, 4), latency_s=(0.01, 0.05))
"""In seconds, as in the rehearsal of many sites: short, so that the engine's own cost shows."""
MEMORY_S = 1.0
"""Between two samples."""


@dataclass(frozen=True)
class Cluster:
    """The workflow of one cluster, and its updates by phase."""

    name: str
    execution: WorkflowExecution
    done: Mapping[str, Done]


def measure(size: int) -> None:
    """Print how N clusters compare with a single one."""
    others = names(size)
    clusters = {site: others[number :: len(SITES)] for number, site in enumerate(SITES)}
    clusters[SITES[0]].insert(0, SINGLE)
    with tempfile.TemporaryDirectory(prefix="okd-bench-") as folder, ExitStack() as stack:
        servers = stack.enter_context(servers_of(size + 1, PACE))
        temporal = stack.enter_context(temporal_server(Path(folder)))
        database = stack.enter_context(postgres())
        environment = {"TEMPORAL_ADDRESS": temporal.address, **database.environment}
        sites = Sites(Path(folder), servers, clusters, environment, [{"clusters": [SINGLE]}, {"at_a_time": size}])
        for site in ("", *SITES):
            worker = sites.worker(site)
            stack.callback(worker.wait)
            stack.callback(worker.terminate)
        watches = [Watch(os.getpid(), of_update, MEMORY_S), Watch(worker.pid, lambda _: SITES[-1], MEMORY_S)]
        for watch in watches:
            watch.start()
        try:
            wanted = {cluster: sites.wanted(cluster) for cluster in sites.clusters}
            sites.command("start", "--name", NAME)
            os.environ |= sites.env | sites.approver_env
            done = asyncio.run(_clusters(size + 1))
        finally:
            costs = [watch.stop() for watch in watches]
        wrong = [cluster for cluster in wanted if sites.got(cluster) != wanted[cluster]]
        _print(done, costs[0], costs[1][SITES[-1]], wrong)


def names(size: int) -> list[str]:
    """Return names whose VRIDs do not clash, since all clusters of a site share its network."""
    chosen, taken = list[str](), set(derived_vrids(SINGLE))
    candidates = (f"cluster-{number}" for number in count())
    while len(chosen) < size:
        if taken.isdisjoint(ids := derived_vrids(name := next(candidates))):
            chosen.append(name)
            taken.update(ids)
    return chosen


def of_update(pid: int) -> str:
    """Return the command and the session of one of Pulumi's updates or previews; empty for other processes."""
    session = int(fields(pid)[3])
    words = command_line(session).split() if session else []
    if not words or words[0] != "unshare":
        return ""
    return next((f"{word} {session}" for word in words if word in ("preview", "up")), "")


async def _clusters(size: int) -> list[Cluster]:
    client = await connected()
    await approved_until_done(client, [NAME])
    return [await _cluster(client, execution) for execution in await clusters_of(client, size)]


async def _cluster(client: Client, execution: WorkflowExecution) -> Cluster:
    done = await client.get_workflow_handle_for(ClusterWorkflow.run, execution.id).result()
    return Cluster(execution.id.partition("/")[2], execution, done)


def _print(clusters: list[Cluster], updates: Mapping[str, Cost], site: Cost, wrong: list[str]) -> None:
    columns = "clusters", "rollout, s", "s/cluster", *(f"`up` of {phase}, s: median" for phase in PHASES)
    table(f"Two sites with {AT_A_TIME} updates at a time each", *columns, "load")
    single = [cluster for cluster in clusters if cluster.name == SINGLE]
    rows = [_times(single), _times([cluster for cluster in clusters if cluster.name != SINGLE])]
    for times in rows:
        row(*times)
    row(*(f"x {after / before:.2f}" for before, after in zip(*rows, strict=True)))
    mib = [cost.together_mib for kind, cost in updates.items() if kind.startswith("up ")]
    cpu_s = sum(cost.cpu_s for cost in updates.values()) / len(clusters)
    print(f"\nmemory of an `up` at its peak, MiB: median {statistics.median(mib):.0f}, largest {max(mib):.0f}")
    print(f"memory of the worker of one site with all of its updates at its peak, MiB: {site.together_mib:.0f}")
    print(f"CPU of Pulumi's processes in a cluster's previews and updates, s: {cpu_s:.1f}")
    print(f"{len(clusters) * len(ROLES)} servers; clusters with one not installed exactly once: {wrong or 'none'}")


def _times(clusters: list[Cluster]) -> list[float]:
    """Return the number of clusters, and their times in seconds."""
    began = min(cluster.execution.start_time for cluster in clusters)
    took_s = max((cluster.execution.close_time or began) - began for cluster in clusters).total_seconds()
    ups_s = [statistics.median(cluster.done[phase].seconds for cluster in clusters) for phase in PHASES]
    return [len(clusters), took_s, took_s / len(clusters), *ups_s]
