"""`check` and `clashes`: what is wrong with install-configs, each alone and one beside the other."""

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from cli.command_line import GOOD, REFUSED
from cluster.clashes import Cluster, clashes_between
from cluster.files import read_text
from cluster.install_config import InstallConfig, read
from cluster.problems import Problem
from providers.base.errors import ConfigError

CLASHES = """Judges several install-configs of one layer-2 network, and prints each clash between two at the later one.
The option `vrids` of a stack is not seen here: the VRIDs are those that the clusters' names give."""


class Judged(NamedTuple):
    """One file and what is wrong with it."""

    file: str
    text: str
    config: InstallConfig
    """An empty one if the file cannot be read."""
    problems: tuple[Problem, ...]


def check(options: argparse.Namespace) -> int:
    """Each problem of each file, or that it is good."""
    return _verdict([judge(file) for file in options.files])


def clashes(options: argparse.Namespace) -> int:
    """As `check`, and each clash with an earlier file."""
    files = [judge(file) for file in options.files]
    found = clashes_between([Cluster(each.file, each.config) for each in files])
    return _verdict(each._replace(problems=(*each.problems, *more)) for each, more in zip(files, found, strict=True))


def judge(file: str) -> Judged:
    """Read and judge one file; notices are printed at once."""
    text = ""
    try:
        text = read_text(Path(file))
        reading = read(text)
    except ConfigError as error:
        return Judged(file, text, InstallConfig(), tuple(Problem("", line) for line in error.problems))
    for notice in reading.notices:
        print(f"{file}: {notice._replace(text=f'notice: {notice.text}')}", file=sys.stderr)
    return Judged(file, text, reading.config, reading.problems)


def _verdict(files: Iterable[Judged]) -> int:
    good = True
    for file in files:
        good = good and not file.problems
        for line in file.problems or ("ok",):
            print(f"{file.file}: {line}")
    return GOOD if good else REFUSED
