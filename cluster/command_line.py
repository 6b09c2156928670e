"""What the command lines share: exit codes, and no word of a file in an error of our own."""

import argparse
import sys
import traceback
from pathlib import Path

GOOD = 0
FAILED = 1
REFUSED = 2


def run(parser: argparse.ArgumentParser, arguments: list[str] | None, *refusals: type[Exception]) -> int:
    """Run the command that the arguments name: the parser's `run`.

    Args:
        parser: With the program's name.
        arguments: None: the process's own.
        refusals: Errors that tell the operator what is wrong with an input.

    Returns:
        The exit code.
    """
    options = parser.parse_args(arguments)
    if "run" not in options:
        parser.print_help()
        return REFUSED
    try:
        return int(options.run(options))
    except refusals as error:
        print(error, file=sys.stderr)
        return REFUSED
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        # Neither its message nor a traceback: they may hold values of the files.
        where = f"{Path(last.filename).name}:{last.lineno}"
        print(f"{parser.prog}: internal error: {type(error).__name__}: {where}", file=sys.stderr)
        return FAILED
