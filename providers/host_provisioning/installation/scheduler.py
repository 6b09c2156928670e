"""Installs all hosts of a role at once: asyncio does the waiting, a bounded pool of threads makes the calls."""

import asyncio
import resource
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

from base import log
from base.clock import Clock, engine_gone
from base.errors import EngineGoneError, OkdBaremetalError, as_own, unexpected
from providers.host_provisioning.installation.engine import Installation
from wires.bmc.pacing import jittered
from wires.bmc.steps import Waits

# A call holds a thread until its BMC answers; 200 kept 1000 BMCs of 50 to 300 ms busy (measured 2026-11).
THREADS = 256
MAX_POLLS_PER_S = 300.0  # one request takes 2 ms of CPU, and one process has one core
WATCH_S = 0.5
REPORT = "report it with what `okd-baremetal gather` writes; the next `pulumi up` tries this host again"

Pause = Callable[[float], Awaitable[None]]


def install_all(
    installations: Mapping[str, Installation], *, clock: Clock, pause: Pause = asyncio.sleep
) -> dict[str, OkdBaremetalError]:
    """Drive every installation to its end; one that fails does not stop the others.

    Returns:
        The error of each host that failed.

    Raises:
        EngineGoneError: The Pulumi engine is gone; every host stops after its current request.
    """
    runs = {host: installation.run() for host, installation in installations.items()}
    allow_open_files()
    try:
        with ThreadPoolExecutor(max(1, min(THREADS, len(runs)))) as pool:
            return asyncio.run(_run_all(runs, pool, clock, pause))
    finally:
        for run in runs.values():
            run.close()


def allow_open_files() -> None:
    """Raise this process's limit of open files, usually 1024, to its maximum: a host needs up to five."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def _run_all(
    runs: Mapping[str, Waits], pool: ThreadPoolExecutor, clock: Clock, pause: Pause
) -> dict[str, OkdBaremetalError]:
    watch = asyncio.create_task(_watch(clock))
    work = asyncio.create_task(_run_hosts(runs, pool, pause))
    await asyncio.wait({watch, work}, return_when=asyncio.FIRST_COMPLETED)
    if watch.done():
        watch.result()
    # Whichever of the two still runs ends with this loop.
    return work.result()


async def _run_hosts(
    runs: Mapping[str, Waits], pool: ThreadPoolExecutor, pause: Pause
) -> dict[str, OkdBaremetalError]:
    shortest_s = len(runs) / MAX_POLLS_PER_S

    async def paced(seconds: float) -> None:
        await pause(max(seconds, jittered(shortest_s)))

    errors = await asyncio.gather(*(_run_host(host, run, pool, paced) for host, run in runs.items()))
    return {host: error for host, error in zip(runs, errors, strict=True) if error is not None}


async def _run_host(host: str, run: Waits, pool: ThreadPoolExecutor, pause: Pause) -> OkdBaremetalError | None:
    loop, context = asyncio.get_running_loop(), copy_context()
    context.run(log.about, host)

    def step() -> float | None:
        return context.run(next, run, None)

    try:
        # Each step runs on any thread of the pool, so a generator may continue on another thread than the one on
        # which it yielded. A `threading.Lock` or a `time_limit`, which belongs to its thread, must therefore not be
        # held over a yield. A test (test_yields.py) checks that. `lock.held` belongs to the process.
        while (seconds := await _started(loop, pool, step)) is not None:
            await pause(seconds)
    except EngineGoneError:
        raise
    except (OkdBaremetalError, OSError) as caught:
        error = as_own(caught)
    except Exception as caught:
        error = OkdBaremetalError(unexpected(caught), fix=REPORT)
    else:
        return None
    context.run(log.failed, error)
    return error


def _started(
    loop: asyncio.AbstractEventLoop, pool: ThreadPoolExecutor, step: Callable[[], float | None]
) -> asyncio.Future[float | None]:
    try:
        return loop.run_in_executor(pool, step)
    except RuntimeError:  # the interpreter ends: after a second Ctrl-C, the engine has this process end
        raise engine_gone() from None


async def _watch(clock: Clock) -> None:
    """Fail as soon as the clock notices that the Pulumi engine is gone."""
    while True:
        clock.sleep(0)
        await asyncio.sleep(WATCH_S)
