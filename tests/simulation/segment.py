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
    _patience_s: float = 0.0
    _delayed_s: float = 0.0

    @property
    def priority(self) -> int:
        weights = (
            check.weight or 0
            for check in self.checks
            if (check.is_good and (check.weight or 0) > 0) or (check.is_good is False and (check.weight or 0) < 0)
        )
        return max(1, min(254, self.base + self.added() + sum(weights)))

    @property
    def is_enabled(self) -> bool:
        return self.ran and all(check.is_good for check in self.checks if check.weight is None)

    def look(self) -> None:
        """Follow the machine, and run the checks."""
        if not self.is_up():
            self.ran = self.holds = False
            return
        if not self.ran:
            self.ran = True
            self.wait()
            for check in self.checks:
                check.forget()
        for check in self.checks:
            check.run()
        self.holds = self.holds and self.is_enabled

    def wait(self) -> None:
        """Wait as long as a backup does after an advert."""
        self._patience_s = DEAD_ADVERTS * ADVERT_S + (256 - self.priority) / 256

    def hear(self, best: int | None) -> None:
        """Go on for a second, after the best advert of the others; None: there was none."""
        if best is None:
            self._delayed_s = 0.0
        elif best > self.priority or (best == self.priority and not self.holds):
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

    @property
    def holders(self) -> tuple[str, ...]:
        return tuple(name for name, speaker in self.speakers.items() if speaker.holds)

    def tick(self, now: float) -> None:
        for speaker in self.speakers.values():
            speaker.look()
        adverts = {name: speaker.priority for name, speaker in self.speakers.items() if speaker.holds}
        for name, speaker in self.speakers.items():
            if speaker.is_enabled:
                heard = [priority for other, priority in adverts.items() if other != name and now >= self.deaf_until]
                speaker.hear(max(heard, default=None))
        count = len(self.holders)
        is_free = count == 0 and any(speaker.is_enabled for speaker in self.speakers.values())
        self.silence_s = self.silence_s + 1 if is_free else 0.0
        self.crowd_s = self.crowd_s + 1 if count > 1 else 0.0
