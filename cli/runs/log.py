"""`log`: print what a run of Pulumi did, from the log that it left."""

import argparse
from pathlib import Path

from base.errors import ConfigError, Fault, one_line, word
from base.log_entries import Entry, entries_of
from base.log_file import FOLDER, rehearsal_folder, rehearsed_runs_of, runs_of
from cli.shared.command import Command
from cli.shared.command_line import EXIT_OK


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name a run."""
    parser.add_argument("stack", metavar="STACK", help="a stack, with log/STACK/ in the project's root")
    what = "another run: the name of its log, without .jsonl"
    parser.add_argument("--run", dest="run_time", metavar="TIME", help=what)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run(parser)
    what = "the runs of the stack's last rehearsal in this folder"
    parser.add_argument("--rehearsal", action="store_true", help=what)


def log(options: argparse.Namespace) -> int:
    """Print the log of the newest `up`, `refresh` or `destroy` of a stack, or of its last rehearsal.

    A line has the seconds since its start, event, resource, machine, text. The file itself has the same as JSON, and
    ends where the run was killed.
    """
    choose = _rehearsed if options.rehearsal else chosen
    path = choose(options.stack, options.run_time)
    lines = [_printed(entry) for entry in entries_of(path)]
    widths = [max((len(cell) for cell in column), default=0) for column in list(zip(*lines, strict=True))[:-1]]
    print(path)
    for first, *inner, text in lines:
        cells = [cell.ljust(width) for cell, width in zip(inner, widths[1:], strict=True)]
        print("  ".join([first.rjust(widths[0]), *cells, text]).rstrip())
    return EXIT_OK


def _printed(entry: Entry) -> list[str]:
    at_s = "" if entry.at_s is None else f"{entry.at_s:.3f}"
    return [at_s, *(one_line(word or "-") for word in (entry.event, entry.resource, entry.machine, entry.text))]


def chosen(stack: str, run_time: str | None) -> Path:
    """Return the newest log of a stack, or that of a run.

    Raises:
        ConfigError: There is none.
    """
    fix = "run this in the project's root, on the machine on which `pulumi up` ran"
    if rehearsed_runs_of(stack):
        fix += f"; `okd-baremetal log {word(stack)} --rehearsal` has the runs of its rehearsal"
    return _one_of(runs_of(stack), run_time, Fault(str(FOLDER / stack), "no run has left a log", fix))


def _rehearsed(stack: str, run_time: str | None) -> Path:
    """Return the newest log of a stack's last rehearsal, or that of one of its runs.

    Raises:
        ConfigError: There is none.
    """
    fix = f"run this in the folder in which `okd-baremetal rehearse {word(stack)}` ran"
    none = Fault(str(rehearsal_folder(stack)), "no rehearsal has left a log", fix)
    return _one_of(rehearsed_runs_of(stack), run_time, none)


def _one_of(runs: list[Path], run_time: str | None, none: Fault) -> Path:
    if not runs:
        raise ConfigError(none)
    named = [path for path in runs if run_time in (None, path.stem)]
    if not named:
        fix = f"name one of {', '.join(path.stem for path in runs)}"
        raise ConfigError(Fault("--run", f"there is no log of {run_time}", fix))
    return named[-1]


COMMAND = Command(log, _add_arguments)
