"""What a run did when: the steps of each machine and of each resource without one, read from the run's log."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from base.log_entries import Entry, Event

OPENING = (Event.BEGIN, Event.STEP)
CLOSING = (Event.END, Event.ERROR)
"""Events after which their machine or resource is in no step."""


@dataclass(frozen=True)
class Span:
    """One step, in seconds since the start of the run."""

    step: str
    begin_s: float
    end_s: float

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.end_s - self.begin_s


@dataclass
class Row:
    """A machine, or a resource that is about none."""

    name: str
    spans: list[Span] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def seconds(self) -> dict[str, float]:
        """The seconds of each step, in their order."""
        found: dict[str, float] = {}
        for span in self.spans:
            found[span.step] = found.get(span.step, 0.0) + span.seconds
        return found


def rows_of(entries: Iterable[Entry]) -> list[Row]:
    """Return the rows of a log, in the order of their first lines. A torn line counts for nothing."""
    rows: dict[str, Row] = {}
    open_: dict[str, tuple[str, float]] = {}
    end_s = 0.0
    for entry in entries:
        name = entry.machine or entry.resource.rpartition("::")[2]
        if entry.at_s is None or entry.event not in OPENING + CLOSING or not name:
            continue
        end_s, row = entry.at_s, rows.setdefault(name, Row(name))
        step = entry.step if entry.event in OPENING else ""
        if name in open_ and open_[name][0] != step:
            row.spans.append(Span(*open_.pop(name), end_s))
        if entry.event == Event.ERROR:
            row.errors.append(entry.text)
        elif step and name not in open_:
            open_[name] = (step, end_s)
    for name, (step, begin_s) in open_.items():  # a run that was killed
        rows[name].spans.append(Span(step, begin_s, end_s))
    return list(rows.values())
