"""The log of a run: each step, each call of a wire and each error, beside its resource and machine, secrets masked.

One provider process serves one run of Pulumi, in the project's root, so the file is the process's. A preview works on
no resource, and leaves none.
"""

import logging
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, replace
from pathlib import Path

from base.clock import SYSTEM_CLOCK
from base.errors import OkdBaremetalError
from base.log_entries import WIRES, Action, Event
from base.log_file import RunLog, new_path, runs_of
from base.progress import Progress

RUNS = 20
"""Logs kept per stack. An installation with its failed attempts takes a handful, so all of one are there together."""

_log = logging.getLogger(__name__)
_sources = (_log, logging.getLogger(WIRES))
_opening = threading.Lock()


@dataclass(frozen=True)
class _Work:
    """What a line is about; see `Entry`."""

    resource: str = ""
    machine: str = ""


_work: ContextVar[_Work | None] = ContextVar("_work", default=None)


def opened(path: Path) -> RunLog:
    """Write all lines of this process to the log at `path` from now on."""
    run = RunLog(path)
    run.addFilter(_add_work)
    for logger in _sources:
        logger.setLevel(logging.DEBUG)
        logger.addHandler(run)
    return run


def close() -> None:
    """Write no more lines."""
    if run := _run():
        for logger in _sources:
            logger.setLevel(logging.NOTSET)
            logger.removeHandler(run)
        run.close()


def stack_of(urn: str) -> str:
    """Return the stack in a resource's URN."""
    return urn.partition("::")[0].rpartition(":")[2]


@contextmanager
def working(action: Action, urn: str, machine: str, begun: Callable[[Path], None]) -> Iterator[None]:
    """Log the block as work on the resource `urn`; the first such block of a process opens the run's log.

    An error of this program ends with the path of the log.

    Args:
        action: What is done with the resource.
        urn: The resource. Empty: the block is not logged.
        machine: Its host or VM; may be empty.
        begun: Called with the path of the run's log when the log is opened.
    """
    run = _started(stack_of(urn), begun) if urn and SYSTEM_CLOCK.engine else None
    if run is None:
        yield
        return
    before = _work.set(_work_of(urn, machine))
    start_s = time.monotonic()
    _write(Event.BEGIN, f"{action}: begins", step=action)
    try:
        yield
        took_s = round(time.monotonic() - start_s, 3)
        _write(Event.END, f"{action}: done in {took_s:.1f} s", step=action, seconds=took_s)
    except OkdBaremetalError as error:
        failed(error)
        if run.is_open:
            error.add_note(f"log: {run.path}")
        raise
    except BaseException as error:
        # Its message may quote an input, so only what it is and where it was raised is written.
        frames = traceback.extract_tb(error.__traceback__)
        places = ", ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames)
        _write(Event.ERROR, f"{type(error).__name__} at {places}")
        raise
    finally:
        _work.reset(before)


def about(machine: str) -> None:
    """Let all further lines of this context be about one machine of the resource."""
    _work.set(replace(_work.get() or _Work(), machine=machine))


def resource() -> str:
    """Return the resource that this context works on, as its lines name it; empty if it works on none."""
    work = _work.get()
    return work.resource if work else ""


def is_written() -> bool:
    """Return whether the lines of this process still reach a file."""
    run = _run()
    return run is not None and run.is_open


def thread(function: Callable[..., None], *arguments: object) -> threading.Thread:
    """Return a daemon thread whose lines are about the work of the one that makes it."""
    return threading.Thread(target=copy_context().run, args=(function, *arguments), daemon=True)


def step(progress: Progress, urn: str) -> None:
    """Log a line of progress; `urn` names its resource where the context does not."""
    event = Event.STEP if progress.took_s is None else Event.END
    _write(event, str(progress), urn=urn, step=progress.step, seconds=progress.took_s)


def line(event: Event, text: str, urn: str = "") -> None:
    """Log a line without a step."""
    _write(event, text, urn=urn)


def failed(error: OkdBaremetalError) -> None:
    """Log an error in full, each fault about its own machine."""
    for fault in error.faults:
        work = _work.get() or _Work()
        before = _work.set(replace(work, machine=fault.machine or work.machine))
        for text in str(fault).splitlines():
            _write(Event.ERROR, f"{type(error).__name__}: {text.strip()}")
        _work.reset(before)


def _write(event: Event, text: str, **fields: object) -> None:
    _log.info(text, extra={"event": event, **fields})


def _add_work(record: logging.LogRecord) -> bool:
    """Give a record the resource and machine of its context."""
    work = _work.get() or _work_of(getattr(record, "urn", ""))
    record.resource, record.machine = work.resource, work.machine
    return True


def _work_of(urn: str, machine: str = "") -> _Work:
    *_, kind, name = ["", "", *urn.split("::")]
    return _Work(f"{kind.rpartition(':')[2]}::{name}" if urn else "", machine)


def _run() -> RunLog | None:
    return next((handler for handler in _log.handlers if isinstance(handler, RunLog)), None)


def _started(stack: str, begun: Callable[[Path], None]) -> RunLog:
    """Return the log of this process, which the first call opens, and removes the oldest ones."""
    with _opening:
        if run := _run():
            return run
        run = opened(new_path(stack))
        begun(run.path)
        for old in runs_of(stack)[:-RUNS]:
            with suppress(OSError):
                old.unlink()
        return run
