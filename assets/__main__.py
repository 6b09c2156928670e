"""The files of the machines, rendered offline: `python -m assets render`.

Exit 0: all good; 2: an input is wrong, or the command is; 1: this program failed.
"""

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

from assets.errors import AssetError
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


def main(arguments: list[str] | None = None) -> int:
    """Run one command."""
    return command_line.run(_parser(), arguments, AssetError, ConfigError)


def render(options: argparse.Namespace) -> int:
    """Write the tree, after all that can be judged here was judged."""
    intent = _intent(options)
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


def _intent(options: argparse.Namespace) -> Intent:
    """What is rendered, judged.

    Raises:
        AssetError: It cannot be rendered, or addresses are missing.
        ConfigError: An input is wrong.
    """
    stack = None if options.stack is None else read_stack_file(Path("stacks", f"Pulumi.{options.stack}.yaml"))
    intent = load_intent(options.file, stack)
    if options.sample_addresses:
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
        description="Shows the files that the machines will read. Offline.",
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
    return parser


if __name__ == "__main__":
    sys.exit(main())
