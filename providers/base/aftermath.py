"""Starts what follows a run: a process that outlives the Pulumi CLI, draws the run's report and sends its notice.

The CLI itself tells nobody how a run ended: it closes this process before the end is known, and a kill ends both.
"""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

CLI = "pulumi"
PROGRAM = "cli.after_run"


def start(log: Path) -> None:
    """Start it for the run that writes `log`. A process that no CLI started has none; a failure stops no work."""
    with suppress(OSError):
        # The CLI starts each plugin as the leader of a process group of its own (pulumi/pulumi: cmdutil).
        cli = _parent_of(os.getpgrp())
        if _name_of(cli) != CLI:
            return
        end = os.pidfd_open(cli)
        try:
            # The site's folder comes not before this program (-P), and no pipe of the CLI is held open.
            subprocess.Popen(  # noqa: S603
                [sys.executable, "-P", "-m", PROGRAM, str(log), str(end)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # the CLI kills the plugin's whole group
                pass_fds=[end],
            )
        finally:
            os.close(end)


def _parent_of(pid: int) -> int:
    # Behind the name, which may have spaces and parentheses: state, parent.
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])


def _name_of(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
