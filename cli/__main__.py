"""`okd-baremetal`: make a stack, check its inputs and BMCs, show what is and what will be.

This module is the table of contents: each command with its one-line help. A command's description, arguments and
function stand in its module. Only `fleet worker` changes machines.
"""

import signal

if __name__ == "__main__":
    # Ctrl-C ends the imports without a traceback. tools/okd-baremetal blocks it before, while Python starts.
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})

import os
import sys
from collections.abc import Mapping
from io import TextIOWrapper
from typing import NoReturn, Union, cast

from cli.shared.command import CommandParser
from cli.shared.command_line import run
from cli.shared.interrupts import unwinding
from cli.shared.version import Version

Commands = Mapping[str, tuple[Union[str, "Commands"], str]]
"""By name: the entry point of a command, or the commands of a group; and the one-line help."""

BMC: Commands = {
    "check": ("cli.bmc:CHECK", "print what each BMC shows, and what of it would stop `pulumi up`"),
    "capture": (
        "cli.bmc:CAPTURE",
        "write a masked copy of the Redfish tree of one host's BMC, for a report about it",
    ),
    "consent": ("cli.bmc:CONSENT", "print a stack's consent lines"),
}
FLEET: Commands = {
    "check": (
        "cli.fleet.check:CHECK",
        "check fleet.yaml, the install-configs of its clusters, and the clashes between them",
    ),
    "start": ("cli.fleet.operate:START", "start a rollout of fleet.yaml"),
    "status": ("cli.fleet.operate:STATUS", "print where each cluster is"),
    "approve": ("cli.fleet.operate:APPROVE", "approve the preview for which a cluster waits"),
    "retry": ("cli.fleet.operate:RETRY", "repeat the step at which a cluster stopped"),
    "cancel": (
        "cli.fleet.operate:CANCEL",
        "interrupt a cluster's update, or start no further cluster of a rollout",
    ),
    "worker": ("cli.fleet.worker:COMMAND", "run the worker of a site, or without --site that of the workflows"),
    "key": ("cli.fleet.keys:KEY", "make the fleet's key, which seals what the server keeps"),
    "approver": ("cli.fleet.keys:APPROVER", "make the key of a new approver, and print its lines of fleet.yaml"),
}
COMMANDS: Commands = {
    "new-site": ("cli.start.new_site:COMMAND", "make the repository of a site, which pins this program"),
    "discover": ("cli.discover.command:COMMAND", "print what servers are, as their BMCs tell"),
    "init": ("cli.start.init:COMMAND", "make a stack of an install-config"),
    "move-secrets": (
        "cli.start.move_secrets:COMMAND",
        "move logins and pull secret from a stack's install-config into the stack, encrypted",
    ),
    "payload": ("cli.start.payload:COMMAND", "have openshift-install generate a stack's payload"),
    "payload-config": (
        "cli.start.payload_config:COMMAND",
        "print the install-config that the payload is generated from",
    ),
    "check": (
        "cli.inspect.check:CHECK",
        "print what openshift-install and this release refuse in each install-config, or `FILE: ok`",
    ),
    "clashes": ("cli.inspect.check:CLASHES", "print each clash between the clusters of one network"),
    "plan": ("cli.inspect.plan:COMMAND", "print the plan of an install-config, as JSON"),
    "schema": ("cli.inspect.schema:COMMAND", "print the JSON Schemas of install-config, options and fleet.yaml"),
    "vrid": (
        "cli.inspect.vrid:COMMAND",
        "print the VRIDs of a cluster: NAME API INGRESS PROVISIONING",
    ),
    "bmc-url": (
        "cli.inspect.bmc_url:COMMAND",
        "print the parts of a BMC's address, one JSON object per line",
    ),
    "bmc": (BMC, "read the BMCs of a cluster, before anything is touched"),
    "render": ("cli.inspect.render:COMMAND", "write the files that the machines read into a directory"),
    "isos": ("cli.inspect.isos:COMMAND", "write the boot ISOs of a stack's servers"),
    "network-boot": ("cli.inspect.network_boot:COMMAND", "print what the site's DHCP hands out to servers"),
    "rehearse": ("cli.rehearse:COMMAND", "install the twin of a stack on virtual machines"),
    "status": (
        "cli.status.command:COMMAND",
        "print what a cluster and its servers are now, for a person or for monitoring",
    ),
    "upgrade": (
        "cli.status.upgrade:COMMAND",
        "print what stands in the way of the upgrade of OKD that a stack names",
    ),
    "review": ("cli.review:COMMAND", "print what a preview does to machines, for a pull request"),
    "log": ("cli.runs.log:COMMAND", "print what the newest run of a stack did, step by step"),
    "verify": ("cli.runs.verify:COMMAND", "check that runs wrote nothing but what was approved, by their logs"),
    "report": ("cli.runs.report:COMMAND", "draw a run of a stack as an HTML page"),
    "snapshot": ("cli.snapshot:COMMAND", "save the etcd of a stack's cluster"),
    "gather": ("cli.support.gather:COMMAND", "write an archive without secrets, for a report"),
    "chart": (
        "cli.runs.chart:COMMAND",
        "draw the last handoff: `pulumi stack output handoff --json | okd-baremetal chart`",
    ),
    "fleet": (FLEET, "take many clusters of many sites to production"),
}


def main(arguments: list[str] | None = None) -> int:
    """Run one command, and return its exit code."""
    parser = CommandParser(
        prog="okd-baremetal",
        description="Make a stack of an install-config, check it, and show what is and what will be.",
        epilog="Exit codes: 0 for success, 2 for wrong inputs or a wrong command, 3 for a valid install-config that "
        "this release cannot install, 4 for an update that breaks a policy, or a run that breaks its write plan, "
        "1 for a failure of this program.",
    )
    parser.add_argument("--version", action=Version, nargs=0, help="print release and commit, and end")
    _add(parser, COMMANDS)
    return run(parser, arguments)


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


def _add(parser: CommandParser, commands: Commands) -> None:
    """Add commands to a parser, and to the parsers of groups theirs."""
    parsers = parser.add_subparsers(metavar="COMMAND")
    for name, (entry, what) in commands.items():
        if isinstance(entry, str):
            parsers.add_parser(name, help=what, entry_point=entry)
        else:
            _add(parsers.add_parser(name, help=what), entry)


if __name__ == "__main__":
    # A path or value may have letters that the encoding of standard output lacks, as stderr's backslashes allow.
    cast(TextIOWrapper, sys.stdout).reconfigure(errors="backslashreplace")
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `… | head` ends it as it ends any other program
    with unwinding():
        code = main()
    end(code)
