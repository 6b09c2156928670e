"""A client of the API VIP during the handoff, which measures what the API's users experience."""

import errno
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from base import log

EVERY_S = 0.02
# client-go asks again after so long, up to ten times, if a GET's connection was reset or ended (rest/with_retry.go of
# kubernetes, `retryAfterResponse`). At once would meet two moves on platform baremetal: two nodes of one rank claim
# the VIP within 20 ms, before the lower one hears the other (3 of 60 moves on a busy machine, 2026-11).
RETRY_AFTER_S = 1.0
PROBLEMS = 6
"""Number of problems to keep."""
# A connect is reset, not refused, if the old holder accepted it and the new one gets its next packet: connections do
# not move with a VIP (1 of 429 connects, emulated machines, 2026-11).
ACCEPTED_THEN_RESET = os.strerror(errno.ECONNRESET)

Attempt = Callable[[], str | None]
"""Makes one attempt, and returns what went wrong, or None."""


@dataclass
class Attempts:
    """The results of a series of attempts."""

    tried: int = 0
    failed: int = 0
    """Attempts that failed, together with their retry, if there was one."""
    retried: int = 0
    """Attempts that failed, and succeeded on their retry."""
    problems: list[str] = field(default_factory=list)
    """The first problems of failed attempts, including those that succeeded on their retry."""
    gap_ms: float = 0.0
    """Longest time between the ends of two successive successes."""
    gap_began: float = 0.0
    """Time of the monotonic clock, in seconds, at which the first of the two ended."""
    _last_success: float = field(default=0.0, repr=False)

    def remember(self, problem: str) -> None:
        """Keep the problem of an attempt, up to `PROBLEMS` of them."""
        if len(self.problems) < PROBLEMS:
            self.problems.append(problem)

    def note(self, succeeded: bool, now: float) -> None:
        """Count one attempt, which ended at `now`."""
        self.tried += 1
        if not succeeded:
            self.failed += 1
            return
        gap_ms = (now - self._last_success) * 1000
        if self._last_success and gap_ms > self.gap_ms:
            self.gap_ms, self.gap_began = gap_ms, self._last_success
        self._last_success = now


class VipClient:
    """Attempts connections and requests in parallel, one of each at a time, starting one every 20 ms if it can.

    Args:
        connect: Opens and closes a TCP connection.
        request: Makes an HTTPS request on a fresh connection.
    """

    def __init__(self, connect: Attempt, request: Attempt) -> None:
        self.connects, self.requests = Attempts(), Attempts()
        self._over = threading.Event()
        self._threads = [
            log.thread(self._attempt, connect, self.connects, False),
            log.thread(self._attempt, request, self.requests, True),
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _attempt(self, attempt: Attempt, attempts: Attempts, retry: bool) -> None:
        while not self._over.is_set():
            started = time.monotonic()
            problem = attempt()
            if problem and (retry or problem.startswith(ACCEPTED_THEN_RESET)):
                attempts.remember(problem)
                if retry:
                    self._over.wait(RETRY_AFTER_S)
                problem = attempt()
                attempts.retried += problem is None
            if problem:
                attempts.remember(problem)
            attempts.note(problem is None, time.monotonic())
            self._over.wait(max(0.0, started + EVERY_S - time.monotonic()))
