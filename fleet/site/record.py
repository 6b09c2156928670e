"""The record of a site's updates: a line for each that began, with who approved it. None begins a second time."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from base.errors import OkdBaremetalError
from base.files import PRIVATE
from fleet.messages import Step


class UnapprovedError(OkdBaremetalError):
    """An update has no approval that counts here: a person may approve its preview."""


def record_start(file: Path, step: Step, approver: str, key: str) -> None:
    """Write the line of an update that begins now.

    Args:
        file: The record.
        step: The update, with its approval.
        approver: Who approved it; empty if nobody had to.
        key: The public key of that approver.

    Raises:
        UnapprovedError: This order, or another with the same approval, has begun before.
    """
    now = datetime.now(UTC).isoformat(timespec="seconds")
    line = json.dumps({"begun": now, "approver": approver, "key": key, **asdict(step)})
    with open(file, "a+", encoding="utf-8", opener=partial(os.open, mode=PRIVATE)) as record:
        fcntl.flock(record, fcntl.LOCK_EX)
        record.seek(0)
        before = record.read()
        if any(_is_of(entry, step) for entry in _entries(before)):
            raise UnapprovedError("this order has begun before, and a server may have repeated it")
        # A host that lost its power may have left half a line.
        gap = "" if not before or before.endswith("\n") else "\n"
        record.write(f"{gap}{line}\n")
        record.flush()
        os.fsync(record.fileno())


def has_begun(file: Path, cluster: str) -> bool:
    """Return whether an update of a cluster has ever begun at this site."""
    return file.exists() and any(entry["cluster"] == cluster for entry in _entries(file.read_text(encoding="utf-8")))


def _entries(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        with suppress(ValueError, RecursionError):
            yield json.loads(line)


def _is_of(entry: dict[str, Any], step: Step) -> bool:
    """Return whether an entry is of the same order, or of one with the same approval."""
    if step.approval:
        return bool(entry["approval"]) and entry["approval"]["signature"] == step.approval.signature
    return all(entry[name] == value for name, value in asdict(step).items())
