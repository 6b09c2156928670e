"""What all commands share: exit codes, the paths of a stack's files, and errors that never quote an input file."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path

from base.errors import ITS_ROOM, NO_ROOM, ConfigError, Fault, OkdBaremetalError, SystemCallError, unexpected
from cli.shared.interrupts import signals_first

PROGRAM = Path(__file__).resolve().parents[2]
"""The folder of this program."""

EXIT_OK = 0
EXIT_ERROR = 1
EXIT_INVALID = 2
EXIT_NOT_INSTALLABLE = 3
"""An install-config is valid, but this release cannot install it."""
EXIT_POLICY = 4
"""An update breaks a policy. `verify`, which imports nothing of this program, has the same for a write plan."""


def run(parser: argparse.ArgumentParser, arguments: list[str] | None) -> int:
    """Run the command that the arguments name.

    Args:
        parser: Sets `run` to the command's function; imports the command's module.
        arguments: The arguments; None takes those of the process.

    Returns:
        The exit code.
    """
    try:
        with signals_first():
            options = parser.parse_args(arguments)
            if "run" not in options:
                parser.print_help()
                return EXIT_INVALID
            code = int(options.run(options))
            sys.stdout.flush()
            return code
    except OkdBaremetalError as error:
        print(error, file=sys.stderr)
        return EXIT_INVALID
    except OSError as error:
        print(SystemCallError(error), file=sys.stderr)
        _give_up_stdout()
        return EXIT_INVALID
    except Exception as error:
        print(f"{parser.prog}: {unexpected(error)}", file=sys.stderr)
        return EXIT_ERROR


@contextmanager
def writing(path: Path, fix: str) -> Iterator[None]:
    """Have a file of the operator's written inside.

    Args:
        path: The file or folder.
        fix: What to do if it cannot be written for another reason than a full disk.

    Raises:
        ConfigError: It cannot be written.
    """
    try:
        yield
    except OSError as error:
        fix = ITS_ROOM if error.errno in NO_ROOM else fix
        raise ConfigError(Fault(str(path), f"cannot be written ({error.strerror})", fix)) from None


def _give_up_stdout() -> None:
    """Drop what standard output could not take: Python would try again at its end, and print a traceback."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return lines with the cells of each column below each other; the first row is the head."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [_line(row, widths) for row in rows]


class GrowingTable:
    """A table that is printed row by row as they come: each column is as wide as its widest cell so far.

    Args:
        head: The first row, which is printed with the second.
        widths: Least widths of the first columns.
    """

    def __init__(self, head: Sequence[str], *widths: int) -> None:
        self._waiting = [head]
        self._widths = [max(pair) for pair in zip_longest(widths, map(len, head), fillvalue=0)]

    def add(self, row: Sequence[str]) -> None:
        """Print a row."""
        self._widths = list(map(max, self._widths, map(len, row)))
        self._waiting.append(row)
        while self._waiting:
            print(_line(self._waiting.pop(0), self._widths), flush=True)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def stack_file(stack: str) -> Path:
    """Return the path of a stack's options."""
    return Path("stacks", f"Pulumi.{stack}.yaml")


def install_config(stack: str) -> Path:
    """Return the path of a stack's install-config."""
    return Path("stacks", stack, "install-config.yaml")
