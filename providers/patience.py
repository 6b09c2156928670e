"""Requests to the API of a running cluster that are made once, not by polling: they wait for an answer.

When a server of the control plane dies, the API is gone until the VIP has moved, haproxy has missed the server, and
etcd has a leader again: with a real Kubernetes on emulated machines, longer than 10 s (2026-11).
"""

from collections.abc import Callable
from typing import TypeVar

from base.clock import Clock
from base.errors import words_of
from base.progress import Progress, Report
from base.shown import short
from wires.api.resources import AnsweredError

T = TypeVar("T")
WITHIN_S, AGAIN_S = 60.0, 2.0
ASKING = "asking the API"


def patiently(ask: Callable[[], T], clock: Clock, report: Report) -> T:
    """Return what the API, or an etcd that it leads to, says.

    Args:
        ask: Makes a request that may be made again.
        clock: Measures the wait.
        report: Shows that no answer has come yet.

    Raises:
        OSError: It has not said anything for `WITHIN_S` seconds, or only that it is to be asked later; or it says no.
    """
    deadline = clock.now() + WITHIN_S
    while True:
        try:
            return ask()
        except AnsweredError:
            raise
        except OSError as error:
            if (left_s := deadline - clock.now()) <= 0:
                raise
            said = short(words_of(error))
            report(Progress(ASKING, f"not done yet ({said}); at most {left_s:.0f} s left"))
        clock.sleep(AGAIN_S)
