"""The clock of a simulated world: while the program waits, the world goes on, second by second."""

from collections.abc import Callable
from dataclasses import dataclass, field

from testing.fakes.clock import FakeClock


class Killed(BaseException):
    """The run was killed: nothing of it does anything any more."""


@dataclass
class SimClock(FakeClock):
    """Time passes as in the kit's fake clock, second by second.

    Args:
        tick: Called once for each second that passes.
    """

    tick: Callable[[], None] = lambda: None
    kill_at: float = float("inf")
    """Second at which the present run is killed."""
    is_dead: bool = False
    """Whether the present run was killed; its `finally` blocks reach nothing."""
    _due: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    _number: int = 0

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        """Let time pass for a run, which may be killed meanwhile."""
        self.check()
        until = self.seconds + seconds
        self.pass_time(min(until, max(self.kill_at, self.seconds)) - self.seconds)
        if self.kill_at < until:
            self.kill()

    def kill(self) -> None:
        self.is_dead = True
        raise Killed

    def check(self) -> None:
        """Raise if the run that asks is dead."""
        if self.is_dead:
            raise Killed

    def after(self, seconds: float, call: Callable[[], None]) -> None:
        """Have something happen."""
        self._number += 1
        self._due.append((self.seconds + seconds, self._number, call))

    def pass_time(self, seconds: float) -> None:
        """Let time pass, whoever lives."""
        until = self.seconds + seconds
        while True:
            second = float(int(self.seconds) + 1)
            first = min((due[:2] for due in self._due), default=(second, 0))
            at = min(second, max(first[0], self.seconds))
            if at > until:
                break
            self.seconds = at
            if first[1] and first[0] <= at:
                self._call(first[1])
            else:
                self.tick()
        self.seconds = until

    def _call(self, number: int) -> None:
        (due,) = (due for due in self._due if due[1] == number)
        self._due.remove(due)
        due[2]()
