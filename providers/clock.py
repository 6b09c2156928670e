"""Time, as a protocol: tests drive a fake one, real waits notice when the engine is gone."""

import os
import time
from dataclasses import dataclass, field
from typing import Protocol

from providers.errors import EngineGoneError

SLICE_S = 0.5


class Clock(Protocol):
    """A monotonic clock."""

    def now(self) -> float:
        """Seconds since some fixed moment."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait.

        Raises:
            EngineGoneError: The engine that asked for the work has ended.
        """
        ...


@dataclass(frozen=True)
class SystemClock:
    """The machine's clock.

    A provider process outlives a killed engine (seen alive an hour later, 2026-11), so every wait looks whether
    the parent is still the one that started the process.
    """

    parent: int = field(default_factory=os.getppid)

    def now(self) -> float:
        """Seconds of the monotonic clock."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait in slices."""
        until = time.monotonic() + seconds
        while True:
            if os.getppid() != self.parent:
                raise EngineGoneError("the Pulumi engine is gone", hint="Run `pulumi cancel`, then `pulumi up` again")
            left = until - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, SLICE_S))


SYSTEM_CLOCK = SystemClock()
