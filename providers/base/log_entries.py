"""The lines of a run's log, read back."""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple


class Entry(NamedTuple):
    """One line of a log. A torn one has its text alone, and the kind `torn`."""

    seconds: float | None
    """Since the first line."""
    kind: str
    resource: str
    machine: str
    text: str


def entries_of(path: Path) -> Iterator[Entry]:
    """Return the lines of a log."""
    return entries_in(path.read_text(encoding="utf-8", errors="replace").splitlines())


def entries_in(lines: Iterable[str]) -> Iterator[Entry]:
    """Yield the lines of a log's text."""
    start: datetime | None = None
    for each in lines:
        try:
            found = json.loads(each)
            at = datetime.fromisoformat(found["time"])
            start = start or at
            kind, resource, machine, text = (
                str(found.get(key, "")) for key in ("kind", "resource", "machine", "text")
            )
            seconds = (at - start).total_seconds()
        except (ValueError, KeyError, TypeError, AttributeError):
            yield Entry(None, "torn", "", "", each)
        else:
            yield Entry(seconds, kind, resource, machine, text)
