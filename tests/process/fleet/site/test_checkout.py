"""A folder per cluster, from a site's clone of a repository of stacks, and its remote: real git."""

from pathlib import Path

import pytest

from base.errors import ConfigError
from fleet.site.checkout import FOLDER, PROGRAM, Clone
from testing.git import committed, git

NAMED = "stacks/north-a/install-config.yaml"


class Repositories:
    """The remote, as the colleague has it who commits there, and the site's clone."""

    def __init__(self, folder: Path) -> None:
        self.remote, self.root = folder / "remote", folder / "site"
        (self.remote / "stacks" / "north-a").mkdir(parents=True)
        (self.remote / NAMED).write_text("first\n")
        (self.remote / ".gitignore").write_text("/log/\n/stacks/*/payload/\n")
        committed(self.remote)
        git(folder, "clone", "-q", str(self.remote), str(self.root))
        self.clone = Clone(self.root)

    @property
    def commit(self) -> str:
        """The remote's newest commit."""
        return git(self.remote, "rev-parse", "HEAD")

    def change(self, text: str) -> str:
        """Change the cluster's file in a new commit of the remote, and return it."""
        (self.remote / NAMED).write_text(text)
        git(self.remote, "commit", "-qam", text.strip())
        self.clone.fetch()
        return self.commit


@pytest.fixture
def repos(tmp_path: Path) -> Repositories:
    return Repositories(tmp_path)


def test_each_cluster_has_a_folder_at_its_own_commit(repos: Repositories) -> None:
    first, second = repos.commit, repos.change("second\n")
    north, south = repos.clone.checkout("north-a", first), repos.clone.checkout("south-a", second)
    assert [(each / NAMED).read_text() for each in (north, south)] == ["first\n", "second\n"]
    assert (north, south) == (repos.root / FOLDER / "north-a", repos.root / FOLDER / "south-a")
    assert (repos.root / NAMED).read_text() == "first\n"
    assert (repos.root / FOLDER).stat().st_mode & 0o777 == 0o700


def test_the_next_order_replaces_what_the_one_before_left(repos: Repositories) -> None:
    folder = repos.clone.checkout("north-a", repos.commit)
    (folder / NAMED).write_text("changed by hand\n")
    (folder / "log").mkdir()
    (folder / "log" / "run.jsonl").touch()
    repos.clone.checkout("north-a", repos.change("second\n"))
    assert (folder / NAMED).read_text() == "second\n"
    assert (folder / "log" / "run.jsonl").exists()


def test_a_folder_that_somebody_removed_is_made_again(repos: Repositories) -> None:
    folder = repos.clone.checkout("north-a", repos.commit)
    folder.rename(folder.with_name("elsewhere"))
    assert (repos.clone.checkout("north-a", repos.commit) / NAMED).read_text() == "first\n"


def test_what_only_the_site_has_is_linked(repos: Repositories) -> None:
    for name in (".venv", "stacks/north-a/payload", "stacks/south-a/payload"):
        (repos.root / name).mkdir(parents=True)
    for _ in range(2):
        folder = repos.clone.checkout("north-a", repos.commit)
        links = sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_symlink())
        assert links == [".venv", "stacks/north-a/payload"]
        assert (folder / ".venv").resolve() == repos.root / ".venv"
        assert (folder / "stacks/north-a/payload").resolve() == repos.root / "stacks/north-a/payload"


class Pinned:
    """The program as a submodule, which the site has at the pinned commit."""

    def __init__(self, repos: Repositories) -> None:
        self.repos, self.program = repos, repos.remote.with_name("program")
        self.program.mkdir()
        (self.program / "release").write_text("1\n")
        committed(self.program)
        self.add(repos.remote)
        git(repos.remote, "commit", "-qm", "pins the program")
        git(repos.root, "pull", "-q")
        git(repos.root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")

    def add(self, folder: Path) -> None:
        git(folder, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(self.program), PROGRAM)

    def next(self) -> str:
        """Pin another release in a new commit of the remote, and return the release's commit."""
        (self.program / "release").write_text("2\n")
        git(self.program, "commit", "-qam", "second")
        git(self.repos.remote / PROGRAM, "pull", "-q")
        git(self.repos.remote, "commit", "-qam", "pins the next")
        self.repos.clone.fetch()
        return git(self.program, "rev-parse", "HEAD")


@pytest.fixture
def pinned(repos: Repositories) -> Pinned:
    return Pinned(repos)


def test_the_pinned_program_is_the_sites_own(repos: Repositories, pinned: Pinned) -> None:
    folder = repos.clone.checkout("north-a", repos.commit)
    assert (folder / PROGRAM).resolve() == repos.root / PROGRAM
    repos.clone.checkout("north-a", repos.change("second\n"))
    assert (folder / NAMED).read_text() == "second\n"
    assert (folder / PROGRAM).resolve() == repos.root / PROGRAM


def test_another_program_than_the_sites_is_refused_with_both(repos: Repositories, pinned: Pinned) -> None:
    here = git(repos.root / PROGRAM, "rev-parse", "HEAD")
    wanted = pinned.next()
    what = f"^commit {repos.commit}: pins the program at {wanted[:12]}, and the site has {here[:12]}. Fix: when no"
    with pytest.raises(ConfigError, match=what):
        repos.clone.checkout("north-a", repos.commit)
    git(repos.root / PROGRAM, "fetch", "-q")
    git(repos.root / PROGRAM, "checkout", "-q", wanted)
    assert (repos.clone.checkout("north-a", repos.commit) / PROGRAM / "release").read_text() == "2\n"


def test_what_git_refuses_is_one_line(repos: Repositories) -> None:
    folder = repos.clone.checkout("north-a", repos.commit)
    (repos.root / ".git" / "worktrees" / "north-a" / "index.lock").touch()
    with pytest.raises(ConfigError, match=f"^{folder}: git checkout failed: [^\n]*$"):
        repos.clone.checkout("north-a", repos.change("second\n"))
