"""`rehearse`: install the twin of a stack on virtual machines of this machine."""

import argparse
import subprocess
from pathlib import Path

from cli.shared.command_line import PROGRAM, stack_file
from cluster.options import read_options


def rehearse(options: argparse.Namespace) -> int:
    """Run `make rehearsal` for a stack, which also builds what is missing; return its exit code.

    Raises:
        ConfigError: There is no such stack.
    """
    read_options(stack_file(options.stack))
    wanted = (f"STACK={options.stack}", f"SITE={Path.cwd()}")
    return subprocess.call(["make", "--no-print-directory", "-C", PROGRAM, "rehearsal", *wanted])  # noqa: S603, S607
