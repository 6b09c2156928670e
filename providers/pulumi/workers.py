"""Lets the provider process serve more than four calls at once (docs/adr/0016)."""

import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

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
