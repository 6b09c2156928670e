"""Level-triggered steps: read, return if already so, act, verify.

Each is a generator of seconds to wait before it goes on, so that whoever drives it owns the waits: a `for` loop with
a clock, or asyncio for a thousand hosts. Between two yields at most one request is under way.
"""

import random
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TypeVar

from providers.clock import Clock
from providers.errors import BmcTimeoutError, BmcTransientError
from providers.redfish.bmc import Bmc, Power

T = TypeVar("T")
Waits = Generator[float, None, None]
"""Seconds to wait, one after the other."""

POLL_S = 2.0
RESEND_S = 60.0  # iDRAC10 answers 409 to On for about a minute after Off; slower than any accepted change seen
RETRY_S = 5.0
CD = "Cd"
HDD = "Hdd"
ONCE = "Once"
CD_NAMES = frozenset({CD, "UsbCd"})  # Supermicro's virtual CD is a UsbCd, which sushy sets there by itself


def drive(waits: Generator[float, None, T], clock: Clock) -> T:
    """Run steps to their end on the caller's thread; what they return."""
    while True:
        try:
            seconds = next(waits)
        except StopIteration as end:
            result: T = end.value
            return result
        clock.sleep(seconds)


@dataclass
class _Sending:
    """When a request may be sent again; the caller looks first, since a lost answer may be a deed that is done."""

    clock: Clock
    due_at: float = 0.0

    def is_due(self) -> bool:
        return self.clock.now() >= self.due_at

    def __call__(self, act: Callable[[], None]) -> None:
        began = self.clock.now()
        try:
            act()
        except BmcTransientError:
            # As long again as it took: a BMC that did not answer in time may still be at it.
            self.due_at = self.clock.now() + max(RETRY_S, self.clock.now() - began)
            raise
        self.due_at = self.clock.now() + RESEND_S


@dataclass(frozen=True)
class Steps:
    """Steps on one BMC; `until` is the moment on `clock` when the whole work must be done."""

    bmc: Bmc
    clock: Clock
    until: float

    def look(self, what: str, read: Callable[[], bool], *, until: float | None = None) -> Waits:
        """Wait until `read` says yes; transient errors of the BMC count as no."""
        yield from self.ensure(what, read, None, until=until)

    def value(self, what: str, read: Callable[[], T | None]) -> Generator[float, None, T]:
        """The first answer of `read` that is not None."""
        seen: list[T] = []

        def has_read() -> bool:
            answer = read()
            if answer is not None:
                seen.append(answer)
            return bool(seen)

        yield from self.look(what, has_read)
        return seen[0]

    def ensure(
        self, what: str, is_so: Callable[[], bool], act: Callable[[], None] | None, *, until: float | None = None
    ) -> Waits:
        """Act until it is so, never twice without a look in between.

        Raises:
            BmcTimeoutError: Not so in time.
            BmcError: The BMC refuses for good.
        """
        until = self.until if until is None else min(until, self.until)
        send, last = _Sending(self.clock), ""
        while True:
            try:
                if is_so():
                    return
                if act is not None and send.is_due():
                    send(act)
                    if is_so():
                        return
            except BmcTransientError as error:
                last = f"; last answer: {error.what}"
            if self.clock.now() >= until:
                raise BmcTimeoutError(f"{what} was not reached in time{last}", where=self.bmc.url)
            yield jittered(POLL_S)

    def power(self, want: Power) -> Waits:
        """Drive the power to `want`."""
        bmc = self.bmc
        yield from self.ensure(f"power {want.value}", lambda: bmc.power() is want, lambda: bmc.request_power(want))

    def no_media(self) -> Waits:
        """Empty the virtual CD drive."""
        yield from self.ensure("an empty virtual CD drive", lambda: self.bmc.media() is None, self.bmc.eject)

    def media(self, url: str, *, until: float | None = None) -> Waits:
        """Have `url` in the virtual CD drive; another image is ejected first."""

        def insert() -> None:
            if self.bmc.media() is not None:
                self.bmc.eject()
            self.bmc.insert(url)

        what = "the boot ISO in the virtual CD drive"
        yield from self.ensure(what, lambda: self.bmc.media() == url, insert, until=until)

    def override(self, target: str, enabled: str = ONCE) -> Waits:
        """Point the boot override at `target`; only the target is verified (sushy-tools reads Once as Continuous)."""
        wanted = CD_NAMES if target == CD else {target}

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


def jittered(seconds: float) -> float:
    """About `seconds`, so that a fleet does not poll in step."""
    return seconds * random.uniform(0.8, 1.2)  # noqa: S311
