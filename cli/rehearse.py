"""`rehearse`: install the twin of a stack on virtual machines of this machine."""

import argparse
import shutil
import subprocess
from pathlib import Path

from base.errors import ConfigError, Fault
from cli.shared.command import Command, add_stack
from cli.shared.command_line import PROGRAM, stack_file
from cluster.stack_file import read_options


def rehearse(options: argparse.Namespace) -> int:
    """Install the virtual twin of a stack on this machine, take it to production, and destroy it.

    The twin has the servers of the install-config, of compute as many as there is memory for, with their names, MACs,
    addresses and BMCs. This needs root, and no secret of the stack. It begins with the points in which the twin
    differs from the real cluster, and ends with report/STACK/index.html.
    """
    read_options(stack_file(options.stack))
    make = shutil.which("make")  # it also builds what is missing
    if make is None:
        raise ConfigError(Fault("", "make is not in PATH", "install it, on Debian with `apt-get install make`"))
    wanted = (f"STACK={options.stack}", f"SITE={Path.cwd()}")
    return subprocess.call([make, "--no-print-directory", "-C", PROGRAM, "rehearsal", *wanted])  # noqa: S603


COMMAND = Command(rehearse, add_stack)
