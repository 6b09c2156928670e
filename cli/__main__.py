"""`okd-baremetal`: make a stack, judge its inputs and BMCs, show what is and what will be.

Only `fleet worker` changes machines.

Exit codes: 0 for success, 2 for wrong inputs or a wrong command, 3 for a valid install-config that this release
cannot install (`check`, `clashes` and `fleet check`), 4 for an update that breaks a policy (`review`), 1 for a
failure of this program.
"""

import argparse
import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from cli import descriptions as told
from cli.inspect import check, schema, values
from cli.runs import chart
from cli.shared.command_line import run
from cli.shared.version import Version
from cli.start import payload_config

Command = Callable[[argparse.Namespace], int]
POLICIES = ("consent", "certificates", "destroyable", "backend")
STACK = "a stack, with stacks/STACK/ and stacks/Pulumi.STACK.yaml"
JOINED = "join it with the options in stacks/Pulumi.STACK.yaml"
NEW = "a new or empty directory"


def main(arguments: list[str] | None = None) -> int:
    """Run one command, and return its exit code."""
    return run(_parser(), arguments)


def end(code: int) -> NoReturn:
    """End the process.

    Threads of Temporal's client have no end, and abort a Python before 3.14 that ends while one of them asks for its
    lock (https://github.com/temporalio/sdk-python/issues/300): with them, nothing of the interpreter is torn down.
    """
    if "temporalio.bridge" not in sys.modules:
        sys.exit(code)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


class Commands:
    """The commands of a parser."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._parsers = parser.add_subparsers(metavar="COMMAND")

    def add(self, name: str, command: Command, what: str, description: str = "") -> argparse.ArgumentParser:
        """Add one, and return its parser."""
        added = self._parsers.add_parser(name, help=what, description=description or what)
        added.set_defaults(run=command)
        return added

    def of(self, name: str, what: str) -> "Commands":
        """Return the commands of a group, which is called by its own name first."""
        return Commands(self._parsers.add_parser(name, help=what))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="okd-baremetal",
        description="Make a stack of an install-config, judge it, and show what is and what will be.",
        epilog="Exit codes: 0 for success, 2 for wrong inputs, 3 for a valid install-config that this release cannot "
        "install, 4 for an update that breaks a policy, 1 for a failure of this program.",
    )
    parser.add_argument("--version", action=Version, nargs=0, help="print release and commit, and end")
    commands = Commands(parser)
    _add_beginning(commands)
    _add_verdicts(commands)
    _add_bmc(commands.of("bmc", "read the BMCs of a cluster, before anything is touched"))
    _add_files(commands)
    _add_runs(commands)
    _add_fleet(commands.of("fleet", "take many clusters of many sites to production"))
    return parser


def _add_beginning(commands: Commands) -> None:
    """Add what makes a stack."""
    what = "make the repository of a site, which pins this program"
    site = commands.add("new-site", _loaded("start.new_site", "new_site"), what, told.NEW_SITE)
    site.add_argument("dir", type=Path, metavar="DIR", help="a new folder, or an empty repository")
    begun = commands.add("init", _loaded("start.init", "init"), "make a stack of an install-config", told.INIT)
    begun.add_argument("stack", metavar="STACK", help="the name of the new stack")
    begun.add_argument("--install-config", type=Path, metavar="FILE", required=True, help="is copied")
    begun.add_argument(
        "--consents", action="store_true", help="read the BMCs, and consent to the machines behind them"
    )
    what = "have openshift-install generate a stack's payload"
    payload = commands.add("payload", _loaded("start.payload", "payload"), what, told.PAYLOAD)
    payload.add_argument("stack", metavar="STACK", help=STACK)
    payload.add_argument("--manifests", type=Path, metavar="DIR", help="add its *.yaml to the manifests")
    what = "print the install-config of platform none that the payload is generated from"
    config = commands.add("payload-config", payload_config.payload_config, what)
    config.add_argument("file", type=Path, metavar="FILE")
    config.add_argument("--stack", metavar="STACK", help="take the pull secret from the stack, if it has one")


def _add_verdicts(commands: Commands) -> None:
    """Add what judges inputs, and shows what follows from them."""
    what = "print what openshift-install and this release refuse in each install-config, or `FILE: ok`"
    files = commands.add("check", check.check, what, check.CHECK)
    files.add_argument("files", nargs="+", metavar="FILE")
    what = "print each clash between the clusters of one network"
    files = commands.add("clashes", check.clashes, what, check.CLASHES)
    files.add_argument("files", nargs="+", metavar="FILE")
    planned = commands.add(
        "plan", _loaded("inspect.plan", "plan"), "print the plan of an install-config, as JSON", told.PLAN
    )
    planned.add_argument("file", type=Path, metavar="FILE")
    planned.add_argument("--stack", metavar="STACK", help=f"{JOINED}, and refuse what a preview refuses")
    commands.add("schema", schema.schema, "print the JSON Schemas of install-config, options and fleet.yaml")
    what = "print the VRRP router ids of a cluster: NAME API INGRESS PROVISIONING"
    commands.add("vrid", values.vrid, what).add_argument("names", nargs="+", metavar="NAME")
    what = "print the parts of a BMC's address, one JSON object per line"
    commands.add("bmc-url", values.bmc_url, what).add_argument("urls", nargs="+", metavar="URL")


def _add_bmc(commands: Commands) -> None:
    what = "print what each BMC shows, and what of it would stop `pulumi up`"
    checked = commands.add("check", _loaded("bmc", "check"), what, told.BMC_CHECK)
    checked.add_argument("--json", action="store_true", help="print JSON in place of a table")
    what = "write a masked copy of the Redfish tree of one host's BMC, for a report about it"
    captured = commands.add("capture", _loaded("bmc", "capture"), what, told.BMC_CAPTURE)
    captured.add_argument("--host", metavar="HOST", required=True, help="the host")
    captured.add_argument("--out", type=Path, metavar="DIR", required=True, help=NEW)
    for each in (checked, captured):
        each.add_argument("file", type=Path, metavar="INSTALL_CONFIG")
        each.add_argument("--stack", metavar="STACK", help=JOINED)
    consented = commands.add("consent", _loaded("bmc", "consent"), "print a stack's consent lines", told.BMC_CONSENT)
    consented.add_argument("stack", metavar="STACK", help=STACK)
    consented.add_argument("--write", action="store_true", help="also write them into stacks/Pulumi.STACK.yaml")
    for each in (checked, consented):
        each.add_argument("--host", metavar="HOST", help="only this host")


def _add_files(commands: Commands) -> None:
    """Add what writes the files that machines and servers of the site read."""
    what = "write the files that the machines read into a directory"
    tree = commands.add("render", _loaded("inspect.render", "render"), what, told.RENDER)
    tree.add_argument("file", type=Path, metavar="INSTALL_CONFIG")
    what = "the folder of bootstrap.ign, master.ign and worker.ign"
    tree.add_argument("--payload", type=Path, metavar="DIR", help=what)
    tree.add_argument("--out", type=Path, metavar="DIR", required=True, help=NEW)
    tree.add_argument("--stack", metavar="STACK", help=JOINED)
    tree.add_argument("--check", action="store_true", help="first validate them with every reader on this machine")
    tree.add_argument("--sample-addresses", action="store_true", help="make up missing addresses and images")
    images = commands.add(
        "isos", _loaded("inspect.isos", "isos"), "write the boot ISOs of a stack's servers", told.ISOS
    )
    images.add_argument("stack", metavar="STACK", help=STACK)
    images.add_argument("--out", type=Path, metavar="DIR", required=True, help="with room for one ISO per server")
    what = "print what the site's DHCP hands out to servers"
    booted = commands.add("network-boot", _loaded("inspect.network_boot", "network_boot"), what, told.NETWORK_BOOT)
    booted.add_argument("stack", metavar="STACK", help=STACK)
    booted.add_argument("--server", choices=("dnsmasq", "kea"), default="dnsmasq", help="the DHCP server")


def _add_runs(commands: Commands) -> None:
    """Add what is about a run: rehearsed, to come, or past."""
    what = "install the twin of a stack on virtual machines"
    rehearsed = commands.add("rehearse", _loaded("rehearse"), what, told.REHEARSE)
    rehearsed.add_argument("stack", metavar="STACK", help=STACK)
    what = "print what a preview does to machines, for a pull request"
    reviewed = commands.add("review", _loaded("review"), what, told.REVIEW)
    reviewed.add_argument("stack", metavar="STACK", help="the stack")
    reviewed.add_argument("--preview", metavar="FILE", help="the output of `pulumi preview --json`; - for stdin")
    what = "judge it by these policies, or by all"
    reviewed.add_argument("--policy", nargs="*", choices=POLICIES, metavar="POLICY", help=what)
    reviewed.add_argument("--html", action="store_true", help="print one HTML page, however long")
    logged = commands.add(
        "log", _loaded("runs.log", "log"), "print what the newest run of a stack did, step by step", told.LOG
    )
    logged.add_argument("stack", metavar="STACK", help="a stack, with log/STACK/ in the project's root")
    drawn = commands.add(
        "report", _loaded("runs.report", "report"), "draw a run of a stack as an HTML page", told.REPORT
    )
    drawn.add_argument("stack", metavar="STACK", help="a stack, with log/STACK/ in the project's root")
    what = "another run: the name of its log, without .jsonl"
    for each in (logged, drawn):
        each.add_argument("--run", dest="run_time", metavar="TIME", help=what)
    gathered = commands.add(
        "gather", _loaded("support.gather", "gather"), "write an archive without secrets, for a report", told.GATHER
    )
    gathered.add_argument("stack", metavar="STACK", help=STACK)
    gathered.add_argument("--out", type=Path, metavar="FILE", help="the archive (default: gather-STACK-TIME.tar.gz)")
    what = "draw the last handoff: `pulumi stack output handoff --json | okd-baremetal chart`"
    commands.add("chart", chart.chart, what)


def _add_fleet(commands: Commands) -> None:
    what = "check fleet.yaml, the install-configs of its clusters, and the clashes between them"
    checked = commands.add("check", _loaded("fleet.check", "check"), what, told.FLEET_CHECK)
    what = "beside it is stacks/ (default: fleet.yaml)"
    begun = commands.add(
        "start", _loaded("fleet.operate", "start"), "start a rollout of fleet.yaml", told.FLEET_START
    )
    for each in (checked, begun):
        each.add_argument("file", nargs="?", type=Path, metavar="FILE", default=Path("fleet.yaml"), help=what)
    begun.add_argument("--commit", metavar="COMMIT", default="HEAD", help="of the stacks (default: HEAD)")
    begun.add_argument("--name", metavar="NAME", help="of the rollout (default: the commit's)")
    what = "the preview of phase bootstrap that a pull request has approved; may be repeated"
    begun.add_argument("--approved", action="append", default=[], metavar="CLUSTER=DIGEST", help=what)
    shown = commands.add(
        "status", _loaded("fleet.operate", "status"), "print where each cluster is", told.FLEET_STATUS
    )
    shown.add_argument("cluster", nargs="?", metavar="CLUSTER", help="this one, in detail")
    what = "approve the preview for which a cluster waits"
    approved = commands.add("approve", _loaded("fleet.operate", "approve"), what, told.FLEET_APPROVE)
    retried = commands.add(
        "retry", _loaded("fleet.operate", "retry"), "let the step at which a cluster stopped begin again"
    )
    for each in (approved, retried):
        each.add_argument("cluster", metavar="CLUSTER")
    approved.add_argument("digest", metavar="DIGEST", help="of the preview, as `fleet status CLUSTER` prints it")
    for each in (begun, approved):
        each.add_argument("--by", metavar="WHO", help="who approves (default: you, as USER@HOST)")
    _add_fleet_ends(commands)


def _add_fleet_ends(commands: Commands) -> None:
    what = "interrupt a cluster's update, or start no further cluster of a rollout"
    ended = commands.add("cancel", _loaded("fleet.operate", "cancel"), what).add_mutually_exclusive_group(
        required=True
    )
    ended.add_argument("cluster", nargs="?", metavar="CLUSTER")
    ended.add_argument("--rollout", metavar="NAME")
    what = "run the worker of a site, or without --site that of the workflows"
    worker = commands.add("worker", _loaded("fleet.operate", "worker"), what, told.FLEET_WORKER)
    worker.add_argument("--site", metavar="SITE", help="a site of fleet.yaml; run it in the site's clone")
    what = "run server, database and UI on this machine, to try it out"
    server = commands.add("server", _loaded("fleet.server", "server"), what, told.FLEET_SERVER)
    server.add_argument("--folder", type=Path, metavar="DIR", required=True, help="keeps their data; made if missing")
    commands.add("key", _loaded("fleet.operate", "key"), "print a new key, which seals what the server keeps")


def _loaded(name: str, function: str = "") -> Command:
    """Return a command that imports its module when it runs: Jinja and cryptography would slow `check` down."""

    def command(options: argparse.Namespace) -> int:
        return int(getattr(import_module(f"cli.{name}"), function or name)(options))

    return command


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `… | head` ends it as it ends any other program
    end(main())
