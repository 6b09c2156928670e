"""`rehearse`: install the twin of a stack on virtual machines of this machine."""

import argparse
import subprocess
from pathlib import Path

from cli.command_line import stack_file
from cluster.files import read_text
from providers.base.errors import ConfigError, Fault


def rehearse(options: argparse.Namespace) -> int:
    """Run `make rehearsal` for a stack, which also builds what is missing; return its exit code.

    Raises:
        ConfigError: There is no such stack, or this is not the program's checkout.
    """
    file = stack_file(options.stack)
    try:
        read_text(file)
    except ConfigError as error:
        raise ConfigError(fault.within(str(file)) for fault in error.faults) from None
    if not Path("lab", "rehearsal").is_dir():
        raise ConfigError([Fault("lab/rehearsal", "no such folder here", "run this in the program's checkout")])
    return subprocess.call(["make", "--no-print-directory", "rehearsal", f"STACK={options.stack}"])  # noqa: S603, S607
