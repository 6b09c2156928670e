"""`okd-baremetal new-site`: the repository that it makes around the program's checkout, and what it refuses."""

import subprocess
import sys
from pathlib import Path

import pytest

from cli.shared.command_line import EXIT_INVALID
from cli.start import new_site
from testing.checkout import ROOT
from testing.command_line import run
from testing.git import clone_of_program, committed, git

URL = "https://git.example.com/okd-baremetal.git"


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone of the program in a new folder, as small as the command allows, and set up."""
    program = tmp_path / "site" / "okd-baremetal"
    (program / "cli" / "start").mkdir(parents=True)
    (program / "cli" / "start" / "site").symlink_to(ROOT / "cli" / "start" / "site")
    (program / "Pulumi.yaml").write_text("name: okd-baremetal\n")
    (program / ".gitignore").write_text("/.venv\n")
    committed(program)
    git(program, "remote", "add", "origin", URL)
    (program / ".venv").mkdir()
    (program / ".venv" / "pyvenv.cfg").touch()
    monkeypatch.setattr(new_site, "PROGRAM", program)
    return program


@pytest.fixture
def site(program: Path) -> Path:
    return program.parent


def test_the_program_is_a_submodule_at_its_commit(program: Path, site: Path) -> None:
    done = run("new-site")
    assert (done.returncode, done.stderr) == (0, "")
    commit = git(program, "rev-parse", "HEAD")
    assert git(site, "ls-files", "--stage", "okd-baremetal").split()[:2] == ["160000", commit]
    assert git(site, "config", "--file", ".gitmodules", "submodule.okd-baremetal.url") == URL
    assert git(site, "submodule", "status").split()[:2] == [commit, "okd-baremetal"]


def test_the_checkout_is_used_as_it_is_set_up(program: Path, site: Path) -> None:
    """Issue 40, 13: no second environment of the same pins."""
    inode = program.stat().st_ino
    assert run("new-site").returncode == 0
    assert program.stat().st_ino == inode
    assert (site / ".venv").resolve() == program / ".venv"
    assert (site / ".venv" / "pyvenv.cfg").exists()
    assert git(program, "status", "--porcelain") == ""


def test_all_of_it_is_staged_and_nothing_committed(site: Path) -> None:
    run("new-site")
    staged = git(site, "diff", "--cached", "--name-only").split()
    assert {"Pulumi.yaml", "__main__.py", ".venv", ".gitignore", "README.md", "stacks/.gitkeep"} <= {*staged}
    assert git(site, "status", "--porcelain", "--untracked-files=all", "--ignored").count("\n") + 1 == len(staged)
    assert (site / "Pulumi.yaml").read_text() == "name: okd-baremetal\n"


def test_an_empty_repository_is_taken(site: Path) -> None:
    git(site, "init", "-q", "-b", "trunk")
    assert run("new-site").returncode == 0
    assert git(site, "symbolic-ref", "--short", "HEAD") == "trunk"


def test_a_folder_with_more_than_the_program_stays_as_it_is(site: Path) -> None:
    (site / "file").touch()
    done = run("new-site")
    assert done.returncode == EXIT_INVALID
    what = "would become the site's repository, and has file beside the program. Fix: begin a folder with the program"
    assert done.stderr.startswith(f"{site}: {what}: `git clone {URL} clusters/okd-baremetal && ")
    assert sorted(entry.name for entry in site.iterdir()) == ["file", "okd-baremetal"]


def test_a_second_call_is_refused(site: Path) -> None:
    run("new-site")
    assert run("new-site").stderr.startswith(f"{site}/okd-baremetal: not a git clone of its own")


def test_the_fix_of_a_clone_elsewhere_makes_the_repository(tmp_path: Path) -> None:
    """As it is printed, with this checkout as the remote and a stand-in of make that sets it up."""
    elsewhere = tmp_path / "program"
    clone_of_program(elsewhere)
    (elsewhere / ".venv").symlink_to(sys.prefix)
    git(elsewhere, "remote", "set-url", "origin", str(elsewhere))
    refused = subprocess.run(
        [elsewhere / "tools/okd-baremetal", "new-site"], capture_output=True, text=True, check=False
    )
    assert refused.returncode == EXIT_INVALID
    assert refused.stderr.startswith(
        f"{elsewhere}: the program is in a folder okd-baremetal of a site's repository. Fix"
    )
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "make").write_text(f'#!/bin/sh\nln -s {sys.prefix} "$2/.venv"\n')
    (tmp_path / "bin" / "make").chmod(0o755)
    (tmp_path / "here").mkdir()
    env = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "HOME": str(tmp_path)}
    command = ["sh", "-e", "-c", refused.stderr.split("`")[1]]
    subprocess.run(command, cwd=tmp_path / "here", env=env, capture_output=True, check=True)
    assert (tmp_path / "here" / "clusters" / "stacks" / ".gitkeep").exists()


def test_a_program_with_changes_is_refused(program: Path, site: Path) -> None:
    (program / "Pulumi.yaml").write_text("name: mine\n")
    done = run("new-site")
    assert done.returncode == EXIT_INVALID
    assert done.stderr.startswith(f"{program}: has changes that are not committed")
    assert [entry.name for entry in site.iterdir()] == ["okd-baremetal"]


def test_a_program_that_nobody_else_can_get_is_refused(program: Path) -> None:
    git(program, "remote", "remove", "origin")
    done = run("new-site")
    assert done.returncode == EXIT_INVALID
    assert done.stderr.startswith(f"{program}: no remote `origin`, from which others could get the program. Fix: ")


def test_a_program_that_is_no_clone_is_refused(program: Path, tmp_path: Path) -> None:
    (program / ".git").rename(tmp_path / "gone")
    done = run("new-site")
    assert done.returncode == EXIT_INVALID
    assert done.stderr.startswith(f"{program}: not a git clone of its own, so no commit can be pinned. Fix: ")


def test_gits_own_reason_is_passed_on(program: Path, site: Path) -> None:
    (site / ".git").touch()
    done = run("new-site")
    assert done.returncode == EXIT_INVALID
    assert done.stderr.startswith(f"{site}: git init failed: fatal: invalid gitfile format: ")


@pytest.mark.parametrize("login", ["usr:CNRYpg11", "CNRYpg11", "gitlab-ci-token:CNRY/pg@11"])
def test_no_login_becomes_part_of_a_site(program: Path, site: Path, login: str) -> None:
    git(program, "remote", "set-url", "origin", f"https://{login}@git.example.com/okd-baremetal.git")
    done = run("new-site")
    assert (done.returncode, "CNRY" in done.stdout + done.stderr) == (EXIT_INVALID, False)
    assert "has a login" in done.stderr
    assert [path.name for path in site.iterdir()] == ["okd-baremetal"]
    git(program, "remote", "set-url", "origin", "ssh://git@git.example.com/okd-baremetal.git")
    assert run("new-site").returncode == 0
