"""`okd-baremetal new-site`: the repository that it makes, and what it refuses."""

import subprocess
from pathlib import Path

import pytest

from cli.shared.command_line import EXIT_INVALID
from cli.start import new_site
from testing.checkout import ROOT
from testing.command_line import run
from testing.git import committed, git

URL = "https://git.example.com/okd-baremetal.git"


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone of the program, as small as the command allows."""
    program = tmp_path / "program"
    (program / "cli" / "start").mkdir(parents=True)
    (program / "cli" / "start" / "site").symlink_to(ROOT / "cli" / "start" / "site")
    (program / "Pulumi.yaml").write_text("name: okd-baremetal\n")
    committed(program)
    git(program, "remote", "add", "origin", URL)
    monkeypatch.setattr(new_site, "PROGRAM", program)
    return program


def test_the_program_is_a_submodule_at_its_commit(program: Path, tmp_path: Path) -> None:
    done = run("new-site", tmp_path / "site")
    assert (done.returncode, done.stderr) == (0, "")
    commit = git(program, "rev-parse", "HEAD")
    assert git(tmp_path / "site", "ls-files", "--stage", "okd-baremetal").split()[:2] == ["160000", commit]
    assert git(tmp_path / "site", "config", "--file", ".gitmodules", "submodule.okd-baremetal.url") == URL
    assert git(tmp_path / "site", "-C", "okd-baremetal", "remote", "get-url", "origin") == URL
    assert git(tmp_path / "site", "submodule", "status").split()[:2] == [commit, "okd-baremetal"]


def test_all_of_it_is_staged_and_nothing_committed(program: Path, tmp_path: Path) -> None:
    run("new-site", tmp_path / "site")
    staged = git(tmp_path / "site", "diff", "--cached", "--name-only").split()
    assert {"Pulumi.yaml", "__main__.py", ".venv", ".gitignore", "README.md", "stacks/.gitkeep"} <= {*staged}
    assert git(tmp_path / "site", "status", "--porcelain", "--untracked-files=all", "--ignored").count(
        "\n"
    ) + 1 == len(staged)
    assert (tmp_path / "site" / "Pulumi.yaml").read_text() == "name: okd-baremetal\n"


def test_an_empty_repository_is_taken(program: Path, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    git(tmp_path / "site", "init", "-q", "-b", "trunk")
    assert run("new-site", tmp_path / "site").returncode == 0
    assert git(tmp_path / "site", "symbolic-ref", "--short", "HEAD") == "trunk"


def test_a_folder_with_content_is_refused_and_stays_as_it_is(program: Path, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "file").touch()
    done = run("new-site", tmp_path / "site")
    assert done.returncode == EXIT_INVALID
    assert done.stderr == f"{tmp_path}/site: exists already. Fix: name a new folder, or an empty repository\n"
    assert [each.name for each in (tmp_path / "site").iterdir()] == ["file"]


def test_a_program_with_changes_is_refused(program: Path, tmp_path: Path) -> None:
    (program / "Pulumi.yaml").write_text("name: mine\n")
    done = run("new-site", tmp_path / "site")
    assert done.returncode == EXIT_INVALID
    assert done.stderr.startswith(f"{program}: has changes that are not committed")
    assert not (tmp_path / "site").exists()


def test_a_program_that_nobody_else_can_get_is_refused(program: Path, tmp_path: Path) -> None:
    git(program, "remote", "remove", "origin")
    done = run("new-site", tmp_path / "site")
    assert done.returncode == EXIT_INVALID
    assert done.stderr.startswith(f"{program}: no remote `origin`, from which others could get the program. Fix: ")


def test_a_program_that_is_no_clone_is_refused(program: Path, tmp_path: Path) -> None:
    subprocess.run(["mv", program / ".git", tmp_path / "gone"], check=True)
    done = run("new-site", tmp_path / "site")
    assert done.returncode == EXIT_INVALID
    assert done.stderr.startswith(f"{program}: not a git clone, so no commit can be pinned. Fix: ")


def test_gits_own_reason_is_passed_on(program: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = run("new-site", tmp_path / "file" / "site")
    assert done.returncode == EXIT_INVALID
    reason = f"fatal: cannot mkdir {tmp_path}/file/site: File exists"
    assert done.stderr == f"{program}: git init failed: {reason}\n"
