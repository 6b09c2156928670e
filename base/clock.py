"""The clock, as a protocol, and waits by it: tests drive a fake one; a wait on the real one ends with the engine."""

import math
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from base.errors import EngineGoneError

SLICE_S = 0.5


class Clock(Protocol):
    """A monotonic clock."""

    def now(self) -> float:
        """Return the seconds since some fixed moment."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait.

        Raises:
            EngineGoneError: The engine that asked for the work has ended.
        """
        ...


class SystemClock:
    """The machine's clock.

    A provider process outlives a killed engine (seen alive an hour later, 2026-11), so every wait checks that the
    engine still listens.

    Args:
        engine: Address of the Pulumi engine for which this process works; None in every other process.
    """

    def __init__(self, engine: tuple[str, int] | None = None) -> None:
        self.engine = engine

    def now(self) -> float:
        """Return the seconds of the monotonic clock."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait in slices of `SLICE_S`, and check the engine before each."""
        until = time.monotonic() + seconds
        while True:
            if not self._engine_listens():
                raise engine_gone()
            left = until - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, SLICE_S))

    def _engine_listens(self) -> bool:
        if self.engine is None:
            return True
        try:
            socket.create_connection(self.engine, timeout=SLICE_S).close()
        except TimeoutError:
            return True  # the machine is busy; a closed port refuses at once
        except OSError:
            return False
        return True


SYSTEM_CLOCK = SystemClock()
"""The clock of this process; `Provider.configure` sets its engine."""


def engine_gone() -> EngineGoneError:
    """Return the error of work whose engine has ended."""
    fix = "run `pulumi up` again; if the stack is locked, `pulumi cancel` before"
    return EngineGoneError("the Pulumi engine is gone", fix=fix)


def utc_now() -> str:
    """Return the time of day, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True)
class Wait:
    """A wait, by polling.

    Args:
        clock: Measures the wait.
        deadline_s: Seconds after which the wait ends without success.
        steady_s: Seconds for which nothing may be missing, without a break.
        poll_s: Seconds between two polls.
        report_s: Seconds between two reports. None: the first poll and each change are reported, at once.
    """

    clock: Clock
    deadline_s: float
    steady_s: float = 0.0
    poll_s: float = 0.5
    report_s: float | None = None

    def until(
        self, check: Callable[[], str | None], report: Callable[[str, float], None] = lambda missing, left_s: None
    ) -> str | None:
        """Poll until nothing has been missing for `steady_s` seconds.

        Args:
            check: Returns what is missing. None: nothing is.
            report: Called with what is missing and the seconds left; see `report_s`.

        Returns:
            None; or, once the deadline has passed, what was missing last.
        """
        deadline, steady_since = self.clock.now() + self.deadline_s, None
        last_missing, reported, report_at = "", None, -math.inf
        while True:
            missing, now = check(), self.clock.now()
            if missing:
                steady_since, last_missing = None, missing
                line = missing
            else:
                steady_since = now if steady_since is None else steady_since
                steady_left_s = self.steady_s - (now - steady_since)
                if steady_left_s <= 0:
                    return None
                line = f"as wanted; steady for {steady_left_s:.0f} s more"
            if now >= deadline:
                return last_missing or line
            # Compare `missing`, because `line` counts the seconds.
            if now >= report_at or (self.report_s is None and missing != reported):
                report(line, deadline - now)
                reported, report_at = missing, math.inf if self.report_s is None else now + self.report_s
            self.clock.sleep(self.poll_s)
