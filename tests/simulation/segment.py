"""The segment: who answers a VIP, by keepalived's rules (priorities, checks, adverts, delays), second by second."""

from collections.abc import Callable
from dataclasses import dataclass, field

ADVERT_S, DEAD_ADVERTS = 1.0, 3
"""VRRP's defaults, as in the rendered keepalived.conf: a backup waits for three adverts and its skew."""


@dataclass
class Check:
    """A `vrrp_script` of one machine.

    Args:
        weight: As keepalived has it: added on success if positive, on failure if negative; None: a failure disables.
        fall_s: Seconds of failures until it counts as failed. The first result counts at once.
    """

    passes: Callable[[], bool]
    weight: int | None
    fall_s: float
    is_good: bool | None = None
    """None: it has not run yet."""
    _failing_s: float = 0.0

    def run(self) -> None:
        if self.passes():
            self.is_good, self._failing_s = True, 0.0
            return
        self._failing_s += ADVERT_S
        if self.is_good is None or self._failing_s >= self.fall_s:
            self.is_good = False

    def forget(self) -> None:
        self.is_good, self._failing_s = None, 0.0


@dataclass(eq=False)
class Speaker:
    """keepalived's instance of one VIP on one machine."""

    machine: str
    base: int
    checks: tuple[Check, ...]
    is_up: Callable[[], bool]
    delay_s: float = 0.0
    added: Callable[[], int] = lambda: 0
    """Returns the number of its track file."""
    holds: bool = False
    ran: bool = False
    is_enabled: bool = False
    priority: int = 1
    _patience_s: float = 0.0
    _delayed_s: float = 0.0

    def look(self) -> None:
        """Follow the machine, and run the checks."""
        if not self.is_up():
            self.ran = self.holds = self.is_enabled = False
            return
        is_first, self.ran = not self.ran, True
        priority, self.is_enabled = self.base + self.added(), True
        if is_first:
            self.priority = priority
            self.wait()
        for check in self.checks:
            if is_first:
                check.forget()
            check.run()
            if check.weight is None:
                self.is_enabled = self.is_enabled and bool(check.is_good)
            elif check.is_good == (check.weight > 0):
                priority += check.weight
        self.priority = max(1, min(254, priority))
        self.holds = self.holds and self.is_enabled

    def wait(self) -> None:
        """Wait as long as a backup does after an advert."""
        self._patience_s = DEAD_ADVERTS * ADVERT_S + (256 - self.priority) / 256

    def hear(self, best: int | None, *, is_later: bool) -> None:
        """Go on for a second, after the best advert of the others; None: there was none.

        Of two that hold it with one priority, that of the higher address goes on (RFC 5798, 6.4.3).
        """
        if best is None:
            self._delayed_s = 0.0
        elif best > self.priority or (best == self.priority and (is_later or not self.holds)):
            self.holds, self._delayed_s = False, 0.0
            self.wait()
            return
        elif not self.holds and self._delayed_s < self.delay_s:
            self._delayed_s += ADVERT_S
            self.wait()
            return
        self._patience_s -= ADVERT_S
        if self._patience_s <= 0:
            self.holds = True


@dataclass
class Vip:
    """One VIP, and the machines that may hold it."""

    name: str
    speakers: dict[str, Speaker] = field(default_factory=dict)
    deaf_until: float = 0.0
    """Until then no machine hears another."""
    silence_s: float = 0.0
    """Seconds for which nobody has held it, though somebody could."""
    crowd_s: float = 0.0
    """Seconds for which several have."""

    holders: tuple[str, ...] = ()

    def tick(self, now: float) -> None:
        for speaker in self.speakers.values():
            speaker.look()
        enabled = [speaker for speaker in self.speakers.values() if speaker.is_enabled]
        adverts = [
            (speaker.priority, place)
            for place, speaker in enumerate(enabled)
            if speaker.holds and now >= self.deaf_until
        ]
        for place, speaker in enumerate(enabled):
            best, of = max((advert for advert in adverts if advert[1] != place), default=(None, place))
            speaker.hear(best, is_later=of > place)
        self.holders = tuple(speaker.machine for speaker in enabled if speaker.holds)
        count = len(self.holders)
        self.silence_s = self.silence_s + 1 if enabled and not count else 0.0
        self.crowd_s = self.crowd_s + 1 if count > 1 else 0.0
