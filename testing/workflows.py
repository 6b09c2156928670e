"""Workflows of GitHub: linted, and their steps run, as GitHub does it."""

import subprocess
import sys
from pathlib import Path

from boot_media.tools import cache_dir


def actionlint(workflow: Path) -> str:
    """Return what actionlint finds in a workflow, and shellcheck in its scripts."""
    shellcheck = Path(sys.executable).with_name("shellcheck")
    command: list[Path | str] = [cache_dir() / "bin" / "actionlint", "-shellcheck", shellcheck, workflow]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def bash(script: str) -> list[str]:
    """Return the command that runs a step of `shell: bash`."""
    return ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
