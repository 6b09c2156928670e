"""Progress of a resource while a provider works on it."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """A line of progress.

    Args:
        step: Name of the current step, the same in all its lines and in all runs.
        detail: What changes during the step, such as the time left.
        took_s: Seconds that the whole work took; only the line that ends it has them.
    """

    step: str
    detail: str = ""
    took_s: float | None = None

    def __str__(self) -> str:
        """Return the line as the operator reads it."""
        return f"{self.step}: {self.detail}" if self.detail else self.step


Report = Callable[[Progress], None]
"""Shows a line of progress, in place of the line before."""
Say = Callable[[str], None]
"""Shows a line that stays visible after the run."""


def with_time_left(report: Report, step: str) -> Callable[[str, float], None]:
    """Return what `Wait.until` reports to: it shows what is missing and the seconds left, as a line of `step`."""
    return lambda missing, left_s: report(Progress(step, f"{missing}; at most {left_s:.0f} s left"))
