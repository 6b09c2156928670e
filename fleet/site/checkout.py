"""A folder per cluster with its order's commit: what every step runs is what was reviewed."""

from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from base.errors import ConfigError, Fault, OkdBaremetalError, word
from base.git import git, reason_of, run_git
from fleet.plan import Fleet, parsed

FOLDER = ".fleet"
"""Below the clone's root, and ignored by git: a folder and a lock per cluster."""
PROGRAM = "okd-baremetal"
"""The submodule of a repository that `new-site` made (ADR 39)."""
SUBMODULE = "160000"
"""Git's mode of one in a tree."""
REMOTE = "origin"
MAIN = f"refs/remotes/{REMOTE}/HEAD"
"""The main branch of the remote, as `git clone` records it."""
_fetching = Lock()
"""Two fetches into one clone would contend for git's own locks."""


class UnreachableError(OkdBaremetalError):
    """Git's remote does not answer: another attempt may find it."""


@dataclass(frozen=True)
class Clone:
    """The site's clone of the repository with all stacks.

    Args:
        root: Its folder, where `okd-baremetal fleet worker` runs.
    """

    root: Path

    def lock(self, cluster: str) -> Path:
        """Return the path of a cluster's lock."""
        return self._folder / f"{cluster}.lock"

    def note(self, cluster: str) -> Path:
        """Return the path of the note of a cluster's latest update."""
        return self._folder / f"{cluster}.json"

    @property
    def record(self) -> Path:
        """The path of the record of all updates."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        return self._folder / "updates.jsonl"

    def fetch(self) -> None:
        """Fetch the main branch, and all others.

        Raises:
            ConfigError: The clone does not know the main branch of its remote.
            UnreachableError: The remote does not answer.
        """
        with _fetching:
            fetched = run_git(self.root, "fetch", "--quiet", REMOTE)
        if fetched.returncode:
            raise UnreachableError(f"git fetch failed: {reason_of(fetched)}")
        if run_git(self.root, "rev-parse", "--verify", "--quiet", MAIN).returncode:
            fix = f"at the site, run `git -C {word(self.root)} remote set-head {REMOTE} --auto`"
            raise ConfigError(Fault(str(self.root), f"does not know the main branch of {REMOTE}", fix))

    def is_on_main(self, commit: str) -> bool:
        """Return whether the main branch, as last fetched, has a commit."""
        return run_git(self.root, "merge-base", "--is-ancestor", commit, MAIN).returncode == 0

    def fleet(self, commit: str = MAIN) -> Fleet:
        """Return `fleet.yaml` of a commit; by default that of the main branch, as last fetched.

        Raises:
            ConfigError: It has none, or one with faults.
        """
        of = "the main branch" if commit == MAIN else f"commit {commit}"
        return parsed(git(self.root, "show", f"{commit}:fleet.yaml"), f"fleet.yaml of {of}")

    def write_plan(self, cluster: str) -> Path:
        """Return the path of the write plan of a cluster's latest update that was approved."""
        return self._folder / f"{cluster}.plan"

    def checkout(self, cluster: str, commit: str) -> Path:
        """Return a cluster's folder, with the commit and what only the site has: program, payload.

        What git ignores stays there from one commit to the next, as the logs of runs.

        Raises:
            ConfigError: The commit does not exist, or pins another release of the program than the site has.
        """
        self._refuse_other_program(commit)
        folder = self._folder / cluster
        if folder.exists():
            self._unlink(folder)
            git(folder, "checkout", "--quiet", "--force", "--detach", commit)
        else:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            git(self.root, "worktree", "add", "--quiet", "--force", "--detach", str(folder), commit)
        self._link(folder, cluster)
        return folder

    @property
    def _folder(self) -> Path:
        return self.root / FOLDER

    def _refuse_other_program(self, commit: str) -> None:
        listed = git(self.root, "ls-tree", "--format=%(objectmode) %(objectname)", commit, PROGRAM)
        mode, _, pinned = listed.partition(" ")
        if mode != SUBMODULE:
            return
        here = git(self.root / PROGRAM, "rev-parse", "HEAD")
        if here != pinned:
            what = f"pins the program at {pinned[:12]}, and the site has {here[:12]}"
            fix = (
                f"when no update runs there, end the worker, then `git -C {PROGRAM} fetch && "
                f"git -C {PROGRAM} checkout {pinned[:12]} && make -C {PROGRAM} setup`, start it, and "
                "`okd-baremetal fleet retry`"
            )
            raise ConfigError(Fault(f"commit {commit}", what, fix))

    def _unlink(self, folder: Path) -> None:
        """Remove the link in place of the submodule, which git would refuse to check out over."""
        if (folder / PROGRAM).is_symlink():
            (folder / PROGRAM).unlink()

    def _link(self, folder: Path, cluster: str) -> None:
        """Link what git does not bring: the program, its environment, the payload."""
        program = folder / PROGRAM
        if program.is_dir() and not any(program.iterdir()):
            program.rmdir()
        for name in (PROGRAM, ".venv", f"stacks/{cluster}/payload"):
            link, target = folder / name, self.root / name
            if target.exists() and not link.is_symlink() and not link.exists():
                link.symlink_to(target)
