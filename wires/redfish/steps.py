"""Level-triggered steps: read, return if already so, act, verify.

Each is a generator of seconds to wait before it goes on, so that whoever drives it owns the waits: a `for` loop with
a clock, or asyncio for a thousand hosts. Between two yields at most one request is under way.
"""

import math
import random
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TypeVar

from providers.base.clock import Clock
from providers.base.errors import BmcAuthError, BmcError, BmcTimeoutError, BmcTransientError
from wires.redfish.bmc import ONCE, SPELLINGS, BmcClient, Power

T = TypeVar("T")
Waits = Generator[float, None, None]
"""Seconds to wait, one after the other."""

STEP_S = 1500.0  # AMI's answers 503 for up to 20 minutes after its host's POST
POLL_S = 1.0, 10.0
"""Shortest and longest time between two reads."""
SPARSER = 0.05
"""A read comes when that share of the step's time has passed: in a long wait there are fewer."""
BACK_OFF_S = 2.0, 30.0
"""After the first transient error, and at most; doubled with each in a row."""
EJECT_AGAIN_S = 5.0  # sushy tells no refused eject from an accepted one
UNSURE_S = 60.0  # an answer that was lost may be that of a slow change; slower than any accepted change seen


def run_steps(waits: Generator[float, None, T], clock: Clock) -> T:
    """Run steps to their end on the caller's thread; what they return."""
    while True:
        try:
            seconds = next(waits)
        except StopIteration as end:
            result: T = end.value
            return result
        clock.sleep(seconds)


@dataclass
class _Asking:
    """Whether a change may be asked for, and how long to wait.

    What was refused is asked for again, and what may have been done when it should show by now. The caller reads
    before each.
    """

    clock: Clock
    began: float
    again_s: float
    """From an accepted request to the next one."""
    due_at: float = 0.0
    failures: int = 0
    wait_s: float = 0.0
    last: str = ""

    def is_due(self) -> bool:
        return self.clock.now() >= self.due_at

    def ask(self, act: Callable[[], None]) -> None:
        try:
            act()
        except BmcTransientError as error:
            self.due_at = 0.0 if error.undone else self.clock.now() + UNSURE_S
            raise
        self.due_at = self.clock.now() + self.again_s

    def went_well(self) -> None:
        self.failures = 0
        shortest, longest = POLL_S
        self.wait_s = jittered(min(longest, max(shortest, SPARSER * (self.clock.now() - self.began))))

    def failed(self, error: BmcTransientError) -> None:
        first, longest = BACK_OFF_S
        self.wait_s = jittered(min(longest, first * 2**self.failures))
        self.wait_s = max(self.wait_s, error.retry_after_s)
        self.failures += 1
        self.last = f"; last answer: {error.fault.what}"


@dataclass(frozen=True)
class Steps:
    """Steps on one BMC; `until` is the moment on `clock` when the whole work must be done."""

    bmc: BmcClient
    clock: Clock
    until: float

    def look(self, what: str, read: Callable[[], bool], *, within_s: float = STEP_S) -> Waits:
        """Wait until `read` says yes; transient errors of the BMC count as no."""
        yield from self.ensure(what, read, None, within_s=within_s)

    def value(
        self, what: str, read: Callable[[], T | None], *, within_s: float = STEP_S
    ) -> Generator[float, None, T]:
        """The first answer of `read` that is not None."""
        seen: list[T] = []

        def has_read() -> bool:
            answer = read()
            if answer is not None:
                seen.append(answer)
            return bool(seen)

        yield from self.look(what, has_read, within_s=within_s)
        return seen[0]

    def ensure(
        self,
        what: str,
        is_so: Callable[[], bool],
        act: Callable[[], None] | None,
        *,
        within_s: float = STEP_S,
        again_s: float = math.inf,
    ) -> Waits:
        """Act until it is so, never twice without a read in between.

        Args:
            what: What is wanted, for the error.
            is_so: Reads.
            act: Asks for it; None only waits.
            within_s: Time for it.
            again_s: After that time, what was accepted and is not so is asked for again.

        Raises:
            BmcTimeoutError: Not so in time.
            BmcError: The BMC refuses for good.
        """
        clock = self.clock
        until = min(self.until, clock.now() + within_s)
        asking = _Asking(clock, clock.now(), again_s)
        while True:
            try:
                if is_so() or (act and asking.is_due() and _made_so(is_so, lambda: asking.ask(act))):
                    return
                asking.went_well()
            except BmcTransientError as error:
                asking.failed(error)
            if clock.now() >= until:
                raise BmcTimeoutError(f"{what} was not reached in time{asking.last}", where=self.bmc.url)
            yield min(asking.wait_s, max(0.0, until - clock.now()))

    def power(self, want: Power) -> Waits:
        """Drive the power to `want`."""
        bmc = self.bmc
        yield from self.ensure(f"power {want.value}", lambda: bmc.power() is want, lambda: bmc.request_power(want))

    def no_media(self) -> Waits:
        """Empty the virtual CD drive."""
        bmc = self.bmc
        yield from self.ensure(
            "an empty virtual CD drive", lambda: bmc.media() is None, bmc.eject, again_s=EJECT_AGAIN_S
        )

    def media(self, url: str, *, within_s: float = STEP_S) -> Waits:
        """Have `url` in the empty virtual CD drive."""
        bmc = self.bmc
        what = "the boot ISO in the virtual CD drive"
        yield from self.ensure(what, lambda: bmc.media() == url, lambda: bmc.insert(url), within_s=within_s)

    def override(self, target: str, enabled: str = ONCE) -> Waits:
        """Point the boot override at `target`; only the target is verified (sushy-tools reads Once as Continuous)."""
        wanted = SPELLINGS.get(target, (target,))

        def is_so() -> bool:
            seen = self.bmc.boot_override()
            return seen.target in wanted and seen.enabled != "Disabled"

        yield from self.ensure(f"boot override {target}", is_so, lambda: self.bmc.set_override(target, enabled))

    def override_as_found(self, target: str, enabled: str) -> Waits:
        """Restore a boot override; a BMC that reported none gets it disabled."""
        target, enabled = (target, enabled) if target and enabled else ("None", "Disabled")
        bmc = self.bmc

        def is_so() -> bool:
            seen = bmc.boot_override()
            disabled = enabled == "Disabled" and seen.enabled == "Disabled"
            return disabled or seen.target == target

        yield from self.ensure(f"boot override {target} as found", is_so, lambda: bmc.set_override(target, enabled))


def _made_so(is_so: Callable[[], bool], ask: Callable[[], None]) -> bool:
    """Ask, and read; a refusal is none where it is so all the same."""
    try:
        ask()
    except (BmcAuthError, BmcTransientError):
        raise
    except BmcError:
        if is_so():
            return True
        raise
    return is_so()


def jittered(seconds: float) -> float:
    """About `seconds`, so that a fleet does not poll in step."""
    return seconds * random.uniform(0.8, 1.2)  # noqa: S311
