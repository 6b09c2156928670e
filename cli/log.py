"""`log`: print what a run of Pulumi did, from the log that it left."""

import argparse
import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from cli.command_line import GOOD
from providers.base.errors import ConfigError, Fault, one_line
from providers.base.log import FOLDER, runs_of


class Line(NamedTuple):
    """One line of a log, as it is printed."""

    seconds: str
    kind: str
    resource: str
    machine: str
    text: str


def log(options: argparse.Namespace) -> int:
    """Print the newest log of a stack, or that of one run."""
    path = chosen(options.stack, options.run_time)
    lines = list(lines_of(path.read_text(encoding="utf-8", errors="replace").splitlines()))
    widths = [max((len(cell) for cell in column), default=0) for column in list(zip(*lines, strict=True))[:-1]]
    print(path)
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line[1:-1], widths[1:], strict=True)]
        print("  ".join([line.seconds.rjust(widths[0]), *cells, line.text]).rstrip())
    return GOOD


def lines_of(lines: Sequence[str]) -> Iterator[Line]:
    """Yield the lines of a log, their times in seconds since the first one. A torn line has its text alone."""
    start: datetime | None = None
    for each in lines:
        try:
            found = json.loads(each)
            at = datetime.fromisoformat(found["time"])
            start = start or at
            words = (found.get(key, "-") for key in ("kind", "resource", "machine", "text"))
            seconds = f"{(at - start).total_seconds():.3f}"
        except (ValueError, KeyError, TypeError, AttributeError):
            yield Line("", "torn", "-", "-", one_line(each))
        else:
            kind, resource, machine, text = (one_line(str(word)) for word in words)
            yield Line(seconds, kind, resource, machine, text)


def chosen(stack: str, run_time: str | None) -> Path:
    """Return the newest log of a stack, or that of a run.

    Raises:
        ConfigError: There is none.
    """
    runs = runs_of(stack)
    if not runs:
        fix = "run this in the project's root, on the machine on which `pulumi up` ran"
        raise ConfigError([Fault(str(FOLDER / stack), "no run has left a log", fix)])
    found = [path for path in runs if run_time in (None, path.stem)]
    if not found:
        fix = f"name one of {', '.join(path.stem for path in runs)}"
        raise ConfigError([Fault("--run", f"there is no log of {run_time}", fix)])
    return found[-1]
