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
class Timeline:
    """What one machine did, or one resource that is about no machine."""

    name: str
    spans: list[Span] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def seconds(self) -> dict[str, float]:
        """The seconds of each step, in their order."""
        sums: dict[str, float] = {}
        for span in self.spans:
            sums[span.step] = sums.get(span.step, 0.0) + span.seconds
        return sums


def timelines_of(entries: Iterable[Entry]) -> list[Timeline]:
    """Return the timelines of a log, in the order of their first lines. A torn line counts for nothing."""
    timelines: dict[str, Timeline] = {}
    open_: dict[str, tuple[str, float]] = {}
    end_s = 0.0
    for entry in entries:
        name = entry.machine or entry.resource.rpartition("::")[2]
        if entry.at_s is None or entry.event not in OPENING + CLOSING or not name:
            continue
        end_s, timeline = entry.at_s, timelines.setdefault(name, Timeline(name))
        step = entry.step if entry.event in OPENING else ""
        if name in open_ and open_[name][0] != step:
            timeline.spans.append(Span(*open_.pop(name), end_s))
        if entry.event == Event.ERROR:
            timeline.errors.append(entry.text)
        elif step and name not in open_:
            open_[name] = (step, end_s)
    for name, (step, begin_s) in open_.items():  # a run that was killed
        timelines[name].spans.append(Span(step, begin_s, end_s))
    return list(timelines.values())
