"""Lets the provider process do many things at once: its calls (docs/adr/0016), and the reads of many BMCs."""

import threading
import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from base import log

T = TypeVar("T")

WORKERS = 256
"""Upper limit of threads; a call starts one if none is idle. The engine's `--parallel` limits the calls."""


def widen() -> None:
    """Let the thread pool that runs this call grow to `WORKERS`.

    `pulumi.dynamic` fixes the limit at four and has no setting. This function reaches the pool through the arguments
    of the current thread, and changes nothing if they are not those that `ThreadPoolExecutor` passes.
    """
    arguments = getattr(threading.current_thread(), "_args", ())
    reference = arguments[0] if arguments else None
    pool = reference() if isinstance(reference, weakref.ref) else None
    if isinstance(pool, ThreadPoolExecutor) and getattr(pool, "_max_workers", WORKERS) < WORKERS:
        pool._max_workers = WORKERS


def by_host(hosts: Iterable[str], call: Callable[[str], T]) -> dict[str, T]:
    """Call `call` with each host, side by side, and return the results; its lines in the log are about that host."""
    names = list(hosts)

    def called(host: str) -> T:
        log.about(host)
        return call(host)

    contexts = [copy_context() for _ in names]
    with ThreadPoolExecutor(WORKERS) as pool:
        results = pool.map(lambda context, host: context.run(called, host), contexts, names)
        return dict(zip(names, results, strict=True))
