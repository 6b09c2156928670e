"""The clock, as a protocol: tests drive a fake one; a wait on the real one ends when the Pulumi engine is gone."""

import socket
import time
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
                raise EngineGoneError("the Pulumi engine is gone", fix="run `pulumi cancel`, then `pulumi up` again")
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
