"""`okd-baremetal`: what the inputs of a cluster say and what follows from them, without touching anything.

Exit 0: all good; 2: an input is wrong, or the command is; 1: this program failed.
"""

import argparse
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from cli import chart, check, payload_config, plan, schema, values
from cli.command_line import run

Command = Callable[[argparse.Namespace], int]
RENDER = """Writes what the machines will read, as folders: bootstrap/, control-plane/, compute/, and hosts/NAME/ for
what one host alone reads. With --payload also the Ignition configs that they get, which are secret: bootstrap.ign and
hosts/NAME/master.ign or worker.ign. Nothing is written unless all is good."""
ISOS = """Writes DIGEST/HOST.iso for every server of a stack, to be uploaded to the web server that media.url names.
They are secret. Those that exist already are left as they are."""


def main(arguments: list[str] | None = None) -> int:
    """Run one command."""
    return run(_parser(), arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="okd-baremetal",
        description="Judges the inputs of a bare-metal cluster, and shows what follows from them.",
        epilog="Exit 0: all good; 2: an input is wrong; 1: this program failed.",
    )
    subparsers = parser.add_subparsers(metavar="COMMAND")

    def add(name: str, command: Command, what: str, description: str = "") -> argparse.ArgumentParser:
        added = subparsers.add_parser(name, help=what, description=description or what)
        added.set_defaults(run=command)
        return added

    files = add("check", check.check, "print each fault of each install-config, or `FILE: ok`")
    files.add_argument("files", nargs="+", metavar="FILE")
    files = add("clashes", check.clashes, "print each clash between the clusters of one network", check.CLASHES)
    files.add_argument("files", nargs="+", metavar="FILE")
    planned = add("plan", plan.plan, "print what is planned for an install-config, as JSON")
    planned.add_argument("file", type=Path, metavar="FILE")
    planned.add_argument("--stack", metavar="STACK", help="join it with the options in stacks/Pulumi.STACK.yaml")
    add("schema", schema.schema, "print the JSON Schemas of install-config and of the stack's options")
    payload = add(
        "payload-config",
        payload_config.payload_config,
        "print the install-config of platform none that the payload is generated from",
    )
    payload.add_argument("file", metavar="FILE")
    vrid = add("vrid", values.vrid, "print the VRRP router ids of a cluster: NAME API INGRESS")
    vrid.add_argument("names", nargs="+", metavar="NAME")
    bmc_url = add("bmc-url", values.bmc_url, "print how a BMC's address is read, one JSON object per line")
    bmc_url.add_argument("urls", nargs="+", metavar="URL")
    _add_render(add("render", _loaded("render"), "write what the machines will read into a directory", RENDER))
    images = add("isos", _loaded("isos"), "write the boot ISOs of a stack's servers into a directory", ISOS)
    images.add_argument("stack", metavar="STACK", help="with stacks/STACK/ and stacks/Pulumi.STACK.yaml")
    images.add_argument("--out", type=Path, metavar="DIR", required=True, help="it needs room for an ISO per server")
    add("chart", chart.chart, "draw the last handoff: `pulumi stack output handoff --json | okd-baremetal chart`")
    return parser


def _loaded(name: str) -> Command:
    """A command whose module is loaded when it runs: it needs Jinja and cryptography, and `check` is fast without."""

    def command(options: argparse.Namespace) -> int:
        return int(getattr(import_module(f"cli.{name}"), name)(options))

    return command


def _add_render(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", type=Path, metavar="INSTALL_CONFIG")
    command.add_argument("--payload", type=Path, metavar="DIR", help="with bootstrap.ign, master.ign and worker.ign")
    command.add_argument("--out", type=Path, metavar="DIR", required=True, help="a new or empty directory")
    command.add_argument("--stack", metavar="STACK", help="join it with the options in stacks/Pulumi.STACK.yaml")
    command.add_argument("--check", action="store_true", help="ask every real reader of this machine first")
    command.add_argument(
        "--sample-addresses", action="store_true", help="make up addresses, and images, that nothing names"
    )


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `… | head` ends it as it ends any other program
    sys.exit(main())
