"""The steps of one installation: how each is shown while it goes on, and how long it took."""

from collections.abc import Callable
from dataclasses import dataclass, field

from base.clock import Clock
from base.progress import Progress, Report

HEARTBEAT_S = 10.0
INSTALLED, WAS_UP = "installed", "adopted"
"""The last step of a host that was installed, and of one that ran already."""


@dataclass
class ShownSteps:
    """Shows a step when it begins, and again at each heartbeat."""

    clock: Clock
    report: Report
    deadline_s: float
    """Time for all steps, in seconds."""
    heartbeat_s: float
    """Seconds between two lines of progress."""
    expected_s: float | None
    """Seconds that an earlier installation took; None if none is known."""
    state: Callable[[], str]
    """Returns what the step has come to; empty if there is nothing to say."""
    seconds: dict[str, float]
    """Gets the seconds spent in each step, rounded to 0.1."""
    step: str = "BMC"
    _began_at: float = field(init=False)
    _entered_at: float = field(init=False)
    _shown_at: float = 0.0

    def __post_init__(self) -> None:
        self._began_at = self._entered_at = self.clock.now()

    @property
    def in_step_s(self) -> float:
        """Seconds spent in the step so far."""
        return self.clock.now() - self._entered_at

    def enter(self, step: str) -> None:
        """Begin a step, or show it again."""
        if step != self.step:
            self.seconds[self.step] = round(self.in_step_s, 1)
            self.step, self._entered_at = step, self.clock.now()
        self._show()

    def beat(self) -> None:
        """Show the step again if that is due."""
        if self.clock.now() - self._shown_at >= self.heartbeat_s:
            self._show()

    def _show(self) -> None:
        self._shown_at = now = self.clock.now()
        spent, state, is_last = now - self._began_at, self.state(), self.step in (INSTALLED, WAS_UP)
        time = f"{spent:,.0f} s spent{'' if is_last else self._left(spent)}"
        detail = f"{state}; {time}" if state else time
        self.report(Progress(self.step, detail, took_s=round(spent, 1) if is_last else None))

    def _left(self, spent: float) -> str:
        limit = f"{max(0, self.deadline_s - spent):,.0f} s"
        if self.expected_s is None or self.expected_s > self.deadline_s:
            return f", at most {limit} left"
        if spent > self.expected_s:
            return f", longer than the {self.expected_s:,.0f} s of the last installation, at most {limit} left"
        return f", about {self.expected_s - spent:,.0f} s left, at most {limit}"
