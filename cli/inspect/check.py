"""`check` and `clashes`: both verdicts on install-configs, and the clashes between them."""

import argparse
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from base.errors import ConfigError, Fault, one_line
from cli.shared.command import Command
from cli.shared.command_line import EXIT_INVALID, EXIT_NOT_INSTALLABLE, EXIT_OK
from cluster.clashes import ClusterConfig, clashes_between
from cluster.files import read_text
from cluster.install_config import InstallConfig, read
from cluster.options import MachineOptions
from cluster.plan.intent import NO_OPTIONS
from cluster.plan.refusals import beyond_this_release


class CheckedFile(NamedTuple):
    """One file and both verdicts on it."""

    file: str
    text: str
    config: InstallConfig
    """The file's content; an empty config if the file cannot be read."""
    faults: tuple[Fault, ...]
    """What openshift-install refuses."""
    refusals: tuple[Fault, ...] = ()
    """What of the rest this release cannot install."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE")


def check(options: argparse.Namespace) -> int:
    """Print two verdicts on each install-config, or `ok`.

    The first is what openshift-install would refuse, the second what of the rest this release cannot install; its
    lines say `valid, but not installable`. Exit codes: 0 both are fine, 2 a file is invalid, 3 all are valid, but at
    least one is not installable.
    """
    return print_verdicts([check_file(file) for file in options.files])


def clashes(options: argparse.Namespace) -> int:
    """Check the install-configs of one layer-2 network, and print each clash between two with the later file.

    This command reads no options: it derives the VRIDs from the clusters' names. The exit codes
    are those of `check`; a clash counts as an invalid file.
    """
    files = [check_file(file) for file in options.files]
    clashing = clashes_between([ClusterConfig(file.file, file.config) for file in files])
    return print_verdicts(
        file._replace(faults=(*file.faults, *faults)) for file, faults in zip(files, clashing, strict=True)
    )


def check_file(file: str, options: MachineOptions = NO_OPTIONS) -> CheckedFile:
    """Read and check one file, and the addresses of a stack's options with it, and print the file's notices."""
    text = ""
    try:
        text = read_text(Path(file))
        reading = read(text)
    except ConfigError as error:
        return CheckedFile(file, text, InstallConfig(), error.faults)
    for notice in reading.notices:
        print(one_line(str(replace(notice, what=f"notice: {notice.what}").within(file))), file=sys.stderr)
    return CheckedFile(file, text, reading.config, reading.faults, tuple(beyond_this_release(reading, options)))


def print_verdicts(files: Iterable[CheckedFile]) -> int:
    """Print what is wrong in each file, or `ok`, and return the exit code."""
    code = EXIT_OK
    for file in files:
        if file.faults:
            code = EXIT_INVALID
        elif file.refusals and code == EXIT_OK:
            code = EXIT_NOT_INSTALLABLE
        refusals = [replace(fault, what=f"valid, but not installable: {fault.what}") for fault in file.refusals]
        lines = [str(fault.within(file.file)) for fault in (*file.faults, *refusals)] or [f"{file.file}: ok"]
        for line in lines:
            print(one_line(line))
    return code


CHECK = Command(check, _add_arguments)
CLASHES = Command(clashes, _add_arguments)
