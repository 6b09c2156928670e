"""Output of a rehearsal: headlines with times, the closing table of proofs, and the files in `report/<stack>/`."""

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from base import log_file
from lab.templates import render

FOLDER = Path("report")
PAGE = "rehearsal/report.html.j2"


class RehearsalError(Exception):
    """A step or proof failed; `machine` is the one whose console may show why."""

    def __init__(self, what: str, machine: str = "") -> None:
        super().__init__(what)
        self.machine = machine


@dataclass(frozen=True)
class Proof:
    """One measured value beside the wanted one."""

    name: str
    wanted: str
    seen: str
    holds: bool


@dataclass
class Report:
    """Collects the proofs, and prints each."""

    name: str
    """The stack's, with the scenario and the payload where these differ from the default."""
    differences: Sequence[str] = ()
    """What the twin cannot stand in for, so that no proof covers it."""
    folder: Path = FOLDER
    chart: str = ""
    """The handoff, as SVG."""
    servers: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Seconds of each step of an installation, by server."""
    proofs: list[Proof] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)
    errors: list[str] = field(default_factory=list)
    """Those of the run that failed."""

    @property
    def path(self) -> Path:
        """The folder of this rehearsal: the report, the logs of its runs, and the machines' consoles."""
        return self.folder / self.name

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Print a headline, and at the end of the step its seconds."""
        say(f"\n==> {title}")
        begun = time.monotonic()
        yield
        self.seconds[title] = time.monotonic() - begun
        say(f"<== {title}: {self.seconds[title]:.1f} s")

    def prove(self, name: str, *, wanted: object, seen: object, holds: bool | None = None, machine: str = "") -> None:
        """Record a proof; one that fails ends the rehearsal.

        Args:
            name: What is proven.
            wanted: The value that proves it.
            seen: The measured value.
            holds: Whether the proof holds; None for `wanted == seen`.
            machine: The machine whose console may show why it fails.

        Raises:
            RehearsalError: The proof fails.
        """
        proof = Proof(name, str(wanted), str(seen), wanted == seen if holds is None else holds)
        self.proofs.append(proof)
        say(f"    {'proven' if proof.holds else 'NOT PROVEN'}: {name}: {proof.seen}")
        if not proof.holds:
            raise RehearsalError(f"{name}: seen {proof.seen}, wanted {proof.wanted}", machine)

    def prove_each(self, name: str, *, wanted: Mapping[str, object], seen: Mapping[str, object]) -> None:
        """Record a proof about several machines, by name. If it fails, its machine is the first one that differs.

        Raises:
            RehearsalError: The proof fails.
        """
        machine = next((machine for machine in wanted if seen[machine] != wanted[machine]), "")
        self.prove(name, wanted=_listed(wanted), seen=_listed(seen), machine=machine)

    def measure(self, name: str, *, goal: str, seen: object) -> None:
        """Record a figure beside its goal; a missed goal does not fail."""
        self.proofs.append(Proof(name, f"goal: {goal}", str(seen), holds=True))
        say(f"    measured: {name}: {seen}")

    def close(self, *, failed: str = "") -> None:
        """Print the tables of proofs and of seconds, and write the same as `index.html` and `index.json`."""
        self._print()
        self.path.mkdir(parents=True, exist_ok=True)
        content = {
            "name": self.name,
            "failed": failed,
            "errors": self.errors,
            "evidence": [str(path.relative_to(self.path)) for path in sorted(self.path.glob("*/*"))],
            "not_proven": list(self.differences),
            "seconds": {title: round(seconds, 1) for title, seconds in self.seconds.items()},
            "servers": {name: dict(steps) for name, steps in self.servers.items()},
            "proofs": [asdict(proof) for proof in self.proofs],
        }
        (self.path / "index.json").write_text(json.dumps(content, indent=2) + "\n")
        (self.path / "index.html").write_text(render(PAGE, chart=self.chart, **content))
        say(f"\nreport: {self.folder.name}/{self.name}/index.html")
        if failed:
            if (self.path / log_file.FOLDER).exists():
                say(f"log: okd-baremetal log {self.name} --rehearsal")
            say(f"FAILED: {failed}")

    def _print(self) -> None:
        width = max((len(proof.name) for proof in self.proofs), default=0)
        say(f"\n{'proof':{width}}  measured (wanted)")
        for proof in self.proofs:
            mark = "" if proof.holds else "   <-- NOT PROVEN"
            wanted = "" if proof.seen == proof.wanted else f" ({proof.wanted})"
            say(f"{proof.name:{width}}  {proof.seen}{wanted}{mark}")
        say("")
        for title, seconds in self.seconds.items():
            say(f"{seconds:7.1f} s  {title}")
        say(f"{time.monotonic() - self.started:7.1f} s  in all")


def _listed(by_machine: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in by_machine.items())


def say(line: str) -> None:
    """Print one line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
