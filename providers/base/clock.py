"""The clock, as a protocol: tests drive a fake one; a wait on the real one ends when the Pulumi engine is gone."""

import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from providers.base.errors import EngineGoneError

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


def engine_address() -> tuple[str, int] | None:
    """Return the address of the Pulumi engine that started this plugin process; None in any other process.

    The engine passes it as the last argument.
    """
    host, _, port = sys.argv[-1].rpartition(":")
    return (host, int(port)) if host and port.isdigit() else None


@dataclass(frozen=True)
class SystemClock:
    """The machine's clock.

    A provider process outlives a killed engine (seen alive an hour later, 2026-11), so every wait checks that the
    engine still listens.
    """

    engine: Callable[[], tuple[str, int] | None] = engine_address

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
        if (address := self.engine()) is None:
            return True
        try:
            socket.create_connection(address, timeout=SLICE_S).close()
        except TimeoutError:
            return True  # the machine is busy; a closed port refuses at once
        except OSError:
            return False
        return True


SYSTEM_CLOCK = SystemClock()
