"""`okd-baremetal --version`."""

from pathlib import Path

import pytest

from cli.shared import version
from testing.command_line import run
from testing.git import committed, git


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(version, "PROGRAM", tmp_path)
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n')
    return tmp_path


def test_without_git_it_is_the_release(program: Path) -> None:
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, "okd-baremetal 1.2.3\n")


def test_a_clone_names_its_commit_and_whether_files_differ_from_it(program: Path) -> None:
    committed(program)
    git(program, "tag", "-a", "v9", "-m", "v9")
    commit = git(program, "rev-parse", "--short", "HEAD")
    assert run("--version").stdout == f"okd-baremetal 1.2.3, commit {commit}\n"
    (program / "pyproject.toml").write_text('[project]\nversion = "1.2.4"\n')
    assert run("--version").stdout == f"okd-baremetal 1.2.4, commit {commit}-dirty\n"


def test_a_machine_without_git_shows_the_release(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    committed(program)
    monkeypatch.setenv("PATH", str(program))
    assert run("--version").stdout == "okd-baremetal 1.2.3, commit unknown: git is not installed\n"
