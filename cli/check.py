"""`check` and `clashes`: the faults of install-configs, and the clashes between them."""

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

CLASHES = """Check the install-configs of one layer-2 network, and print each clash between two with the later file.
This command does not read the stack option `vrids`: it derives the VRIDs from the clusters' names."""


class Judged(NamedTuple):
    """One file and its faults."""

    file: str
    text: str
    config: InstallConfig
    """The file's content; an empty config if the file cannot be read."""
    faults: tuple[Fault, ...]


def check(options: argparse.Namespace) -> int:
    """Print each fault of each file, or `ok`."""
    return _verdict([judge(file) for file in options.files])


def clashes(options: argparse.Namespace) -> int:
    """Print what `check` prints, and each clash with an earlier file."""
    files = [judge(file) for file in options.files]
    found = clashes_between([JudgedConfig(each.file, each.config) for each in files])
    return _verdict(each._replace(faults=(*each.faults, *more)) for each, more in zip(files, found, strict=True))


def judge(file: str) -> Judged:
    """Read and judge one file, and print its notices."""
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
