"""Time, as a protocol: tests drive a fake one, real waits notice when the engine is gone."""

import socket
import sys
import time
from dataclasses import dataclass, field
from typing import Protocol

from providers.base.errors import EngineGoneError

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
    somebody still listens where the engine does.
    """

    engine: str = field(default_factory=lambda: sys.argv[-1])
    """`host:port`, the last argument of a provider process; other processes have none and wait for themselves."""

    def now(self) -> float:
        """Seconds of the monotonic clock."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait in slices."""
        until = time.monotonic() + seconds
        while True:
            if not self._engine_listens():
                raise EngineGoneError("the Pulumi engine is gone", fix="Run `pulumi cancel`, then `pulumi up` again")
            left = until - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, SLICE_S))

    def _engine_listens(self) -> bool:
        host, _, port = self.engine.rpartition(":")
        if not (host and port.isdigit()):
            return True
        try:
            socket.create_connection((host, int(port)), timeout=SLICE_S).close()
        except TimeoutError:
            return True  # a busy machine, not a closed port
        except OSError:
            return False
        return True


SYSTEM_CLOCK = SystemClock()
