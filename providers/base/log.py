"""The log of a run: a line of JSON for each step, request and answer, libvirt call, probe and error, secrets masked.

One provider process serves one run of Pulumi, in the project's root, so the file is the process's. A preview works on
no resource, and leaves none.
"""

import json
import logging
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from providers.base import aftermath
from providers.base.clock import SYSTEM_CLOCK
from providers.base.errors import OkdBaremetalError

FOLDER = Path("log")
SUFFIX = ".jsonl"
BEGUN = "%Y-%m-%dT%H%M%S.%f"
"""A log's name, in UTC; without the last three digits, and with a Z."""
RUNS = 20
"""Logs kept per stack. An installation with its failed attempts takes a handful, so all of one are there together."""
RUN_BYTES = 64 * 2**20
"""Size from which a run writes only steps and errors.

A request with its answer has 1.7 KB, and a server takes about 60 besides its polls (emulator, 2026-11). With a poll
every 10 s for 20 minutes that is 0.3 MiB per server: 64 MiB hold 200.
"""
BRIEF = ("step", "error")
"""The kinds that are written whatever the size: how a run ends must not be lost, and they are few."""
WIRES = "wires"
KINDS = {"libvirt": "libvirt", "segment": "probe"}
"""Kind of a line by the wire that writes it; every other wire writes requests."""
OWNER_ALONE, FOLDER_OF_OWNER = 0o600, 0o700


@dataclass(frozen=True)
class Work:
    """What a line is about.

    Args:
        resource: `<class>::<name>`.
        machine: Its host or VM; empty if it is about none, or about several.
    """

    resource: str = ""
    machine: str = ""


_work: ContextVar[Work | None] = ContextVar("_work", default=None)
_opening = threading.Lock()


class RunLog(logging.Handler):
    """The file of this process's run. A failure to write it stops the log, and never the work."""

    def __init__(self, path: Path) -> None:
        super().__init__(logging.DEBUG)
        self.path, self._bytes, self._is_full = path, 0, False
        self._turn = threading.Lock()
        self._file: int | None = None
        try:
            for folder in (path.parent.parent, path.parent):
                folder.mkdir(mode=FOLDER_OF_OWNER, exist_ok=True)
            self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, OWNER_ALONE)
        except OSError as error:
            self._stop(error)

    @property
    def is_open(self) -> bool:
        """Whether lines still reach the file."""
        return self._file is not None

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line of a wire."""
        try:
            wire = record.name.removeprefix(f"{WIRES}.").partition(".")[0]
            kind = KINDS.get(wire, "request")
            self.write(kind, record.getMessage(), _work.get() or Work(), record.created)
        except Exception:  # it would fail the work that logs: logging's convention is to report it
            self.handleError(record)

    def write(self, kind: str, text: str, work: Work, at: float) -> None:
        """Write one line, with one call of the system: what was done before a kill is in the file."""
        with self._turn:
            if self._is_full and kind not in BRIEF:
                return
            self._append(kind, text, work, at)
            if self._bytes >= RUN_BYTES and not self._is_full:
                self._is_full = True
                full = f"the log has {RUN_BYTES // 2**20} MiB: from here on only steps and errors are written"
                self._append("step", full, Work(), at)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
        super().close()

    def _append(self, kind: str, text: str, work: Work, at: float) -> None:
        if self._file is None:
            return
        time_ = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        about = {"resource": work.resource, "machine": work.machine}
        line = {"time": time_, **{key: value for key, value in about.items() if value}, "kind": kind, "text": text}
        content = f"{json.dumps(line)}\n".encode()
        try:
            self._bytes += os.write(self._file, content)
        except OSError as error:
            self._stop(error)

    def _stop(self, error: OSError) -> None:
        print(f"{self.path}: no log is written: {error.strerror}", file=sys.stderr, flush=True)
        if self._file is not None:
            os.close(self._file)
            self._file = None


def runs_of(stack: str) -> list[Path]:
    """Return the logs of a stack's runs, oldest first."""
    return sorted((FOLDER / stack).glob(f"*{SUFFIX}"))


def begun_at(log: Path) -> datetime:
    """Return when a log was begun, by its name."""
    return datetime.strptime(log.stem, f"{BEGUN}Z").replace(tzinfo=UTC)


@contextmanager
def working(action: str, urn: str, machine: str = "") -> Iterator[None]:
    """Log the block as work on the resource `urn`; the first such block of a process starts the run's log.

    An error of this program ends with the path of the log.

    Args:
        action: What is done with the resource.
        urn: The resource. Empty: the block is not logged.
        machine: Its host or VM.
    """
    run = _started(urn.partition("::")[0].rpartition(":")[2]) if urn and SYSTEM_CLOCK.engine else None
    if run is None:
        yield
        return
    before = _work.set(_work_of(urn, machine))
    begun = time.monotonic()
    step(f"{action}: begins")
    try:
        yield
        step(f"{action}: done in {time.monotonic() - begun:.1f} s")
    except OkdBaremetalError as error:
        failed(error)
        if run.is_open:
            error.add_note(f"log: {run.path}")
        raise
    except BaseException as error:
        # Its message may quote an input, so only what it is and where it was raised is written.
        frames = traceback.extract_tb(error.__traceback__)
        places = ", ".join(f"{Path(each.filename).name}:{each.lineno} {each.name}" for each in frames)
        _write("error", f"{type(error).__name__} at {places}")
        raise
    finally:
        _work.reset(before)


def about(machine: str) -> None:
    """Let all further lines of this context be about one machine of the resource."""
    _work.set(replace(_work.get() or Work(), machine=machine))


def thread(function: Callable[..., None], *arguments: object) -> threading.Thread:
    """Return a daemon thread whose lines are about the work of the one that makes it."""
    return threading.Thread(target=copy_context().run, args=(function, *arguments), daemon=True)


def step(text: str, urn: str = "") -> None:
    """Log what is reported to the operator; `urn` names its resource where the context does not."""
    _write("step", text, urn)


def failed(error: OkdBaremetalError) -> None:
    """Log an error in full."""
    for line in str(error).splitlines():
        _write("error", f"{type(error).__name__}: {line}")


def _write(kind: str, text: str, urn: str = "") -> None:
    if run := _run():
        run.write(kind, text, _work.get() or _work_of(urn), time.time())


def _work_of(urn: str, machine: str = "") -> Work:
    *_, kind, name = ["", "", *urn.split("::")]
    return Work(f"{kind.rpartition(':')[2]}::{name}" if urn else "", machine)


def _run() -> RunLog | None:
    handlers = logging.getLogger(WIRES).handlers
    return next((each for each in handlers if isinstance(each, RunLog)), None)


def _started(stack: str) -> RunLog:
    """Return the log of this process, which the first call opens, and removes the oldest ones."""
    with _opening:
        if run := _run():
            return run
        began = datetime.now(UTC).strftime(BEGUN)[:-3]
        run = RunLog(FOLDER / stack / f"{began}Z{SUFFIX}")
        aftermath.start(run.path)
        for old in runs_of(stack)[:-RUNS]:
            with suppress(OSError):
                old.unlink()
        logger = logging.getLogger(WIRES)
        logger.setLevel(logging.DEBUG)
        logger.addHandler(run)
        return run
