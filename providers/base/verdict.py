"""What a judgement of the provisioner, or of its network, ends in."""

from dataclasses import dataclass

from providers.base.errors import Fault, PreflightError
from providers.base.progress import Report


@dataclass(frozen=True)
class Caution:
    """Something that `up` can live with."""

    fault: Fault


@dataclass(frozen=True)
class Unseen:
    """Something that could not be probed, and why."""

    what: str


Note = Fault | Caution | Unseen


@dataclass(frozen=True)
class Verdict:
    """What was seen."""

    notes: tuple[Note, ...]

    @property
    def faults(self) -> list[Fault]:
        """What `up` would fail on."""
        return [note for note in self.notes if isinstance(note, Fault)]

    @property
    def warnings(self) -> list[str]:
        """What `up` can live with."""
        return [str(note.fault) for note in self.notes if isinstance(note, Caution)]

    @property
    def unseen(self) -> list[str]:
        """What was not probed."""
        return [note.what for note in self.notes if isinstance(note, Unseen)]

    def lines(self) -> list[str]:
        """One line per fault, warning and unseen thing, in this order."""
        faults = [str(fault) for fault in self.faults]
        warnings = [f"warning: {line}" for line in self.warnings]
        return [*faults, *warnings, *(f"not probed: {line}" for line in self.unseen)]

    def refuse(self, subject: str = "this host", left_alone: str = "nothing was touched") -> None:
        """End here when `up` would fail.

        Raises:
            PreflightError: With all of the report.
        """
        if count := len(self.faults):
            head = f"{subject} is not ready, {count} {'finding' if count == 1 else 'findings'}; {left_alone}"
            raise PreflightError("\n    ".join([head, *self.lines()]))

    def report(self, warn: Report, row: Report) -> None:
        """What remains to be known of what is ready."""
        for line in self.warnings:
            warn(line)
        unseen = "; ".join(self.unseen)
        row(f"ready; not probed: {unseen}" if unseen else "ready")
