"""The writes of a run: each is a line of its log before it is made, and one that its write plan lacks is not made.

A write plan lists the writes that were approved, by resource (docs/reference/write-plan.md).
"""

import hashlib
import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from base import log
from base.errors import MISSHAPEN, UnplannedWriteError
from base.files import read_file
from base.log_entries import Event
from base.writes import Write

PLAN_VARIABLE = "OKD_BAREMETAL_WRITE_PLAN"
"""Names the file of the write plan, in the environment of a run that has one."""
FIX = "see docs/explanation/approvals.md; review what `up` would do now, and approve that"


@dataclass(frozen=True)
class _Plan:
    sha256: str
    """Digest of the file."""
    by_resource: dict[str, frozenset[str]]


def make(write: Write) -> None:
    """Write the line of a write that its caller makes next.

    Raises:
        UnplannedWriteError: The run has a write plan, which lacks it for the resource that is worked on; or no log.
    """
    if plan := _plan():
        resource = log.resource()
        if str(write) not in plan.by_resource.get(resource, ()):
            what = (
                f"not made: {write.action}; the approved write plan has no such write of {resource or 'no resource'}"
            )
            raise UnplannedWriteError(what, where=write.target, fix=FIX)
    log.line(Event.WRITE, str(write))
    if plan and not log.is_written():  # also since this very line did not fit on the disk
        what = f"not made: {write.action}; the log of this run cannot be written, so nobody could verify it"
        raise UnplannedWriteError(
            what, where=write.target, fix="make log/ writable, with room on its disk, and run the update again"
        )


def name_plan() -> None:
    """Write the line that names the write plan of this run by its digest, if it has one."""
    if plan := _plan():
        log.line(Event.PLAN, plan.sha256)


def _plan() -> _Plan | None:
    file = os.environ.get(PLAN_VARIABLE)
    return _read(file) if file else None


@cache
def _read(file: str) -> _Plan:
    try:
        content = read_file(Path(file))
        writes = json.loads(content)["writes"]
        by_resource = {resource: frozenset(allowed) for resource, allowed in writes.items()}
    except (OSError, *MISSHAPEN) as error:
        what = f"the write plan of this run cannot be read ({type(error).__name__}), so no write is made"
        raise UnplannedWriteError(what, where=file, fix=FIX) from None
    return _Plan(hashlib.sha256(content).hexdigest(), by_resource)
