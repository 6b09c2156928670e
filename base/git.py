"""Git, in the repositories of this program and of its sites."""

import os
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from base.errors import ConfigError, Fault, one_line
from base.masking import mask_logins

NOT_INSTALLED = 127
"""The exit code of a shell that finds no such program."""
OF_ONE_REPOSITORY = frozenset(
    f"GIT_{name}"
    for name in (
        *("ALTERNATE_OBJECT_DIRECTORIES", "COMMON_DIR", "DIR", "GRAFT_FILE", "IMPLICIT_WORK_TREE", "INDEX_FILE"),
        *("INTERNAL_SUPER_PREFIX", "NO_REPLACE_OBJECTS", "OBJECT_DIRECTORY", "PREFIX", "REPLACE_REF_BASE"),
        *("SHALLOW_FILE", "WORK_TREE"),
    )
)
"""The variables that git gives its hooks, which bind any git to their repository: `git rev-parse --local-env-vars`.

Those of the configuration are not among them: a CI hands git its login and `safe.directory` by them.
"""


def run_git(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run git in the repository of a folder, and return what it prints, also if it fails or is not installed."""
    command = ["git", "-C", str(folder), *words]
    env = {name: value for name, value in os.environ.items() if name not in OF_ONE_REPOSITORY}
    try:
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False)  # noqa: S603
    except FileNotFoundError:
        return subprocess.CompletedProcess(command, NOT_INSTALLED, "", "git is not installed")


def git(folder: Path, *words: str) -> str:
    """Run git in a folder, and return what it prints, without white space around it.

    Raises:
        ConfigError: It fails; the fault has git's reason.
    """
    done = run_git(folder, *words)
    if done.returncode:
        fix = "install git" if done.returncode == NOT_INSTALLED else ""
        raise ConfigError(Fault(str(folder), f"git {words[0]} failed: {reason_of(done)}", fix))
    return done.stdout.strip()


def tracked(files: Iterable[Path]) -> frozenset[Path]:
    """Return those of the files that git tracks in their repositories; none without git."""
    of_root, found = defaultdict[Path, list[Path]](list), set[Path]()
    for file in files:
        if root := next((folder for folder in file.resolve().parents if (folder / ".git").exists()), None):
            of_root[root].append(file)
    for root, inside in of_root.items():
        by_name = {str(file.resolve().relative_to(root)): file for file in inside}
        listed = run_git(root, "--literal-pathspecs", "ls-files", "-z", "--", *by_name).stdout.split("\0")
        found |= {by_name[name] for name in listed if name in by_name}
    return frozenset(found)


def reason_of(failed: subprocess.CompletedProcess[str]) -> str:
    """Return, as one line without the logins in URLs, why git failed."""
    return one_line(mask_logins(" ".join(failed.stderr.split()))) or f"exit code {failed.returncode}"
