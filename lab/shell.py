"""Run the tools that the lab is built with."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

_TAIL_LINES = 20


class LabError(Exception):
    """The lab could not build or start a part; the message has the command and the end of its output."""


def run(*command: str | Path, cwd: Path | None = None, stdin: str = "", env: Mapping[str, str] | None = None) -> str:
    """Run `command`, with `env` on top of this process's environment, and return its standard output.

    Raises:
        LabError: It is not installed or failed; the last lines of its output are in the message.
    """
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words,
            cwd=cwd,
            input=stdin,
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except FileNotFoundError as missing:
        raise LabError(f"{words[0]} is not installed; lab/packages.txt lists what the rehearsal needs") from missing
    if done.returncode != 0:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-_TAIL_LINES:])
        raise LabError(f"`{' '.join(words)}` ended with status {done.returncode}:\n{tail}")
    return done.stdout
