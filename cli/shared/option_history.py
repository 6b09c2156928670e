"""When a line of a stack's options was written, by git."""

import re
from datetime import UTC, datetime
from pathlib import Path

from base.git import reason_of, run_git
from base.yaml_text import lines_of
from cli.shared.command_line import stack_file
from cluster.files import read_text
from cluster.stack_file import PREFIX

NEVER = "0" * 40
"""The commit that git blames for a line that is not committed."""


def written(stack: str, option: str, host: str) -> datetime | str:
    """Return when the line of an option for a host was written, or why nobody can tell; of several lines, the oldest.

    That is the author's date of the last commit that changed the line: rebasing it does not renew it.
    """
    lines = lines_of(read_text(stack_file(stack)), "config", f"{PREFIX}{option}", host)
    if not lines:
        return "the stack's file has no plain line for it"
    here = Path()
    if run_git(here, "rev-parse", "--is-shallow-repository").stdout.strip() == "true":
        return "this clone has no history. Fix: fetch all of it (`fetch-depth: 0`, `GIT_DEPTH: 0`)"
    each = [f"-L{line},{line}" for line in lines]
    blamed = run_git(here, "blame", "--porcelain", *each, "--", str(stack_file(stack)))
    if blamed.returncode:
        outside = "not a git repository" in blamed.stderr
        return "the stack's file is in no git repository" if outside else f"refused by git: {reason_of(blamed)}"
    if re.search(f"^{NEVER}", blamed.stdout, re.M):
        return "it is not committed"
    dates = re.findall(r"^author-time (\d+)$", blamed.stdout, re.M)
    return datetime.fromtimestamp(min(map(int, dates)), UTC) if dates else "git does not date it"
