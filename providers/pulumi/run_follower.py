"""Starts what follows a run: a process that outlives the Pulumi CLI, draws the run's report and sends its notice.

The CLI itself tells nobody how a run ended: it closes this process before the end is known, and a kill ends both.
"""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

CLI = "pulumi"
PROGRAM = "cli.runs.after_run"
"""The follower's module. It is above this one, so it is run and never imported: tests/process runs this command."""


def start(log: Path) -> None:
    """Start it for the run that writes `log`. A process that no CLI started has none; a failure stops no work."""
    with suppress(OSError):
        # The CLI starts each plugin as the leader of a process group of its own (pulumi/pulumi: cmdutil).
        cli = _parent_of(os.getpgrp())
        if _name_of(cli) != CLI:
            return
        end = os.pidfd_open(cli)
        try:
            # No pipe of the CLI is held open.
            subprocess.Popen(  # noqa: S603
                command(log, end),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # the CLI kills the plugin's whole group
                pass_fds=[end],
            )
        finally:
            os.close(end)


def command(log: Path, cli: int) -> list[str]:
    """Return the follower's command.

    Args:
        log: Of the run.
        cli: A descriptor of the CLI's process (`pidfd_open`).
    """
    # -P: a module in the site's folder must not replace one of this program.
    return [sys.executable, "-P", "-m", PROGRAM, str(log), str(cli)]


def _parent_of(pid: int) -> int:
    # Behind the name, which may have spaces and parentheses: state, parent.
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])


def _name_of(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
