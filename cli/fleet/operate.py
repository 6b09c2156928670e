"""`fleet start`, `status`, `approve`, `retry`, `cancel`: what an operator asks the server."""

import argparse
import asyncio
import getpass
import os
import secrets
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from temporalio.client import Client

from base.errors import ConfigError, Fault, one_line, word
from base.git import run_git
from cli.fleet.check import add_fleet_file, check_clusters
from cli.shared.command import Command
from cli.shared.command_line import EXIT_OK, table
from cluster.options import Release
from cluster.values.phase import Phase
from fleet import desk, messages
from fleet.approvers import Subject, approver
from fleet.connection import connected
from fleet.plan import Fleet, load, parsed
from fleet.workflows import APPROVAL, cluster_id, rollout_id

Answer = TypeVar("Answer")
ID_BYTES = 16
HEAD = "SITE", "CLUSTER", "STEP", "SINCE", "WAITS FOR"


def _add_person(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--by", metavar="WHO", help="who approves (default: you, as USER@HOST)")


def _add_cluster(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("cluster", metavar="CLUSTER")


def _add_start(parser: argparse.ArgumentParser) -> None:
    add_fleet_file(parser)
    parser.add_argument("--commit", metavar="COMMIT", default="HEAD", help="of the stacks (default: HEAD)")
    parser.add_argument("--name", metavar="NAME", help="of the rollout (default: the commit's)")
    what = "the preview of phase bootstrap that a pull request has approved; may be repeated"
    parser.add_argument("--approved", action="append", default=[], metavar="CLUSTER=DIGEST", help=what)
    _add_person(parser)


def start(options: argparse.Namespace) -> int:
    """Check as `fleet check` does, then hand the waves to the workflows.

    A cluster that is under way already is refused. What each site runs is the commit, which must be pushed.
    """
    fleet = load(options.file)
    if code := check_clusters(fleet, options.file.parent):
        return code
    commit = _commit(options.file.parent, options.commit)
    _refuse_other_upgrades(fleet, options.file, commit)
    ids = {cluster: secrets.token_hex(ID_BYTES) for cluster in fleet.clusters}
    approvals = _approvals(options.approved, ids, commit, options.by or _person())
    rollout = messages.Rollout(options.name or commit[:12], _waves(fleet, commit, ids, approvals))
    _ask(lambda client: desk.start(client, rollout))
    print(f"rollout {rollout.name}: {len(fleet.clusters)} clusters at commit {commit}")
    print("see `okd-baremetal fleet status`")
    return EXIT_OK


def _add_status(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("cluster", nargs="?", metavar="CLUSTER", help="this one, in detail")


def status(options: argparse.Namespace) -> int:
    """Print a table: site, cluster, step, since when, and for whom it waits.

    With CLUSTER, print its step, its latest progress, who approved what, and the preview or the problem that waits
    for a person.
    """
    if cluster := options.cluster:
        lines = _detail(cluster, _ask(lambda client: desk.describe(client, cluster)))
    else:
        lines = table([HEAD, *map(desk.table_row, _ask(desk.cluster_statuses))])
    for line in lines:
        print(one_line(line))
    return EXIT_OK


def _add_approve(parser: argparse.ArgumentParser) -> None:
    _add_cluster(parser)
    parser.add_argument("digest", metavar="DIGEST", help="of the preview, as `fleet status CLUSTER` prints it")
    _add_person(parser)


def approve(options: argparse.Namespace) -> int:
    """Let a cluster's phase begin.

    The approval is only of this preview, by its digest: if the update would do something else by then, it does not
    begin, and the new preview waits for an approval of its own. It is signed with the key in FLEET_APPROVER_KEY_FILE,
    and counts at the site for 7 days, once.
    """
    by, signs = options.by or _person(), approver()
    phase = _ask(lambda client: desk.approve(client, options.cluster, options.digest, by, signs))
    print(f"{options.cluster}: {phase} approved by {by}")
    return EXIT_OK


def retry(options: argparse.Namespace) -> int:
    """Repeat the step at which a cluster stopped."""
    _ask(lambda client: desk.retry(client, options.cluster))
    print(f"{options.cluster}: repeats the step")
    return EXIT_OK


def _add_cancel(parser: argparse.ArgumentParser) -> None:
    one = parser.add_mutually_exclusive_group(required=True)
    one.add_argument("cluster", nargs="?", metavar="CLUSTER")
    one.add_argument("--rollout", metavar="NAME")


def cancel(options: argparse.Namespace) -> int:
    """Interrupt a cluster's update, or start no further cluster of a rollout."""
    if rollout := options.rollout:
        _ask(lambda client: desk.cancel_rollout(client, rollout))
        print(f"{rollout_id(rollout)}: has ended")
    else:
        _ask(lambda client: desk.cancel(client, options.cluster))
        print(f"{cluster_id(options.cluster)}: will end")
    return EXIT_OK


def _ask(request: Callable[[Client], Awaitable[Answer]]) -> Answer:
    """Return the server's answer to a request."""

    async def answer() -> Answer:
        return await request(await connected())

    return asyncio.run(answer())


def _person() -> str:
    """Return who runs the command, as USER@HOST."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's user has no name; which of the two it is depends on Python's release
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"


def _commit(folder: Path, name: str) -> str:
    """Return the full id of a commit, which means the same at each site."""
    done = run_git(folder, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    if done.returncode:
        raise ConfigError(
            Fault("--commit", f"{name} is not a commit of {folder.resolve()}", "name one that is pushed")
        )
    return done.stdout.strip()


def _refuse_other_upgrades(fleet: Fleet, file: Path, commit: str) -> None:
    """Refuse a file whose upgrades are not those of the commit's own fleet.yaml, by which the sites go.

    Raises:
        ConfigError: They are not, or that file has faults.
    """
    shown = run_git(file.parent, "show", f"{commit}:fleet.yaml")
    committed = {} if shown.returncode else parsed(shown.stdout, f"fleet.yaml of commit {commit[:12]}").upgrades
    faults = [
        Fault(
            f"{file}: {cluster}",
            f"upgrade {_named(fleet.upgrades.get(cluster))}, and {_named(committed.get(cluster))} in fleet.yaml of "
            f"commit {commit[:12]}, by which its site goes",
            "write the same into the cluster's wave in both, commit and push",
        )
        for cluster in fleet.clusters
        if fleet.upgrades.get(cluster) != committed.get(cluster)
    ]
    if faults:
        raise ConfigError(*faults)


def _named(release: Release | None) -> str:
    return f"{release.version} ({release.image})" if release else "none"


def _approvals(
    arguments: Sequence[str], ids: Mapping[str, str], commit: str, by: str
) -> dict[str, list[messages.Approval]]:
    """Return the signed approvals of `CLUSTER=DIGEST` for the first phase, by cluster."""
    approvals: dict[str, list[messages.Approval]] = {}
    if not arguments:
        return approvals
    signs = approver()
    for argument in arguments:
        cluster, _, digest = argument.partition("=")
        if cluster not in ids or not digest:
            raise ConfigError(Fault("--approved", f"{argument} is not CLUSTER=DIGEST of a cluster of the fleet"))
        subject = Subject(cluster, commit, ids[cluster])
        approvals[cluster] = [signs.approval(subject, Phase.BOOTSTRAP, digest, by)]
    return approvals


def _waves(
    fleet: Fleet, commit: str, ids: Mapping[str, str], approvals: Mapping[str, list[messages.Approval]]
) -> list[messages.Wave]:
    gates = [str(gate) for gate in fleet.gates]

    def order(cluster: str) -> messages.Order:
        given = approvals.get(cluster, [])
        return messages.Order(
            cluster, fleet.site_of[cluster], commit, gates, given, notifies=fleet.notify, id=ids[cluster]
        )

    return [
        messages.Wave([order(cluster) for cluster in wave.clusters], wave.at_a_time, wave.hold_at)
        for wave in fleet.resolved_waves
    ]


def _detail(cluster: str, detail: desk.ClusterDetail) -> list[str]:
    status = detail.status
    lines = [f"{cluster}: {status.step}"]
    if detail.progress:
        lines.append(f"  now: {detail.progress}")
    if detail.failure:
        lines.append(f"  attempt {detail.attempt}; the one before failed: {detail.failure}")
    lines += [f"  {given.phase} was approved by {given.by} as {given.digest}" for given in status.approvals]
    if status.problem:
        lines += [f"  problem: {line}" for line in status.problem.splitlines()]
        lines.append(f"  Fix it, then run: okd-baremetal fleet retry {word(cluster)}")
    if status.refusal:
        lines.append(f"  the site did not begin: {status.refusal}")
    if status.preview and status.step.endswith(APPROVAL):
        lines += [f"  {sentence}" for sentence in status.preview.sentences]
        lines.append(
            f"  To approve it, run: okd-baremetal fleet approve {word(cluster)} {word(status.preview.digest)}"
        )
    return lines


START = Command(start, _add_start)
STATUS = Command(status, _add_status)
APPROVE = Command(approve, _add_approve)
RETRY = Command(retry, _add_cluster)
CANCEL = Command(cancel, _add_cancel)
