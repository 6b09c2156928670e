"""Output of a rehearsal: headlines with times, the closing table of proofs, and files in `report/`."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from testing.checkout import ROOT

FOLDER = ROOT / "report"


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

    folder: Path = FOLDER
    proofs: list[Proof] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)

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
        good = wanted == seen if holds is None else holds
        proof = Proof(name, str(wanted), str(seen), good)
        self.proofs.append(proof)
        say(f"    {'proven' if good else 'NOT PROVEN'}: {name}: {proof.seen}")
        if not good:
            raise RehearsalError(f"{name}: seen {proof.seen}, wanted {proof.wanted}", machine)

    def measure(self, name: str, *, goal: str, seen: object) -> None:
        """Record a figure beside its goal; a missed goal is no failure."""
        self.proofs.append(Proof(name, f"goal: {goal}", str(seen), holds=True))
        say(f"    measured: {name}: {seen}")

    def keep(self, name: str, text: str) -> None:
        """Write a file to the report folder, in place of that of an earlier run."""
        self.folder.mkdir(exist_ok=True)
        (self.folder / name).write_text(text)
        say(f"    kept: {self.folder.name}/{name}")

    def close(self) -> None:
        """Print the tables of proofs and of seconds."""
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


def say(line: str) -> None:
    """Print one line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
