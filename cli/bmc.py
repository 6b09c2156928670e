"""`bmc check`, `bmc consent` and `bmc capture`: read the BMCs of a cluster, and change nothing."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from contextlib import closing, contextmanager
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from base.clock import SYSTEM_CLOCK
from base.errors import BmcError, BmcTimeoutError, BmcTransientError, ConfigError, Fault, one_line
from base.yaml_text import yaml_of
from cli.shared.command import Command, add_stack, add_stack_option
from cli.shared.command_line import EXIT_INVALID, EXIT_OK, GrowingTable, install_config, table, writing
from cli.shared.interrupts import threads
from cli.shared.stack_options import set_stack_option, stack_options
from cluster.plan import BmcPlan, Server, load_bmcs
from cluster.plan.model import PlannedHost
from cluster.stack_file import PREFIX
from providers.bmc_host.checks import BmcReport, Check, add_fencing, consented
from providers.bmc_host.engine import BmcHostEngine
from providers.pulumi.workers import WORKERS
from wires.bmc.access import BmcAccess
from wires.bmc.client import Identity, ProbedBmc
from wires.bmc.identity import is_one_machine, named
from wires.bmc_clients import capture_of, probe_of

CAPTURE_FILE = "capture.json"
T = TypeVar("T")
H = TypeVar("H", bound=PlannedHost)
COLUMNS = {
    "HOST": lambda row: row.host,
    "REACHED": lambda row: "yes" if row.reachable else "no",
    "LOGIN": lambda row: row.login,
    "SYSTEM": lambda row: row.system,
    "BIOS": lambda row: row.bios,
    "BMC": lambda row: row.firmware,
    "QUIRKS": lambda row: row.quirks,
    "VIRTUAL CD": lambda row: row.virtual_cd,
    "MODE": lambda row: row.mode,
    "SECURE BOOT": lambda row: row.secure_boot,
    "LICENCE": lambda row: row.licence,
    "POWER": lambda row: row.power,
    "BOOT TARGETS": lambda row: row.boot_targets,
}
DETAILS = {
    "HOST": lambda row: row.host,
    "PATH": lambda row: row.path,
    "SHA256 OF ITS CERTIFICATE": lambda row: row.sha256,
    "SUBJECT": lambda row: row.subject,
}
"""Apart from the other columns, so that these fit a screen."""
FENCING = {
    "HOST": lambda row: row.host,
    "LOGIN OF ITS PEER, WHICH FENCES IT": lambda row: row.fencing,
}
Columns = dict[str, Callable[[BmcReport], str]]


def _add_cluster(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="INSTALL_CONFIG")
    add_stack_option(parser)


def _add_one_host(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", metavar="HOST", help="only this host")


def _add_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON in place of a table")
    _add_cluster(parser)
    _add_one_host(parser)


def check(options: argparse.Namespace) -> int:
    """Read the BMC of every host, also of a spare, and change nothing.

    Print a row for each host as soon as its BMC has answered, and at the end what would stop `pulumi up`; then the
    exit code is 2. With --stack, the options of the stack count: logins, certificates, consents. Encrypted ones are
    read with the pulumi command.
    """
    plan = _plan(options)

    def row_of(host: PlannedHost) -> BmcReport:
        with _probe(plan, host) as (bmc, engine):
            # A spare needs no consent.
            report = Check(bmc, engine, options.stack is not None and isinstance(host, Server)).report()
        if fence := plan.fences.get(host.name):
            with closing(probe_of(BmcAccess.of_fence(fence), fence.password)) as by_peer:
                add_fencing(report, by_peer)
        return report

    hosts = _chosen(plan.hosts, options.host)
    if options.json:
        rows = _ask_all(hosts, row_of, _progress(hosts, lambda row: "would stop `up`" if row.stops else "ok"))
    else:
        seen = GrowingTable(list(COLUMNS), max(len(host.name) for host in hosts))
        rows = _ask_all(hosts, row_of, lambda _, row: seen.add(_cells(row, COLUMNS)))
    _add_shared_machines(rows)
    if options.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
    else:
        _print_details(rows)
    return EXIT_INVALID if any(row.stops for row in rows) else EXIT_OK


def _add_shared_machines(rows: Sequence[BmcReport]) -> None:
    """Add a line to the rows of hosts whose BMCs lead to one machine."""
    for row in rows:
        own = Identity(row.uuid, row.serial)
        others = [it.host for it in rows if it is not row and is_one_machine(own, Identity(it.uuid, it.serial))]
        if others:
            what = f"its BMC and that of {', '.join(others)} lead to one machine, {named(own)}"
            row.stops.append(str(Fault(f"{row.host} ({row.bmc})", what, "correct one bmc.address, or remove a host")))


def _add_consent(parser: argparse.ArgumentParser) -> None:
    add_stack(parser)
    parser.add_argument("--write", action="store_true", help="also write them into stacks/Pulumi.STACK.yaml")
    _add_one_host(parser)


def consent(options: argparse.Namespace) -> int:
    """Print the consent to each host's machine, for stacks/Pulumi.STACK.yaml.

    It is the machine's UUID, or its serial if other machines may have the same UUID. A consent allows that machine's
    disk to be wiped: compare it with the server first.
    """
    plan = load_bmcs(install_config(options.stack), stack_options(options.stack))
    servers = _chosen(plan.servers, options.host)
    consents = consents_of(plan, servers)
    print(yaml_of({f"{PREFIX}consent": consents}), end="")
    if len(consents) < len(servers):
        return EXIT_INVALID
    if options.write:
        set_stack_option(options.stack, "consent", {**plan.options.consent, **consents})
    return EXIT_OK


def consents_of(plan: BmcPlan, servers: Sequence[Server]) -> dict[str, str]:
    """Return the consent to the machine of each server, and print why one has none."""

    def named(server: Server) -> tuple[str, str]:
        with _probe(plan, server) as (bmc, engine):
            try:
                return consented(engine), ""
            except BmcError as error:
                return "", bmc.masked(str(error))

    answers = _ask_all(servers, named, _progress(servers, lambda answer: "failed" if answer[1] else "ok"))
    for _, error in answers:
        if error:
            print(one_line(error), file=sys.stderr)
    consents = {server.name: name for server, (name, _) in zip(servers, answers, strict=True) if name}
    shared = [host for host, name in consents.items() if [*consents.values()].count(name) > 1]
    if shared:
        fix = "correct their bmc.address, so that each leads to its own machine"
        print(Fault(", ".join(shared), "their BMCs lead to one machine", fix), file=sys.stderr)
    return {host: name for host, name in consents.items() if host not in shared}


def _add_capture(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", metavar="HOST", required=True, help="the host")
    parser.add_argument("--out", type=Path, metavar="DIR", required=True, help="a new or empty directory")
    _add_cluster(parser)


def capture(options: argparse.Namespace) -> int:
    """Write DIR/capture.json: a copy of what the program reads of one host's BMC, for a report about it.

    Change nothing. The copy has only what the program uses, without passwords, tokens, licence keys and paths of
    ISOs. Instead of serials, UUIDs, addresses and names it has pseudonyms, the same one for the same value.
    """
    out: Path = options.out
    plan = _plan(options)
    (host,) = _chosen(plan.hosts, options.host)
    with writing(out, "name a writable directory"):
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise ConfigError(Fault(str(out), "exists already", "name another directory"))
        tree = tree_of(plan, host, lambda path: print(one_line(f"reads {path}"), file=sys.stderr))
        out.mkdir(exist_ok=True)
        (out / CAPTURE_FILE).write_text(json.dumps(tree, indent=2, ensure_ascii=False) + "\n")
    print(f"{out / CAPTURE_FILE}: {len(tree['resources'])} resources. Read it before you send it.")
    return EXIT_OK


def tree_of(plan: BmcPlan, host: PlannedHost, on_read: Callable[[str], None]) -> dict[str, Any]:
    """Return the masked tree of a host's BMC.

    Args:
        plan: The cluster.
        host: One of its hosts.
        on_read: Called with the path of each resource, before it is read.

    Raises:
        BmcError: The BMC does not answer, or its system cannot be read.
    """
    bmc = capture_of(BmcAccess.of(plan.options, host, ca=plan.bmc_ca), host.bmc.password)
    try:
        return bmc.tree(on_read)
    except BmcTransientError as error:
        fix = "compare bmc.address with the BMC's, and its network; then repeat the command"
        raise BmcTimeoutError(error.fault.what, where=error.fault.where, fix=fix) from None
    finally:
        bmc.close()


def _plan(options: argparse.Namespace) -> BmcPlan:
    return load_bmcs(options.file, {} if options.stack is None else stack_options(options.stack))


def _chosen(hosts: Sequence[H], name: str | None) -> list[H]:
    chosen = [host for host in hosts if name in (None, host.name)]
    if not chosen:
        fix = f"name one of {', '.join(host.name for host in hosts)}"
        raise ConfigError(Fault("--host", f"{name} is not installed by this install-config", fix))
    return chosen


@contextmanager
def _probe(plan: BmcPlan, host: PlannedHost) -> Iterator[tuple[ProbedBmc, BmcHostEngine]]:
    bmc = probe_of(BmcAccess.of(plan.options, host, ca=plan.bmc_ca), host.bmc.password)
    consented_to = plan.options.consent.get(host.name, "")
    try:
        yield bmc, BmcHostEngine(bmc, SYSTEM_CLOCK, print, host.name, consented_to, 0)
    finally:
        bmc.close()


def _ask_all(hosts: Sequence[H], ask: Callable[[H], T], answered: Callable[[H, T], None]) -> list[T]:
    """Ask all hosts at once, hand on each answer as it comes, and return all in the order of the hosts."""
    with threads(min(WORKERS, len(hosts))) as pool:
        hosts_by_future = {pool.submit(ask, host): host for host in hosts}
        for future in as_completed(hosts_by_future):
            answered(hosts_by_future[future], future.result())
    return [future.result() for future in hosts_by_future]


def _progress(hosts: Sequence[H], verdict: Callable[[T], str]) -> Callable[[H, T], None]:
    """Return what prints a line of progress for each answer."""
    numbers = count(1)

    def show(host: H, answer: T) -> None:
        print(f"{next(numbers)}/{len(hosts)} {host.name}: {verdict(answer)}", file=sys.stderr)

    return show


def _print_details(rows: list[BmcReport]) -> None:
    print()
    print("\n".join(table([list(DETAILS), *(_cells(row, DETAILS) for row in rows)])))
    if fenced := [row for row in rows if row.fencing]:
        print()
        print("\n".join(table([list(FENCING), *(_cells(row, FENCING) for row in fenced)])))
    warnings = [f"{row.host}: {warning}" for row in rows for warning in row.warnings]
    stops = [f"{row.host}: {stop}" for row in rows for stop in row.stops]
    for title, lines in (("Unsafe:", warnings), ("These would stop `up`:", stops)):
        if lines:
            print(f"\n{title}")
        for line in lines:
            print(one_line(line))


def _cells(row: BmcReport, columns: Columns) -> list[str]:
    return [one_line(cell(row)) or "-" for cell in columns.values()]


CHECK = Command(check, _add_check)
CONSENT = Command(consent, _add_consent)
CAPTURE = Command(capture, _add_capture)
