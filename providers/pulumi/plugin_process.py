"""The processes of the Pulumi engine that runs this program."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
ENGINE = "pulumi"


def end_plugin(name: str) -> None:
    """Kill the plugin `name` of this program's engine, which reports the call that it was waiting for as failed."""
    engine = _engine(os.getpid())
    for pid in _children(engine) if engine else ():
        if _program(pid) == f"pulumi-resource-{name}":
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _engine(pid: int) -> int | None:
    """Return the nearest ancestor that is Pulumi's engine, or None."""
    while pid:
        if _program(pid) == ENGINE:
            return pid
        pid = _parent(pid)
    return None


def _children(parent: int) -> Iterator[int]:
    for entry in PROC.iterdir():
        if entry.name.isdigit() and _parent(int(entry.name)) == parent:
            yield int(entry.name)


def _parent(pid: int) -> int:
    """Return the parent of a process; 0 if it is gone."""
    try:
        # The name before it, in brackets, may have blanks and brackets.
        return int((PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _program(pid: int) -> str:
    """Return the name by which a process was started; empty if it is gone."""
    try:
        return Path(os.fsdecode((PROC / str(pid) / "cmdline").read_bytes().partition(b"\0")[0])).name
    except OSError:
        return ""
