"""Git repositories of tests."""

import shutil
import subprocess
from pathlib import Path

from testing.checkout import ROOMS, ROOT


def git(folder: Path, *words: str) -> str:
    """Run git in a repository, as a made-up user; return its output."""
    command = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def committed(folder: Path) -> None:
    """Make a repository of a folder, with all its files in one commit."""
    git(folder, "init", "-q")
    git(folder, "add", "--all")
    git(folder, "commit", "-qm", "first")


def files(folder: Path, *patterns: str) -> list[str]:
    """Return the files that git has or would add, as they are now, by their paths in the repository.

    Args:
        folder: The repository.
        patterns: As git's; none: all files.
    """
    shown = ("--cached", "--others", "--exclude-standard", "--deduplicate", "-z")
    names = git(folder, "ls-files", *shown, *patterns).split("\0")
    return [name for name in names if name and (folder / name).exists()]


def clone_of_program(folder: Path) -> None:
    """Make a clone of this checkout as it is now, with all files that git does not ignore in one commit.

    The compiled files of the program, which git ignores, are beside them: what runs there need not compile again.
    """
    for room in ROOMS:
        for compiled in (ROOT / room).rglob("__pycache__"):
            shutil.copytree(compiled, folder / compiled.relative_to(ROOT), ignore=shutil.ignore_patterns("*.pyc.*"))
    for name in files(ROOT):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    committed(folder)
    git(folder, "remote", "add", "origin", "https://git.example.com/okd-baremetal.git")
