"""When a step may send its request again, and how long it waits between two reads."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

from base.clock import Clock
from base.errors import BmcRefusedError, BmcTransientError

POLL_S = 1.0, 10.0
"""Shortest and longest wait between two reads."""
SPARSER = 0.05
"""The wait as a share of the time since the step began: the longer a step takes, the fewer the reads."""
BACK_OFF_S = 2.0, 30.0
"""Wait after the first transient error, doubled with each further one in a row; and the longest such wait."""
RETRY_AFTER_S = 300.0
"""The longest wait that a BMC may ask for: one that names a date by a clock that is wrong asks for months."""
UNSURE_S = 60.0  # after a lost answer, the change may still take effect; longer than any accepted change took so far


@dataclass
class RequestPacing:
    """Whether a step may request its change now, and how long it waits.

    A refused request is due again at once. A request with an unknown result is due again after `UNSURE_S`, when its
    effect should be visible. The caller reads the state before each request.
    """

    clock: Clock
    began: float
    again_s: float
    """Seconds from an accepted request to the next one."""
    due_at: float = 0.0
    failures: int = 0
    wait_s: float = 0.0
    last: str = ""
    fix: str = ""
    """The fix of the last transient error."""
    refused: bool = False
    """Whether the BMC answered the last request, with an error."""
    missing_at: float = math.inf
    """Time of the first of the errors in a row that pass soon, or never."""

    def is_due(self) -> bool:
        """Return whether the request may be sent now."""
        return self.clock.now() >= self.due_at

    def request(self, act: Callable[[], None]) -> None:
        """Send the request.

        Raises:
            BmcTransientError: The BMC did not accept it, or did not say so.
        """
        try:
            act()
        except BmcTransientError as error:
            self.due_at = 0.0 if error.undone else self.clock.now() + UNSURE_S
            self.refused = error.refused
            raise
        self.due_at = self.clock.now() + self.again_s
        self.refused = False

    def succeeded(self) -> None:
        """Note that the BMC answers, and set the wait."""
        self.failures, self.missing_at = 0, math.inf
        shortest, longest = POLL_S
        self.wait_s = jittered(min(longest, max(shortest, SPARSER * (self.clock.now() - self.began))))

    def failed(self, error: BmcTransientError) -> None:
        """Note that it does not, and set the wait.

        Raises:
            BmcRefusedError: It has lacked something for longer than that may pass.
        """
        self.missing_at = min(self.missing_at, self.clock.now()) if error.passes_s < math.inf else math.inf
        if self.clock.now() - self.missing_at >= error.passes_s:
            fault = error.fault
            raise BmcRefusedError(f"{fault.what}, for {error.passes_s:g} s", where=fault.where, fix=fault.fix)
        first, longest = BACK_OFF_S
        self.wait_s = jittered(min(longest, first * 2**self.failures))
        self.wait_s = max(self.wait_s, min(error.retry_after_s, RETRY_AFTER_S))
        self.failures += 1
        self.last, self.fix = f"; last answer: {error.fault.what}", error.fault.fix


@dataclass
class Acceptance:
    """Whether and when a BMC has accepted a request."""

    clock: Clock
    _at: float = math.inf

    @property
    def is_given(self) -> bool:
        """Whether it has accepted one."""
        return self._at < math.inf

    @property
    def is_past(self) -> bool:
        """Whether it accepted one so long ago that the effect should be visible."""
        return self.clock.now() - self._at >= UNSURE_S

    def give(self) -> None:
        """Note that it accepts one now."""
        self._at = self.clock.now()


def jittered(seconds: float) -> float:
    """Return about `seconds`, so that many clusters do not poll at the same moments."""
    return seconds * random.uniform(0.8, 1.2)  # noqa: S311
