"""When a consent was written, by a real git."""

import subprocess
from collections.abc import Callable
from contextlib import chdir
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from cli.shared.option_history import written

FILE = "stacks/Pulumi.prod.yaml"
FIRST, LATER = datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 3, 4, tzinfo=UTC)
Commit = Callable[[dict[str, str], datetime], None]


def git(folder: Path, *words: str, at: datetime = FIRST) -> None:
    who = {f"GIT_{role}_{what}": "x@x" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        **who,
        "GIT_AUTHOR_DATE": f"{at:%s}",
        "GIT_COMMITTER_DATE": f"{at:%s}",
    }
    subprocess.run(["git", *words], cwd=folder, env=env, check=True, capture_output=True)


def save(folder: Path, consent: object) -> None:
    (folder / FILE).parent.mkdir(parents=True, exist_ok=True)
    config = {"okd-baremetal:consent": consent, "okd-baremetal:phase": "bootstrap"}
    (folder / FILE).write_text(yaml.safe_dump({"config": config}))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two commits: m0 is of the first; m1 was changed by the second, which the line of m0 moves in."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet")
    save(folder, {"m0": "A", "m1": "B"})
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message=one")
    save(folder, {"a": "first", "m0": "A", "m1": "C"})
    git(folder, "commit", "--quiet", "--all", "--message=two", at=LATER)
    return folder


def when(folder: Path, host: str, option: str = "consent") -> datetime | str:
    with chdir(folder):
        return written("prod", option, host)


def test_a_line_is_as_old_as_the_commit_that_changed_it(repository: Path) -> None:
    assert (when(repository, "m0"), when(repository, "m1"), when(repository, "a")) == (FIRST, LATER, LATER)


def test_a_line_that_is_not_committed_has_no_age(repository: Path) -> None:
    save(repository, {"m0": "Z", "m1": "C"})
    assert when(repository, "m0") == "it is not committed"
    assert when(repository, "m1") == LATER


def test_several_lines_are_as_old_as_the_oldest(repository: Path) -> None:
    for number, (disks, at) in enumerate(((["OLD"], FIRST), (["NEW", "OLD"], LATER))):
        save(repository, {"m0": disks})
        git(repository, "commit", "--quiet", "--all", f"--message={number}", at=at)
    assert when(repository, "m0") == FIRST
    save(repository, {"m0": ["NEW", "OLD", "NEWEST"]})
    assert when(repository, "m0") == "it is not committed"


def test_a_shallow_clone_does_not_pass_off_its_last_commit_as_the_age(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{repository}", "shallow")
    assert when(tmp_path / "shallow", "m0") == (
        "this clone has no history. Fix: fetch all of it (`fetch-depth: 0`, `GIT_DEPTH: 0`)"
    )


def test_what_is_not_there_or_encrypted_has_no_age(repository: Path) -> None:
    missing = "the stack's file has no plain line for it"
    assert when(repository, "m9") == when(repository, "m0", "reinstall") == missing
    save(repository, {"secure": "v1:x"})
    assert when(repository, "m0") == missing


def test_what_git_refuses_is_said(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root, by `su`, in the clone of another user: what git itself says has the fix."""
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    said = str(when(repository, "m0"))
    assert said.startswith("refused by git: fatal: detected dubious ownership in repository")
    assert f"git config --global --add safe.directory {repository}" in said


def test_outside_of_git_nothing_has_an_age(tmp_path: Path) -> None:
    save(tmp_path, {"m0": "A"})
    assert when(tmp_path, "m0") == "the stack's file is in no git repository"
