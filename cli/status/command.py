"""`status`: one screen of what a stack's cluster and servers are now; nothing is changed."""

import argparse
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from base.errors import ConfigError
from cli.shared.command import Command, add_stack
from cli.shared.command_line import EXIT_ERROR, EXIT_OK, install_config
from cli.shared.stack_options import stack_options
from cli.status.answers import Level, Question, ask_all
from cli.status.certificates import certificates
from cli.status.cluster import Cluster, apis, consents, etcds, nodes, requests, sleeps, vips
from cli.status.printed import json_of, lines_of, openmetrics_of
from cli.status.release import releases
from cli.status.servers import bmcs
from cluster.plan import ClusterPlan, check_inputs
from cluster.plan.addresses import CONFIG

DEADLINE_S = 20.0
"""For all questions. Those to a BMC, the longest, have 15 s."""
READERS: tuple[Callable[[Cluster], Iterator[Question]], ...] = (
    vips,
    apis,
    nodes,
    etcds,
    releases,
    requests,
    bmcs,
    certificates,
    consents,
)

ASLEEP: tuple[Callable[[Cluster], Iterator[Question]], ...] = (sleeps, bmcs, consents)
"""Of a cluster that sleeps, only the BMCs answer."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_stack(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON in place of a table")
    form.add_argument("--openmetrics", action="store_true", help="print OpenMetrics text, for a node exporter")


def status(options: argparse.Namespace) -> int:
    """Print who holds each VIP, nodes, etcd, what BMCs say, what expires, and what waits for a person.

    Everything is asked at once, and nothing is changed. What does not answer within 20 seconds is a row that says so.
    Exit codes: 0 if nothing is wrong, even with warnings, such as of a certificate that expires within 30 days; 1 if
    a row is wrong; 2 for wrong inputs or a wrong command, as elsewhere.
    """
    cluster = Cluster(options.stack, plan_of(options.stack), datetime.now(UTC))
    readers = ASLEEP if cluster.is_asleep else READERS
    rows = ask_all([question for reader in readers for question in reader(cluster)], DEADLINE_S)
    if options.json:
        print(json_of(cluster, rows))
    elif options.openmetrics:
        print(openmetrics_of(cluster, rows))
    else:
        print("\n".join(lines_of(rows)))
    return EXIT_ERROR if any(row.level is Level.WRONG for row in rows) else EXIT_OK


def plan_of(stack: str) -> ClusterPlan:
    """Return the plan of a stack, which may still lack consents.

    Raises:
        ConfigError: A preview would refuse the inputs for something else; it has all faults, one line each.
    """
    checked = check_inputs(install_config(stack), stack_options(stack), None)
    lacks_consent = {f"{CONFIG}: consent.{host.name}" for host in (checked.intent.hosts if checked.intent else ())}
    faults = [fault for fault in checked.faults if fault.where not in lacks_consent]
    if checked.intent is None or faults:
        raise ConfigError(*faults)
    return ClusterPlan(**dict(checked.intent), options=checked.known.options)


COMMAND = Command(status, _add_arguments)
