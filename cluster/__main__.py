"""What stands in the files, judged offline: `python -m cluster check|plan|schema|payload-config|vrid|bmc-url|fleet`.

Exit 0: all good; 2: an input is wrong, or the command is; 1: this program failed.
"""

import argparse
import signal
import sys
from pathlib import Path

from cluster import command_line, commands

FLEET = """Judges several install-configs of one layer-2 network, and prints each clash between two at the later one.
The option `vrids` of a stack is not seen here: the VRIDs are those that the clusters' names give."""


def main(arguments: list[str] | None = None) -> int:
    """Run one command."""
    return command_line.run(_parser(), arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m cluster",
        description="Judges install-configs as openshift-install does, and shows what follows from them. Offline.",
        epilog="Exit 0: all good; 2: an input is wrong; 1: this program failed.",
    )
    subparsers = parser.add_subparsers(metavar="COMMAND")

    def add(name: str, what: str, description: str = "") -> argparse.ArgumentParser:
        found = subparsers.add_parser(name, help=what, description=description or what)
        found.set_defaults(run=getattr(commands, name.replace("-", "_")))
        return found

    check = add("check", "print each problem of each install-config, or `FILE: ok`")
    check.add_argument("files", nargs="+", metavar="FILE")
    plan = add("plan", "print what is planned for an install-config, as JSON")
    plan.add_argument("file", type=Path, metavar="FILE")
    plan.add_argument("--stack", metavar="STACK", help="join it with the options in stacks/Pulumi.STACK.yaml")
    add("schema", "print the JSON Schemas of install-config and of the stack's options")
    payload = add("payload-config", "print the install-config of platform none that the payload is generated from")
    payload.add_argument("file", metavar="FILE")
    vrid = add("vrid", "print the VRRP router ids of a cluster: NAME API INGRESS")
    vrid.add_argument("names", nargs="+", metavar="NAME")
    bmc_url = add("bmc-url", "print how a BMC's address is read, one JSON object per line")
    bmc_url.add_argument("urls", nargs="+", metavar="URL")
    fleet = add("fleet", "print each clash between the clusters of one network", FLEET)
    fleet.add_argument("files", nargs="+", metavar="FILE")
    return parser


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `… | head` ends it as it ends any other program
    sys.exit(main())
