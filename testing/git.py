"""Git repositories of tests."""

import subprocess
from pathlib import Path


def git(folder: Path, *words: str) -> str:
    """Run git in a repository, as nobody in particular; return what it prints."""
    command = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def committed(folder: Path) -> None:
    """Make a repository of a folder, with all its files in one commit."""
    git(folder, "init", "-q")
    git(folder, "add", "--all")
    git(folder, "commit", "-qm", "first")
