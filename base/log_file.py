"""The files of the logs: one per run, below the project's root; only their owner can read them."""

import logging
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from base.files import PRIVATE, PRIVATE_FOLDER
from base.log_entries import Event, JsonLine

FOLDER = Path("log")
SUFFIX = ".jsonl"
BEGUN = "%Y-%m-%dT%H%M%S.%f"
"""A log's name, in UTC; without the last three digits, and with a Z."""
RUN_BYTES = 64 * 2**20
"""Size from which a run no longer writes the lines of the wires, which have the level DEBUG.

A request with its answer has 1.7 KB, and a server takes about 60 besides its polls (emulator, 2026-11). A poll with
the same answer as before has 0.4 KB. With one every 10 s for 20 minutes that is 0.15 MiB per server: 64 MiB hold 440.
"""


class RunLog(logging.Handler):
    """Appends to the file of a run. A failure to write it stops the log, and never the work."""

    def __init__(self, path: Path) -> None:
        super().__init__(logging.DEBUG)
        self.path, self._bytes = path, 0
        self._file: int | None = None
        self.setFormatter(JsonLine())
        try:
            for folder in (path.parent.parent, path.parent):
                folder.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
            self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, PRIVATE)
        except OSError as error:
            self._stop(error)

    @property
    def is_open(self) -> bool:
        """Whether lines still reach the file."""
        return self._file is not None

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line, with one call of the system: what was done before a kill is in the file.

        A disk that becomes full takes a part of it, without an error; the call for its rest has one.
        """
        if self._file is None:
            return
        try:
            line = f"{self.format(record)}\n".encode()
            while line:
                done = os.write(self._file, line)
                self._bytes, line = self._bytes + done, line[done:]
        except OSError as error:
            self._stop(error)
        except Exception:  # it would fail the work that logs: logging's convention is to report it
            self.handleError(record)
        if self._bytes >= RUN_BYTES and self.level < logging.INFO:
            self.setLevel(logging.INFO)
            full = f"the log has {RUN_BYTES // 2**20} MiB: from here on only steps and errors are written"
            self.emit(logging.makeLogRecord({"name": __name__, "event": Event.INFO, "msg": full}))

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
        super().close()

    def _stop(self, error: OSError) -> None:
        print(f"{self.path}: no log is written: {error.strerror}", file=sys.stderr, flush=True)
        self.close()


def new_path(stack: str) -> Path:
    """Return the path of the log of a run that begins now."""
    return FOLDER / stack / f"{datetime.now(UTC).strftime(BEGUN)[:-3]}Z{SUFFIX}"


def runs_of(stack: str) -> list[Path]:
    """Return the logs of a stack's runs, oldest first. One from the future, of a wrong clock, is older yet."""
    now = new_path(stack).name
    return sorted((FOLDER / stack).glob(f"*{SUFFIX}"), key=lambda log: (log.name <= now, log))


def rehearsed_runs_of(stack: str) -> list[Path]:
    """Return the logs of the runs of a stack's last rehearsal, oldest first."""
    return sorted(rehearsal_folder(stack).glob(f"*{SUFFIX}"))


def rehearsal_folder(stack: str) -> Path:
    """Return the folder of those logs, which is beside the rehearsal's report."""
    return Path("report") / stack / FOLDER


def begun_at(log: Path) -> datetime:
    """Return when a log was begun, by its name."""
    return datetime.strptime(log.stem, f"{BEGUN}Z").replace(tzinfo=UTC)
