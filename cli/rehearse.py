"""`rehearse`: install the twin of a stack on virtual machines of this machine."""

import argparse
import subprocess
from pathlib import Path

from cli.command_line import stack_file
from cluster.options import read_options
from providers.base.errors import ConfigError, Fault


def rehearse(options: argparse.Namespace) -> int:
    """Run `make rehearsal` for a stack, which also builds what is missing; return its exit code.

    Raises:
        ConfigError: There is no such stack, or this is not the program's checkout.
    """
    read_options(stack_file(options.stack))
    if not Path("lab", "rehearsal").is_dir():
        raise ConfigError([Fault("lab/rehearsal", "no such folder here", "run this in the program's checkout")])
    return subprocess.call(["make", "--no-print-directory", "rehearsal", f"STACK={options.stack}"])  # noqa: S603, S607
