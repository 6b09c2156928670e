"""Git of a folder's own repository, and what it says when it fails: one line, without a login."""

from pathlib import Path
from subprocess import CompletedProcess

import pytest

from base.git import OF_ONE_REPOSITORY, git, reason_of
from testing.checkout import ROOMS, ROOT
from testing.git import committed
from testing.git import git as git_of_test


def test_the_reason_has_no_login_of_a_remote() -> None:
    # As git 2.39 writes it; its other errors leave the login out themselves.
    text = "fatal: clone of 'https://usr:CNRYpg@127.0.0.1:1/x' into submodule path '/tmp/zz' failed\n"
    done = CompletedProcess(["git"], 128, "", text)
    assert reason_of(done) == "fatal: clone of 'https://[masked]@127.0.0.1:1/x' into submodule path '/tmp/zz' failed"


def test_a_hook_of_another_repository_changes_nothing_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git gives its hooks GIT_DIR and more: a checkout in a folder would be one in the hook's repository."""
    here, of_hook = tmp_path / "here", tmp_path / "of-hook"
    for folder in (here, of_hook):
        folder.mkdir()
        (folder / "file").write_text(folder.name)
        committed(folder)
    branch = git_of_test(of_hook, "symbolic-ref", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(of_hook / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(of_hook / ".git" / "index"))
    monkeypatch.setenv("GIT_WORK_TREE", str(of_hook))
    git(here, "checkout", "--quiet", "--force", "--detach", "HEAD")
    assert git(here, "rev-parse", "--show-toplevel") == str(here)
    assert git(of_hook, "symbolic-ref", "HEAD") == branch


def test_all_variables_that_bind_git_to_a_repository_are_known() -> None:
    bind = {*git_of_test(ROOT, "rev-parse", "--local-env-vars").split()}
    of_configuration = {name for name in bind if name.startswith("GIT_CONFIG")}
    assert bind - of_configuration <= OF_ONE_REPOSITORY


def test_the_program_runs_git_in_one_place() -> None:
    files = [file for room in ROOMS for file in (ROOT / room).rglob("*.py")]
    running = {str(file.relative_to(ROOT)) for file in files if '["git"' in file.read_text()}
    assert running == {"base/git.py"}
