"""What a rehearsal leaves beside its report: the logs of its runs, and the consoles of its machines."""

import shutil
from collections.abc import Iterable

from base.files import write_private
from base.log_entries import Event, entries_of
from base.log_file import FOLDER
from base.masking import mask_lines
from lab.rehearsal.report import Report, say
from lab.rehearsal.stack import Stack
from lab.site.console import console_log


def keep_evidence(report: Report, stack: Stack, machines: Iterable[str]) -> None:
    """Copy the logs of a stack and the consoles of machines into the report's folder; `down` removes the lab's own.

    Those of an earlier rehearsal go. A folder that cannot be written is printed, and ends nothing.
    """
    try:
        shutil.rmtree(report.path, ignore_errors=True)
        for log in stack.logs():
            write_private(report.path / FOLDER / log.name, log.read_bytes())
        for name in machines:
            if (console := console_log(name)).exists():
                lines = mask_lines(console.read_text(errors="replace"))
                write_private(report.path / "console" / f"{name}.log", "\n".join(lines) + "\n")
    except OSError as error:
        say(f"{error.filename}: no evidence is written: {error.strerror}")


def errors_of(stack: Stack) -> list[str]:
    """Return the errors of the newest run, each with its machine."""
    newest = stack.logs()[-1:]
    errors = (entry for log in newest for entry in entries_of(log) if entry.event == Event.ERROR)
    return [f"{entry.machine}: {entry.text}".removeprefix(": ") for entry in errors]
