"""Processes that a test or a rehearsal started, including those that outlived their parent."""

import os
import signal
from contextlib import suppress
from pathlib import Path


def accept_interrupts() -> None:
    """Have programs that this process starts accept SIGINT, which a script's background jobs ignore.

    Pulumi ends its language host by SIGINT, after each command: one that ignores it costs 5 s (3.259, 2026-11).
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)


def kill(setting: str, program: str = "") -> None:
    """Kill the processes whose environment contains `setting`, and whose command line contains `program`."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            is_started_here = setting.encode() in (process / "environ").read_bytes()
            if is_started_here and program.encode() in (process / "cmdline").read_bytes():
                os.kill(int(process.name), signal.SIGKILL)
