"""`upgrade`: what stands in the way of the upgrade of OKD that a stack names; nothing is changed."""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from base.errors import ConfigError, Fault
from cli.inspect.online import DEADLINE_S, RELEASE, asked_for
from cli.shared.command import Command, add_stack
from cli.shared.command_line import EXIT_ERROR, EXIT_OK, install_config
from cli.status.answers import Level, Question, Row, ask_all
from cli.status.certificates import certificates
from cli.status.cluster import Cluster, etcds
from cli.status.command import plan_of
from cli.status.printed import lines_of
from cluster.files import read_text
from cluster.install_config import read
from cluster.options import Options, Release
from cluster.plan.addresses import CONFIG
from cluster.values.image_reference import ImageReference
from cluster.values.phase import Phase
from providers.asleep import WAKE
from providers.cluster_upgrade.obstacles import seen_of
from wires.api.resources import KubernetesReader

LATE_S = 5.0
"""What the answers of registries may take beyond their own deadline."""


def upgrade(options: argparse.Namespace) -> int:
    """Print what stands in the way of the upgrade that the stack's option `upgrade` names.

    The API is asked for the version, operators, nodes, machine config pools and etcd, machines for their
    certificates, and registries for the release, as by `plan --online`. `pulumi up` then upgrades. Exit codes: 0 if
    nothing is wrong, 1 if a row is, 2 for wrong inputs or a wrong command. A certificate that expires within 30 days
    is wrong here; a registry that does not answer this machine is a warning.
    """
    plan = plan_of(options.stack)
    release = _release_of(plan.options)
    cluster = Cluster(options.stack, plan, datetime.now(UTC))
    rows = [_strict(row) for row in ask_all([*_questions(cluster, release)], DEADLINE_S + LATE_S)]
    print("\n".join(lines_of(rows)))
    return EXIT_ERROR if any(row.level is Level.WRONG for row in rows) else EXIT_OK


def _release_of(options: Options) -> Release:
    where, release = f"{CONFIG}: upgrade", options.upgrade
    if release is None or options.phase is not Phase.PRODUCTION:
        what = "is not set" if release is None else "is of phase production only"
        raise ConfigError(Fault(where, what, "see docs/how-to/upgrade-okd.md"))
    if options.is_asleep:
        raise ConfigError(Fault(where, "the cluster sleeps, so nothing of it answers", WAKE))
    return release


def _questions(cluster: Cluster, release: Release) -> Iterator[Question]:
    yield cluster.of_kubernetes("version", "of OKD", partial(_rows, release))
    yield from etcds(cluster)
    yield from certificates(cluster)
    yield Question("mirror", release.version, partial(_mirrors, cluster, release))
    yield Question("snapshot", "of etcd", partial(_snapshot, cluster))


def _rows(release: Release, cluster: Cluster, api: KubernetesReader) -> Iterator[Row]:
    for seen in seen_of(api, cluster.vip, release.version, release.image):
        yield Row(seen.kind, seen.name, Level.GOOD if seen.is_good else Level.WRONG, seen.says)


def _mirrors(cluster: Cluster, release: Release) -> Iterator[Row]:
    """Yield what the registries lack of the release, or that they have all of it."""
    image = ImageReference.of(release.image)
    if image is None:
        raise ConfigError(Fault(f"{CONFIG}: upgrade.image", f"{release.image} names no image"))
    config = read(read_text(Path(install_config(cluster.stack)))).config
    registries = asked_for(config, cluster.stack, cluster.plan, {RELEASE: image})
    found = [
        *((Level.WRONG, str(fault)) for fault in registries.lacks()),
        *((Level.WARNING, f"not asked: {fault}") for fault in registries.refusals()),
        *((Level.GOOD, line) for line in registries.lines()),
    ]
    for number, (level, says) in enumerate(found, start=1):
        yield Row("mirror", f"{release.version} ({number})", level, says)


def _snapshot(cluster: Cluster) -> Iterator[Row]:
    store = cluster.plan.options.snapshots
    says = f"etcd is saved below {store} first" if store else "etcd is not saved first: `snapshots` names no store"
    yield Row("snapshot", "of etcd", Level.GOOD if store else Level.WARNING, says)


def _strict(row: Row) -> Row:
    """Return a row, in which a certificate that expires soon is wrong: an upgrade restarts all that uses it."""
    return replace(row, level=Level.WRONG) if row.ends and row.level is Level.WARNING else row


COMMAND = Command(upgrade, add_stack)
