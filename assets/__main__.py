"""The files of the machines, rendered offline, and their boot ISOs: `python -m assets render` and `isos`.

Exit 0: all good; 2: an input is wrong, or the command is; 1: this program failed.
"""

import argparse
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assets.errors import AssetError
from assets.isos import sources_of, write_isos
from assets.network_config import check_network_configs
from assets.payload import check_payload
from assets.priorities import check_policy
from assets.readers import ask_readers
from assets.samples import with_samples
from assets.tree import BOOTSTRAP, compose_all, folders_of, own_configs, write_tree
from cluster import command_line
from cluster.command_line import GOOD
from cluster.errors import ConfigError
from cluster.options import read_stack_file
from cluster.plan import Intent, Role, load_intent
from cluster.plan.missing import missing

RENDER = """Writes what the machines will read, as folders: bootstrap/, control-plane/, compute/, and hosts/NAME/ for
what one host alone reads. With --payload also the Ignition configs that they get, which are secret: bootstrap.ign and
hosts/NAME/master.ign or worker.ign. Nothing is written unless all is good."""
ISOS = """Writes DIGEST/HOST.iso for every server of a stack, to be uploaded to the web server that media.url names.
They are secret. Those that are there already are left as they are."""


def main(arguments: list[str] | None = None) -> int:
    """Run one command."""
    return command_line.run(_parser(), arguments, AssetError, ConfigError)


def render(options: argparse.Namespace) -> int:
    """Write the tree, after all that can be judged here was judged."""
    stack = None if options.stack is None else read_stack_file(_stack_file(options.stack))
    intent = _intent(options.file, stack, sample=options.sample_addresses)
    folders = folders_of(intent)
    ours, composed = own_configs(intent, folders), dict[str, bytes]()
    if options.payload is None:
        print("no --payload: no Ignition config is written", file=sys.stderr)
    else:
        composed = compose_all(_payload(options.payload, intent.domain), ours)
    if options.check:
        parts = {f"{path} (our part)": config.encode() for path, config in ours.items()}
        verdicts = ask_readers(folders, parts | composed)
        for verdict in verdicts:
            print(verdict)
        if refusals := [refusal for verdict in verdicts for refusal in verdict.refusals]:
            raise AssetError("\n".join(refusals))
    write_tree(options.out, folders, composed)
    files = sum(map(len, folders.values()))
    print(f"{options.out}: {files} files, {len(composed)} Ignition configs")
    return GOOD


def isos(options: argparse.Namespace) -> int:
    """Write the boot ISOs of a stack's servers."""
    file = _stack_file(options.stack)
    stack = read_stack_file(file)
    sources, intent = sources_of(file, stack), _intent(Path("stacks", options.stack, "install-config.yaml"), stack)
    for path in write_isos(options.out, options.stack, sources, intent):
        print(path)
    return GOOD


def _stack_file(stack: str) -> Path:
    return Path("stacks", f"Pulumi.{stack}.yaml")


def _intent(file: Path, stack: Mapping[str, Any] | None, *, sample: bool = False) -> Intent:
    """What is rendered, judged.

    Args:
        file: The install-config.
        stack: The stack's options.
        sample: Make up what is missing.

    Raises:
        AssetError: It cannot be rendered, or addresses are missing.
        ConfigError: An input is wrong.
    """
    intent = load_intent(file, stack)
    if sample:
        intent, made = with_samples(intent)
        for each, value in made.items():
            print(f"sample, for a look only: {each.option}: {value}", file=sys.stderr)
    if found := missing(intent):
        advice = "name it in the stack's options and give --stack, or look with --sample-addresses"
        raise AssetError("\n".join(f"{each.option}: {each.what}; {advice}" for each in found))
    check_network_configs(intent)
    check_policy(intent)
    return intent


def _payload(folder: Path, domain: str) -> dict[str, bytes]:
    """The payload's files, judged.

    Raises:
        AssetError: One line per problem.
    """
    contents, problems = dict[str, bytes](), list[str]()
    for name in (BOOTSTRAP, *(role.pool for role in Role)):
        path = folder / f"{name}.ign"
        try:
            contents[name] = path.read_bytes()
        except OSError as error:
            problems.append(f"{path}: cannot be read ({error.strerror})")
    problems += map(str, check_payload(folder, contents, domain, datetime.now(UTC)))
    if problems:
        raise AssetError("\n".join(problems))
    return contents


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m assets",
        description="Writes the files that the machines will read, and what they boot.",
        epilog="Exit 0: all good; 2: an input is wrong; 1: this program failed.",
    )
    add = parser.add_subparsers(metavar="COMMAND").add_parser
    command = add("render", help="write what the machines will read into a directory", description=RENDER)
    command.set_defaults(run=render)
    command.add_argument("file", type=Path, metavar="INSTALL_CONFIG")
    command.add_argument("--payload", type=Path, metavar="DIR", help="with bootstrap.ign, master.ign and worker.ign")
    command.add_argument("--out", type=Path, metavar="DIR", required=True, help="a new or empty directory")
    command.add_argument("--stack", metavar="STACK", help="join it with the options in stacks/Pulumi.STACK.yaml")
    command.add_argument("--check", action="store_true", help="ask every real reader of this machine first")
    command.add_argument(
        "--sample-addresses", action="store_true", help="make up addresses, and images, that nothing names"
    )
    command = add("isos", help="write the boot ISOs of a stack's servers into a directory", description=ISOS)
    command.set_defaults(run=isos)
    command.add_argument("stack", metavar="STACK", help="with stacks/STACK/ and stacks/Pulumi.STACK.yaml")
    command.add_argument("--out", type=Path, metavar="DIR", required=True, help="it needs room for an ISO per server")
    return parser


if __name__ == "__main__":
    sys.exit(main())
