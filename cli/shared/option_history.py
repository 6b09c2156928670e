"""When a line of a stack's options was written, by git."""

import re
import subprocess
from datetime import UTC, datetime

from base.yaml_text import line_of
from cli.shared.command_line import stack_file
from cluster.files import read_text
from cluster.options import PREFIX

NEVER = "0" * 40
"""The commit that git blames for a line that is not committed."""


def written(stack: str, option: str, host: str) -> datetime | str:
    """Return when the line of an option for a host was written, or why nobody can tell.

    That is the author's date of the last commit that changed the line: rebasing it does not renew it.
    """
    line = line_of(read_text(stack_file(stack)), "config", f"{PREFIX}{option}", host)
    if line is None:
        return "the stack's file has no plain line for it"
    if _git("rev-parse", "--is-shallow-repository") == "true":
        return "this clone has no history. Fix: fetch all of it (`fetch-depth: 0`, `GIT_DEPTH: 0`)"
    blamed = _git("blame", "--porcelain", "-L", f"{line},{line}", "--", str(stack_file(stack)))
    if blamed is None:
        return "the stack's file is in no git repository"
    if blamed.startswith(NEVER):
        return "it is not committed"
    found = re.search(r"^author-time (\d+)$", blamed, re.M)
    return datetime.fromtimestamp(int(found[1]), UTC) if found else "git does not date it"


def _git(*words: str) -> str | None:
    """Return what git prints, or None if it fails."""
    try:
        done = subprocess.run(["git", *words], capture_output=True, text=True, check=False)  # noqa: S603, S607
    except FileNotFoundError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
