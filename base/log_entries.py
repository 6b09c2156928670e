"""The lines of a run's log: one JSON object for each event, with fields for programs and a text for people."""

import json
import logging
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from base.errors import MISSHAPEN

WIRES = "wires"


class Event(StrEnum):
    """What a line records. The line of a wire has the wire's name instead, such as `redfish`."""

    BEGIN = "begin"
    """Work on a resource begins; the step is the `Action`."""
    STEP = "step"
    """A step of that work, or its progress."""
    END = "end"
    """Work on a resource or a machine has succeeded, after `seconds`."""
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    PLAN = "plan"
    """The digest of the write plan that this run may carry out."""
    WRITE = "write"
    """A write that is made next, as `base.writes.Write` prints it."""
    NOTICE = "notice"
    """Whether the web hook's notice was sent."""
    TORN = "torn"
    """Only read, never written: a line that a kill cut short."""


class Action(StrEnum):
    """What a run does with a resource."""

    CREATE = "create"
    READ = "read"
    UPDATE = "update"
    DELETE = "delete"


class Entry(NamedTuple):
    """One line of a log. A torn line has only its text; a line of an earlier release has no event."""

    at_s: float | None
    """Seconds since the first line."""
    event: str
    resource: str
    """`<class>::<name>`."""
    machine: str
    """The host or VM; empty if the line is about none, or about several."""
    step: str
    seconds: float | None
    """How long the work took that has ended."""
    text: str


class JsonLine(logging.Formatter):
    """Writes a record as a line. Fields without a value are left out."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        wire = record.name.removeprefix(f"{WIRES}.").split(".")[0]
        given = {key: getattr(record, key, None) for key in ("resource", "machine", "event", "step", "seconds")}
        line = {"time": at, **given, "event": given["event"] or wire, "text": record.getMessage()}
        return json.dumps({key: value for key, value in line.items() if value not in (None, "")})


def entries_of(path: Path) -> Iterator[Entry]:
    """Return the lines of a log."""
    return entries_in(path.read_text(encoding="utf-8", errors="replace").splitlines())


def entries_in(lines: Iterable[str]) -> Iterator[Entry]:
    """Yield the lines of a log's text."""
    start: datetime | None = None
    for line in lines:
        try:
            fields = json.loads(line)
            at = datetime.fromisoformat(fields["time"])
            start = start or at
            event, resource, machine, step, text = (
                str(fields.get(key, "")) for key in ("event", "resource", "machine", "step", "text")
            )
            seconds = float(fields["seconds"]) if "seconds" in fields else None
            at_s = (at - start).total_seconds()
        except MISSHAPEN:
            yield Entry(None, Event.TORN, "", "", "", None, line)
        else:
            yield Entry(at_s, event, resource, machine, step, seconds, text)
