"""More than four calls at a time into this provider process (docs/adr/0016)."""

import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

WORKERS = 256
"""Threads at most, each started when a call finds no idle one. How many calls come is the engine's `--parallel`."""


def widen() -> None:
    """Let the thread pool that runs this call grow to `WORKERS`.

    `pulumi.dynamic` fixes it at four, and has no setting. The pool is reached by what its threads are started with,
    and left as it is where that looks otherwise.
    """
    arguments = getattr(threading.current_thread(), "_args", ())
    reference = arguments[0] if arguments else None
    pool = reference() if isinstance(reference, weakref.ref) else None
    if isinstance(pool, ThreadPoolExecutor) and getattr(pool, "_max_workers", WORKERS) < WORKERS:
        pool._max_workers = WORKERS
