"""`check` and `clashes`: what is wrong with install-configs, each alone and one beside the other."""

import argparse
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from cli.command_line import GOOD, REFUSED
from cluster.clashes import JudgedConfig, clashes_between
from cluster.files import read_text
from cluster.install_config import InstallConfig, read
from providers.base.errors import ConfigError, Fault, one_line

CLASHES = """Judges the install-configs of one layer-2 network, and prints each clash between two at the later one.
The option `vrids` of a stack is not seen here: the VRIDs are those that the clusters' names give."""


class Judged(NamedTuple):
    """One file and what is wrong with it."""

    file: str
    text: str
    config: InstallConfig
    """An empty one if the file cannot be read."""
    faults: tuple[Fault, ...]


def check(options: argparse.Namespace) -> int:
    """Each fault of each file, or that it is good."""
    return _verdict([judge(file) for file in options.files])


def clashes(options: argparse.Namespace) -> int:
    """As `check`, and each clash with an earlier file."""
    files = [judge(file) for file in options.files]
    found = clashes_between([JudgedConfig(each.file, each.config) for each in files])
    return _verdict(each._replace(faults=(*each.faults, *more)) for each, more in zip(files, found, strict=True))


def judge(file: str) -> Judged:
    """Read and judge one file; notices are printed at once."""
    text = ""
    try:
        text = read_text(Path(file))
        reading = read(text)
    except ConfigError as error:
        return Judged(file, text, InstallConfig(), error.faults)
    for notice in reading.notices:
        print(one_line(str(replace(notice, what=f"notice: {notice.what}").within(file))), file=sys.stderr)
    return Judged(file, text, reading.config, reading.faults)


def _verdict(files: Iterable[Judged]) -> int:
    good = True
    for file in files:
        good = good and not file.faults
        lines = [str(fault.within(file.file)) for fault in file.faults] or [f"{file.file}: ok"]
        for line in lines:
            print(one_line(line))
    return GOOD if good else REFUSED
