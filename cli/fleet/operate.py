"""`fleet start`, `status`, `approve`, `retry`, `cancel`, `worker`, `key`: the operator's side of many sites."""

import argparse
import asyncio
import getpass
import os
import socket
import subprocess
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

from temporalio.client import Client

from base.errors import ConfigError, Fault, one_line
from cli.fleet.check import verdict_on
from cli.shared.command_line import GOOD, table
from fleet import desk, messages
from fleet.codec import new_key
from fleet.connection import connected
from fleet.plan import Fleet, load
from fleet.worker import serve, site_worker, workflow_worker
from fleet.workflows import APPROVAL, cluster_id, rollout_id

Answer = TypeVar("Answer")
HEAD = "SITE", "CLUSTER", "STEP", "SINCE", "WAITS FOR"


def start(options: argparse.Namespace) -> int:
    """Judge the plan, and start a rollout of it."""
    fleet = load(options.file)
    if code := verdict_on(fleet, options.file.parent):
        return code
    commit = _commit(options.file.parent, options.commit)
    approvals = _approvals(options.approved, fleet, options.by or _person())
    rollout = messages.Rollout(options.name or commit[:12], _waves(fleet, commit, approvals))
    _asked(lambda client: desk.start(client, rollout))
    print(f"rollout {rollout.name}: {len(fleet.clusters)} clusters at commit {commit}")
    print("see `okd-baremetal fleet status`")
    return GOOD


def status(options: argparse.Namespace) -> int:
    """Print the table of all clusters, or one cluster in detail."""
    if cluster := options.cluster:
        lines = _detail(cluster, _asked(lambda client: desk.told(client, cluster)))
    else:
        lines = table([HEAD, *map(desk.cells, _asked(desk.rows))])
    for line in lines:
        print(one_line(line))
    return GOOD


def approve(options: argparse.Namespace) -> int:
    """Approve one preview of one cluster."""
    by = options.by or _person()
    phase = _asked(lambda client: desk.approve(client, options.cluster, options.digest, by))
    print(f"{options.cluster}: {phase} approved by {by}")
    return GOOD


def retry(options: argparse.Namespace) -> int:
    """Let the step of a cluster that stopped begin again."""
    _asked(lambda client: desk.retry(client, options.cluster))
    print(f"{options.cluster}: begins the step again")
    return GOOD


def cancel(options: argparse.Namespace) -> int:
    """Cancel a cluster, or a rollout."""
    workflow = rollout_id(options.rollout) if options.rollout else cluster_id(options.cluster)
    _asked(lambda client: desk.cancel(client, workflow))
    print(f"{workflow}: is asked to end")
    return GOOD


def worker(options: argparse.Namespace) -> int:
    """Run the worker of a site, or that of the workflows, until SIGTERM."""
    root = Path.cwd()
    if options.site and not (root / "Pulumi.yaml").exists():
        fix = "run this in the site's clone of the repository of stacks"
        raise ConfigError(Fault(str(root), "has no Pulumi.yaml", fix))
    name = f"site {options.site}" if options.site else "the workflows"
    ready = f"worker of {name}: ready"
    if options.site:
        asyncio.run(serve(lambda client: site_worker(client, options.site, root), ready))
    else:
        asyncio.run(serve(workflow_worker, ready))
    return GOOD


def key(_options: argparse.Namespace) -> int:
    """Print a new key."""
    print(new_key(), end="")
    return GOOD


def _asked(ask: Callable[[Client], Awaitable[Answer]]) -> Answer:
    """Return what the server answers."""

    async def asked() -> Answer:
        return await ask(await connected())

    return asyncio.run(asked())


def _person() -> str:
    """Return who types the command."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's user has no name; which of the two it is depends on Python's release
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"


def _commit(folder: Path, name: str) -> str:
    """Return the full id of a commit, which means the same at each site."""
    command = ["git", "-C", str(folder), "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise ConfigError(Fault("--commit", f"{name} is no commit of {folder.resolve()}", "name one that is pushed"))
    return done.stdout.strip()


def _approvals(given: Sequence[str], fleet: Fleet, by: str) -> dict[str, list[messages.Approval]]:
    """Return the approvals of `CLUSTER=DIGEST` for the first phase, by cluster."""
    found: dict[str, list[messages.Approval]] = {}
    for each in given:
        cluster, _, digest = each.partition("=")
        if cluster not in fleet.site_of or not digest:
            raise ConfigError(Fault("--approved", f"{each} is not CLUSTER=DIGEST of a cluster of the fleet"))
        found[cluster] = [messages.Approval("bootstrap", digest, by)]
    return found


def _waves(fleet: Fleet, commit: str, approvals: dict[str, list[messages.Approval]]) -> list[messages.Wave]:
    gates = [str(gate) for gate in fleet.gates]

    def order(cluster: str) -> messages.Order:
        return messages.Order(
            cluster, fleet.site_of[cluster], commit, gates, approvals.get(cluster, []), notifies=fleet.notify
        )

    return [
        messages.Wave([order(cluster) for cluster in wave.clusters], wave.at_a_time, wave.hold_at)
        for wave in fleet.resolved_waves
    ]


def _detail(cluster: str, told: desk.Told) -> list[str]:
    status = told.status
    lines = [f"{cluster}: {status.step}"]
    if told.row:
        lines.append(f"  now: {told.row}")
    if told.failure:
        lines.append(f"  attempt {told.attempt}; the one before failed: {told.failure}")
    lines += [f"  {each.phase} was approved by {each.by} as {each.digest}" for each in status.approvals]
    if status.problem:
        lines += [f"  problem: {line}" for line in status.problem.splitlines()]
        lines.append(f"  mend it, then: okd-baremetal fleet retry {cluster}")
    if status.preview and status.step.endswith(APPROVAL):
        lines += [f"  {sentence}" for sentence in status.preview.sentences]
        lines.append(f"  to let it: okd-baremetal fleet approve {cluster} {status.preview.digest}")
    return lines
