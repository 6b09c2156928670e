"""The result of a preflight: faults, warnings, and what it could not probe."""

from dataclasses import dataclass

from base.errors import Fault, PreflightError
from base.progress import Progress, Report, Say


@dataclass(frozen=True)
class PreflightWarning:
    """A finding that does not stop `up`."""

    fault: Fault


@dataclass(frozen=True)
class NotProbed:
    """Something that the preflight could not probe, and why."""

    what: str


Finding = Fault | PreflightWarning | NotProbed


@dataclass(frozen=True)
class PreflightResult:
    """The findings of a preflight."""

    findings: tuple[Finding, ...]

    @property
    def faults(self) -> list[Fault]:
        """Findings on which `up` would fail."""
        return [finding for finding in self.findings if isinstance(finding, Fault)]

    @property
    def warnings(self) -> list[str]:
        """Findings that do not stop `up`, one line each."""
        return [str(finding.fault) for finding in self.findings if isinstance(finding, PreflightWarning)]

    @property
    def not_probed(self) -> list[str]:
        """Things that the preflight could not probe, one line each."""
        return [finding.what for finding in self.findings if isinstance(finding, NotProbed)]

    def lines(self) -> list[str]:
        """Return one line per fault, warning and unprobed thing, in this order."""
        faults = [str(fault) for fault in self.faults]
        warnings = [f"warning: {line}" for line in self.warnings]
        return [*faults, *warnings, *(f"not probed: {line}" for line in self.not_probed)]

    def refuse(self, subject: str = "this host", unchanged: str = "nothing was touched") -> None:
        """End the run if there are faults.

        Args:
            subject: What is not ready.
            unchanged: What the run has not changed, as the end of a sentence.

        Raises:
            PreflightError: `up` would fail; the message has one line per finding.
        """
        if count := len(self.faults):
            head = f"{subject} is not ready, {count} {'finding' if count == 1 else 'findings'}; {unchanged}"
            raise PreflightError(head, details=self.lines())

    def report(self, warn: Say, row: Report) -> None:
        """Report the warnings, and what the preflight could not probe, of a subject that is ready."""
        for line in self.warnings:
            warn(line)
        not_probed = "; ".join(self.not_probed)
        row(Progress("ready", f"not probed: {not_probed}" if not_probed else ""))
