"""Workflows of GitHub: linted, and their steps run, as GitHub does it."""

import subprocess
import sys
from pathlib import Path

from boot_media.tools import cache_dir


def actionlint(workflow: Path) -> str:
    """Return the findings of actionlint in a workflow, and of shellcheck in its scripts."""
    shellcheck = Path(sys.executable).with_name("shellcheck")
    command: list[Path | str] = [cache_dir() / "bin" / "actionlint", "-shellcheck", shellcheck, workflow]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def assert_linted(workflow: Path, quoted: str, folder: Path) -> None:
    """Assert that the linters accept a workflow, and report a text in it that loses its quotes."""
    copy = folder / workflow.name
    copy.write_text(workflow.read_text())
    assert actionlint(copy) == ""
    copy.write_text(workflow.read_text().replace(f'"{quoted}"', quoted))
    assert "SC2086" in actionlint(copy)


def bash(script: str) -> list[str]:
    """Return the command that runs a step of `shell: bash`."""
    return ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
