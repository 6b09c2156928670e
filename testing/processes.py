"""Processes that a test or the rehearsal has started, also those that outlived the one that started them."""

import os
import signal
from contextlib import suppress
from pathlib import Path


def kill(setting: str, program: str = "") -> None:
    """Kill the processes whose environment has a setting that begins so, and whose command line holds `program`."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            ours = setting.encode() in (process / "environ").read_bytes()
            if ours and program.encode() in (process / "cmdline").read_bytes():
                os.kill(int(process.name), signal.SIGKILL)
