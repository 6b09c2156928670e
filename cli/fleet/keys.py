"""`fleet key`, `approver`: new keys, which need no server."""

import argparse
import re
from pathlib import Path

from cli.shared.command import Command
from cli.shared.command_line import EXIT_OK
from fleet.approvers import write_approver
from fleet.keys import write_key
from fleet.plan import NAME


def _add_key(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="a new file")


def key(options: argparse.Namespace) -> int:
    """Write a new key, which seals what the server keeps, into a file that only its owner can read."""
    write_key(options.file)
    print(f"{options.file}: the key of a fleet, for all its workers and people")
    return EXIT_OK


def _add_approver(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", type=_name, help="of the approver: letters, digits and hyphens")
    _add_key(parser)


def new_approver(options: argparse.Namespace) -> int:
    """Write the key of a new approver into a file that only its owner can read, and print its lines of fleet.yaml.

    Whoever has the file can approve, once the lines are in fleet.yaml on the main branch.
    """
    public_key = write_approver(options.file)
    print(f"approvers:\n  {options.name}: {public_key}")
    return EXIT_OK


def _name(word: str) -> str:
    if not re.fullmatch(NAME, word):
        raise argparse.ArgumentTypeError(f"{word} is not a name of letters, digits and hyphens")
    return word


KEY = Command(key, _add_key)
APPROVER = Command(new_approver, _add_approver)
