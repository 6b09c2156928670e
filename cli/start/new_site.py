"""`new-site`: make the repository of a site, which has its stacks and pins this program as a submodule."""

import argparse
import shutil
from pathlib import Path

from base.errors import ConfigError, Fault
from base.git import git
from cli.shared.command import Command
from cli.shared.command_line import EXIT_OK, PROGRAM

NAME = "okd-baremetal"
LINKED = ("Pulumi.yaml", "__main__.py", ".venv")
"""What Pulumi looks for in its project's folder: a newer program then needs no change beside its pin."""
NEXT = """{site}: written. Next:
  cd {site}
  make -C okd-baremetal setup && . .venv/bin/activate
  okd-baremetal init <stack> --install-config <file>"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", type=Path, metavar="DIR", help="a new folder, or an empty repository")


def new_site(options: argparse.Namespace) -> int:
    """Make a git repository for the clusters of a site, and commit nothing.

    It has stacks/, this program as the submodule okd-baremetal/ at its present commit, links by which Pulumi finds
    it, workflows for pull requests, and a README.
    """
    site: Path = options.dir
    url = _url_of_program()
    _refuse_content(site)
    git(PROGRAM, "init", "--quiet", str(site.absolute()))
    shutil.copytree(PROGRAM / "cli" / "start" / "site", site, dirs_exist_ok=True)
    for name in LINKED:
        (site / name).symlink_to(Path(NAME, name))
    # From here, then named by its URL: no network is needed, and git clones no submodule from a path by itself.
    git(site, "clone", "--quiet", "--no-hardlinks", str(PROGRAM), NAME)
    git(site / NAME, "checkout", "--quiet", "--detach", git(PROGRAM, "rev-parse", "HEAD"))
    git(site / NAME, "remote", "set-url", "origin", url)
    git(site, "submodule", "--quiet", "add", url, NAME)
    git(site, "submodule", "--quiet", "absorbgitdirs")
    git(site, "add", "--all")
    print(NEXT.format(site=site))
    return EXIT_OK


def _url_of_program() -> str:
    """Return where others get this program.

    Raises:
        ConfigError: This is no clone, or it has changes that no commit has.
    """
    if not (PROGRAM / ".git").exists():
        raise ConfigError(Fault(str(PROGRAM), "not a git clone, so no commit can be pinned", "clone the program"))
    if git(PROGRAM, "status", "--porcelain", "--untracked-files=no"):
        what = "has changes that are not committed, so the site would not get them"
        raise ConfigError(Fault(str(PROGRAM), what, "commit them, or put them aside: `git stash`"))
    if "origin" not in git(PROGRAM, "remote").split():
        fix = "`git remote add origin <URL>`, then push this commit there"
        raise ConfigError(Fault(str(PROGRAM), "no remote `origin`, from which others could get the program", fix))
    return git(PROGRAM, "remote", "get-url", "origin")


def _refuse_content(site: Path) -> None:
    if site.exists() and (not site.is_dir() or any(entry.name != ".git" for entry in site.iterdir())):
        raise ConfigError(Fault(str(site), "exists already", "name a new folder, or an empty repository"))


COMMAND = Command(new_site, _add_arguments)
