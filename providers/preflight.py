"""The verdict of a preflight."""

from dataclasses import dataclass

from base.errors import Fault, PreflightError
from base.progress import Progress, Report, Say


@dataclass(frozen=True)
class Caution:
    """A finding that does not stop `up`."""

    fault: Fault


@dataclass(frozen=True)
class Unseen:
    """Something that the preflight could not probe, and why."""

    what: str


Note = Fault | Caution | Unseen


@dataclass(frozen=True)
class Verdict:
    """The findings of a preflight."""

    notes: tuple[Note, ...]

    @property
    def faults(self) -> list[Fault]:
        """Findings on which `up` would fail."""
        return [note for note in self.notes if isinstance(note, Fault)]

    @property
    def warnings(self) -> list[str]:
        """Findings that do not stop `up`, one line each."""
        return [str(note.fault) for note in self.notes if isinstance(note, Caution)]

    @property
    def unseen(self) -> list[str]:
        """Things that the preflight could not probe, one line each."""
        return [note.what for note in self.notes if isinstance(note, Unseen)]

    def lines(self) -> list[str]:
        """Return one line per fault, warning and unprobed thing, in this order."""
        faults = [str(fault) for fault in self.faults]
        warnings = [f"warning: {line}" for line in self.warnings]
        return [*faults, *warnings, *(f"not probed: {line}" for line in self.unseen)]

    def refuse(self, subject: str = "this host", left_alone: str = "nothing was touched") -> None:
        """End the run if there are faults.

        Raises:
            PreflightError: `up` would fail; the message has one line per finding.
        """
        if count := len(self.faults):
            head = f"{subject} is not ready, {count} {'finding' if count == 1 else 'findings'}; {left_alone}"
            raise PreflightError("\n    ".join([head, *self.lines()]))

    def report(self, warn: Say, row: Report) -> None:
        """Report the warnings, and what the preflight could not probe, of a subject that is ready."""
        for line in self.warnings:
            warn(line)
        unseen = "; ".join(self.unseen)
        row(Progress("ready", f"not probed: {unseen}" if unseen else ""))
