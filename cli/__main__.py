"""`okd-baremetal`: check a cluster's inputs and its BMCs, and show the results, without changing any machine.

Exit codes: 0 for success, 2 for wrong inputs or a wrong command, 3 for a valid install-config that this release
cannot install (`check` and `clashes`), 4 for an update that breaks a policy (`review`), 1 for a failure of this
program.
"""

import argparse
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from cli import chart, check, payload_config, schema, values
from cli.command_line import run
from cli.version import Version

Command = Callable[[argparse.Namespace], int]
RENDER = """Write the files that the machines read, as folders: bootstrap/, control-plane/, compute/, and hosts/NAME/
for the files of one host. With --payload, also write the machines' Ignition configs, which are secret: bootstrap.ign,
and hosts/NAME/master.ign or worker.ign. If any input is wrong, write nothing."""
PLAN = """Print the plan as JSON. With --stack, print it only if the stack can be installed; else print all that a
preview would refuse, in one run: missing and wrong options, networkConfigs, and the payload's faults if it is there.
Pulumi is not needed: an encrypted option counts as present and right."""
ISOS = """Write DIGEST/HOST.iso for every server of a stack, to upload to the web server that media.url names.
The ISOs are secret. An ISO that exists already is left unchanged."""
NETWORK_BOOT = """Print the configuration of the site's DHCP server for a stack with provisioningNetwork Unmanaged,
ready to paste: the files that firmware and iPXE boot, and the cards that need an address. With Managed, the cluster's
own machines serve them."""
NEW_SITE = """Make a git repository for the clusters of a site: stacks/, this program as the submodule okd-baremetal/
at its present commit, links by which Pulumi finds it, workflows for pull requests, and a README. Commit nothing."""
INIT = """Write stacks/STACK/install-config.yaml and stacks/Pulumi.STACK.yaml: the file as it is, and the options with
all that DNS, this machine's routes, libvirt and openshift-install on PATH tell. Change nothing else, and overwrite no
file. Print what is left to do, each with its command."""
PAYLOAD = """Have openshift-install generate the payload of a stack into stacks/STACK/payload, which stays its own
directory, and pin the payload in stacks/Pulumi.STACK.yaml. A payload that the stack has pinned is never replaced."""
REHEARSE = """Build the virtual twin of a stack on this machine, as root: as many servers as the install-config names,
with their names, MACs, addresses and BMCs. Install it, take it to production, destroy it. No secret of the stack is
needed. It begins with what the twin cannot stand in for, and ends with report/STACK/index.html."""

LOG = """Print the log of the newest `up`, `refresh` or `destroy` of a stack: seconds since its start, kind, resource,
machine, text. The file itself has the same as JSON, and ends where the run was killed."""
GATHER = """Write one archive without secrets, for a report or a colleague: logs, inputs, plan, rendered files,
outputs, versions, a capture of each BMC, console and journals of the bootstrap VM (by ssh, as user core). Change
nothing. Its index.md says what is there, and why the rest is not."""
BMC_CHECK = """Read the BMC of every host that is installed, and change nothing. Print a row for each host, and what
would stop `pulumi up`; then the exit code is 2. With --stack, the options of the stack count: logins, certificates,
consents. Encrypted ones are read with the pulumi command."""
BMC_CONSENT = """Print the consent to each host's machine, for stacks/Pulumi.STACK.yaml: its UUID, or its serial if
other machines may have the same UUID. A consent allows that machine's disk to be wiped: compare it with the server
first."""
BMC_CAPTURE = """Write DIR/capture.json: a copy of what the program reads of one host's BMC, for a report about it.
Change nothing. Only what the program uses is kept, without passwords, tokens, licence keys and paths of ISOs. Instead
of serials, UUIDs, addresses and names it has pseudonyms, the same one for the same value."""
REVIEW = """Print what the next `pulumi up` does to machines, and the changed lines of the files that they read, as
Markdown for a comment on a pull request: at most 65,536 characters, without secrets. Run `pulumi preview --json`, or
read what it printed. The exit code is 0 whether anything changes or not, 2 if the preview fails, and 4 if the update
breaks a policy: consent (a disk is wiped only with a consent of the last 30 days, by git), certificates (those of
BMCs are verified), destroyable (not in production), backend (shared, no folder)."""
POLICIES = ("consent", "certificates", "destroyable", "backend")


def main(arguments: list[str] | None = None) -> int:
    """Run one command, and return its exit code."""
    return run(_parser(), arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="okd-baremetal",
        description="Check the inputs of a bare-metal cluster, and show the results.",
        epilog="Exit codes: 0 for success, 2 for wrong inputs, 3 for a valid install-config that this release cannot "
        "install, 4 for an update that breaks a policy, 1 for a failure of this program.",
    )
    parser.add_argument("--version", action=Version, nargs=0, help="print release and commit, and end")
    subparsers = parser.add_subparsers(metavar="COMMAND")

    def add(name: str, command: Command, what: str, description: str = "") -> argparse.ArgumentParser:
        added = subparsers.add_parser(name, help=what, description=description or what)
        added.set_defaults(run=command)
        return added

    _add_init(add("init", _loaded("init"), "make a stack of an install-config", INIT))
    what = "print what openshift-install and this release refuse in each install-config, or `FILE: ok`"
    files = add("check", check.check, what, check.CHECK)
    files.add_argument("files", nargs="+", metavar="FILE")
    files = add("clashes", check.clashes, "print each clash between the clusters of one network", check.CLASHES)
    files.add_argument("files", nargs="+", metavar="FILE")
    planned = add("plan", _loaded("plan"), "print the plan of an install-config, as JSON", PLAN)
    planned.add_argument("file", type=Path, metavar="FILE")
    planned.add_argument(
        "--stack", metavar="STACK", help="join it with stacks/Pulumi.STACK.yaml, and refuse what a preview refuses"
    )
    add("schema", schema.schema, "print the JSON Schemas of install-config and of the stack's options")
    config = add(
        "payload-config",
        payload_config.payload_config,
        "print the install-config of platform none that the payload is generated from",
    )
    config.add_argument("file", type=Path, metavar="FILE")
    config.add_argument("--stack", metavar="STACK", help="take the pull secret from the stack, if it has one")
    _add_payload(add("payload", _loaded("payload"), "have openshift-install generate a stack's payload", PAYLOAD))
    vrid = add("vrid", values.vrid, "print the VRRP router ids of a cluster: NAME API INGRESS PROVISIONING")
    vrid.add_argument("names", nargs="+", metavar="NAME")
    bmc_url = add("bmc-url", values.bmc_url, "print the parts of a BMC's address, one JSON object per line")
    bmc_url.add_argument("urls", nargs="+", metavar="URL")
    _add_render(add("render", _loaded("render"), "write the files that the machines read into a directory", RENDER))
    images = add("isos", _loaded("isos"), "write the boot ISOs of a stack's servers into a directory", ISOS)
    images.add_argument("stack", metavar="STACK", help="a stack, with stacks/STACK/ and stacks/Pulumi.STACK.yaml")
    images.add_argument("--out", type=Path, metavar="DIR", required=True, help="with room for one ISO per server")
    booted = add(
        "network-boot", _loaded("network_boot"), "print what the site's DHCP hands out to servers", NETWORK_BOOT
    )
    booted.add_argument("stack", metavar="STACK", help="a stack, with stacks/STACK/ and stacks/Pulumi.STACK.yaml")
    booted.add_argument("--server", choices=("dnsmasq", "kea"), default="dnsmasq", help="the DHCP server")
    rehearsed = add("rehearse", _loaded("rehearse"), "install the twin of a stack on virtual machines", REHEARSE)
    rehearsed.add_argument("stack", metavar="STACK", help="a stack, with stacks/STACK/ and stacks/Pulumi.STACK.yaml")
    _add_bmc(subparsers.add_parser("bmc", help="read the BMCs of a cluster, before anything is touched"))
    site = add("new-site", _loaded("new_site"), "make the repository of a site, which pins this program", NEW_SITE)
    site.add_argument("dir", type=Path, metavar="DIR", help="a new folder, or an empty repository")
    reviewed = add("review", _loaded("review"), "print what a preview does to machines, for a pull request", REVIEW)
    reviewed.add_argument("stack", metavar="STACK", help="the stack")
    reviewed.add_argument("--preview", metavar="FILE", help="the output of `pulumi preview --json`; - for stdin")
    reviewed.add_argument(
        "--policy", nargs="*", choices=POLICIES, metavar="POLICY", help="judge it by these policies, or by all"
    )
    reviewed.add_argument("--html", action="store_true", help="print one HTML page, however long")
    logged = add("log", _loaded("log"), "print what the newest run of a stack did, step by step", LOG)
    logged.add_argument("stack", metavar="STACK", help="a stack, with log/STACK/ in the project's root")
    logged.add_argument(
        "--run", dest="run_time", metavar="TIME", help="another run: the name of its log, without .jsonl"
    )
    gathered = add("gather", _loaded("gather"), "write an archive without secrets, for a report", GATHER)
    gathered.add_argument("stack", metavar="STACK", help="a stack, with stacks/STACK/ and stacks/Pulumi.STACK.yaml")
    gathered.add_argument("--out", type=Path, metavar="FILE", help="the archive (default: gather-STACK-TIME.tar.gz)")
    add("chart", chart.chart, "draw the last handoff: `pulumi stack output handoff --json | okd-baremetal chart`")
    return parser


def _loaded(name: str, function: str = "") -> Command:
    """Return a command that imports its module when it runs: Jinja and cryptography would slow `check` down."""

    def command(options: argparse.Namespace) -> int:
        return int(getattr(import_module(f"cli.{name}"), function or name)(options))

    return command


def _add_init(command: argparse.ArgumentParser) -> None:
    command.add_argument("stack", metavar="STACK", help="the name of the new stack")
    command.add_argument("--install-config", type=Path, metavar="FILE", required=True, help="is copied")
    command.add_argument(
        "--consents", action="store_true", help="read the BMCs, and consent to the machines behind them"
    )


def _add_payload(command: argparse.ArgumentParser) -> None:
    command.add_argument("stack", metavar="STACK", help="a stack, with stacks/STACK/ and stacks/Pulumi.STACK.yaml")
    command.add_argument("--manifests", type=Path, metavar="DIR", help="add its *.yaml to the manifests")


def _add_bmc(command: argparse.ArgumentParser) -> None:
    commands = command.add_subparsers(metavar="COMMAND")
    what = "print what each BMC shows, and what of it would stop `pulumi up`"
    checked = commands.add_parser("check", help=what, description=BMC_CHECK)
    checked.set_defaults(run=_loaded("bmc", "check"))
    checked.add_argument("--json", action="store_true", help="print JSON in place of a table")
    what = "write a masked copy of the Redfish tree of one host's BMC, for a report about it"
    captured = commands.add_parser("capture", help=what, description=BMC_CAPTURE)
    captured.set_defaults(run=_loaded("bmc", "capture"))
    captured.add_argument("--host", metavar="HOST", required=True, help="the host")
    captured.add_argument("--out", type=Path, metavar="DIR", required=True, help="a new or empty directory")
    for each in (checked, captured):
        each.add_argument("file", type=Path, metavar="INSTALL_CONFIG")
        each.add_argument("--stack", metavar="STACK", help="join it with the options in stacks/Pulumi.STACK.yaml")
    consented = commands.add_parser("consent", help="print a stack's consent lines", description=BMC_CONSENT)
    consented.set_defaults(run=_loaded("bmc", "consent"))
    consented.add_argument("stack", metavar="STACK", help="a stack, with stacks/STACK/ and stacks/Pulumi.STACK.yaml")
    consented.add_argument("--write", action="store_true", help="also write them into stacks/Pulumi.STACK.yaml")
    for each in (checked, consented):
        each.add_argument("--host", metavar="HOST", help="only this host")


def _add_render(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", type=Path, metavar="INSTALL_CONFIG")
    command.add_argument(
        "--payload", type=Path, metavar="DIR", help="the folder of bootstrap.ign, master.ign and worker.ign"
    )
    command.add_argument("--out", type=Path, metavar="DIR", required=True, help="a new or empty directory")
    command.add_argument("--stack", metavar="STACK", help="join it with the options in stacks/Pulumi.STACK.yaml")
    command.add_argument(
        "--check", action="store_true", help="first validate the files with every reader on this machine"
    )
    command.add_argument("--sample-addresses", action="store_true", help="make up missing addresses and images")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `… | head` ends it as it ends any other program
    sys.exit(main())
