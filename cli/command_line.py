"""What the commands share: exit codes, where a stack's files are, and no word of a file in an error of our own."""

import argparse
import sys
import traceback
from pathlib import Path

from providers.base.errors import OkdBaremetalError

GOOD = 0
FAILED = 1
REFUSED = 2


def run(parser: argparse.ArgumentParser, arguments: list[str] | None) -> int:
    """Run the command that the arguments name: the parser's `run`.

    Args:
        parser: With the program's name.
        arguments: None: the process's own.

    Returns:
        The exit code.
    """
    options = parser.parse_args(arguments)
    if "run" not in options:
        parser.print_help()
        return REFUSED
    try:
        return int(options.run(options))
    except OkdBaremetalError as error:
        print(error, file=sys.stderr)
        return REFUSED
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        # Neither its message nor a traceback: they may hold values of the files.
        where = f"{Path(last.filename).name}:{last.lineno}"
        print(f"{parser.prog}: internal error: {type(error).__name__}: {where}", file=sys.stderr)
        return FAILED


def stack_file(stack: str) -> Path:
    """Options of a stack."""
    return Path("stacks", f"Pulumi.{stack}.yaml")


def install_config(stack: str) -> Path:
    """Install-config of a stack."""
    return Path("stacks", stack, "install-config.yaml")
