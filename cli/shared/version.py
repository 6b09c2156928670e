"""`--version`: the release, and the commit where this is a git clone."""

import argparse
import tomllib
from typing import Any

from base.git import reason_of, run_git
from cli.shared.command_line import PROGRAM


class Version(argparse.Action):
    """Prints the version, and ends the command."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """See `argparse.Action`."""
        print(f"{parser.prog} {version()}")
        parser.exit()


def version() -> str:
    """Return `0.1.0, commit 1a2b3c4`; with `-dirty` behind it, files differ from that commit."""
    release = tomllib.loads((PROGRAM / "pyproject.toml").read_text())["project"]["version"]
    if not (PROGRAM / ".git").exists():
        return str(release)
    described = run_git(PROGRAM, "describe", "--always", "--dirty", "--exclude=*")
    return f"{release}, commit {described.stdout.strip() or 'unknown: ' + reason_of(described)}"
