"""What a judgement of the provisioner, or of its network, ends in."""

from dataclasses import dataclass

from providers.base.errors import PreflightError
from providers.base.progress import Report
from wires.libvirt.facts import HostFacts


@dataclass(frozen=True)
class Finding:
    """Something that `up` would fail on."""

    what: str
    mend: str
    """The command that mends it, or where there is none, what to do."""

    def __str__(self) -> str:
        return f"{self.what}; mend: {self.mend}"


@dataclass(frozen=True)
class Caution:
    """Something that `up` can live with."""

    what: str


@dataclass(frozen=True)
class Unseen:
    """Something that could not be looked at, and why."""

    what: str


Note = Finding | Caution | Unseen


@dataclass(frozen=True)
class Verdict:
    """What was seen."""

    notes: tuple[Note, ...]
    facts: HostFacts | None = None
    """None: libvirt was not asked, or did not answer."""

    @property
    def findings(self) -> list[Finding]:
        """What must be mended."""
        return [note for note in self.notes if isinstance(note, Finding)]

    @property
    def warnings(self) -> list[str]:
        """What may be mended."""
        return [note.what for note in self.notes if isinstance(note, Caution)]

    @property
    def unseen(self) -> list[str]:
        """What was not looked at."""
        return [note.what for note in self.notes if isinstance(note, Unseen)]

    @property
    def libvirt_version(self) -> str | None:
        """As libvirt's own tools write it."""
        return dotted(self.facts.version) if self.facts else None

    @property
    def kvm(self) -> bool | None:
        """Whether the VM's host has KVM."""
        return self.facts.kvm if self.facts else None

    def lines(self) -> list[str]:
        """The report: one line per finding, warning and unseen thing, in this order."""
        findings = [str(finding) for finding in self.findings]
        warnings = [f"warning: {line}" for line in self.warnings]
        return [*findings, *warnings, *(f"not looked at: {line}" for line in self.unseen)]

    def refuse(self, subject: str = "this host", left_alone: str = "nothing was touched") -> None:
        """End here when anything must be mended.

        Raises:
            PreflightError: With all of the report.
        """
        if count := len(self.findings):
            head = f"{subject} is not ready, {count} {'finding' if count == 1 else 'findings'}; {left_alone}"
            raise PreflightError("\n    ".join([head, *self.lines()]))

    def tell(self, warn: Report, row: Report) -> None:
        """What is left to say of what is ready."""
        for line in self.warnings:
            warn(line)
        unseen = "; ".join(self.unseen)
        row(f"ready; not looked at: {unseen}" if unseen else "ready")


def dotted(version: tuple[int, int, int]) -> str:
    """`9.0.0`."""
    return ".".join(map(str, version))
