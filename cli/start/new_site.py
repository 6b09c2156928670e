"""`new-site`: make the repository of a site, which has its stacks and pins this program as a submodule."""

import argparse
import shutil
from pathlib import Path

from base.errors import ConfigError, Fault, word
from base.git import git
from cli.shared.command import Command
from cli.shared.command_line import EXIT_OK, PROGRAM

NAME = "okd-baremetal"
LINKED = ("Pulumi.yaml", "__main__.py", ".venv")
"""What Pulumi looks for in its project's folder: a newer program then needs no change beside its pin."""
ELSEWHERE = (
    "begin a folder with the program: `git clone {url} clusters/okd-baremetal && cd clusters && "
    "make -C okd-baremetal setup && okd-baremetal/tools/okd-baremetal new-site`"
)
NEXT = """{site}: a repository, with this program as its submodule. Next:
  okd-baremetal init <stack> --install-config <file>"""


def new_site(_: argparse.Namespace) -> int:
    """Make the folder around this program's clone the git repository of a site's clusters.

    It has stacks/, this program as the submodule okd-baremetal/ at its present commit and as it is set up, links by
    which Pulumi finds it, workflows for pull requests, and a README. Commit nothing.
    """
    site, url = PROGRAM.parent, _url_of_program()
    _refuse_content(site, url)
    git(site, "init", "--quiet")
    shutil.copytree(PROGRAM / "cli" / "start" / "site", site, dirs_exist_ok=True)
    for name in LINKED:
        (site / name).symlink_to(Path(NAME, name))
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
    if not (PROGRAM / ".git").is_dir():
        what = "not a git clone of its own, so no commit can be pinned"
        raise ConfigError(Fault(str(PROGRAM), what, "clone the program with `git clone`"))
    if git(PROGRAM, "status", "--porcelain", "--untracked-files=no"):
        what = "has changes that are not committed, so the site would not get them"
        raise ConfigError(Fault(str(PROGRAM), what, "commit them, or put them aside: `git stash`"))
    if "origin" not in git(PROGRAM, "remote").split():
        fix = "`git remote add origin <URL>`, then push this commit there"
        raise ConfigError(Fault(str(PROGRAM), "no remote `origin`, from which others could get the program", fix))
    url = git(PROGRAM, "remote", "get-url", "origin")
    login = url.partition("://")[2].rpartition("@")[0]
    if ":" in login or (login and url.startswith("http")):
        what = "the URL of `origin` has a login, which the site's repository would give to all its readers"
        fix = "`git remote set-url origin <URL without it>`; git takes the login from a credential helper"
        raise ConfigError(Fault(str(PROGRAM), what, fix))
    return url


def _refuse_content(site: Path, url: str) -> None:
    """Raise a `ConfigError` if the folder has more than the program, or the program has another name there."""
    fix = ELSEWHERE.format(url=word(url))
    if PROGRAM.name != NAME:
        raise ConfigError(Fault(str(PROGRAM), f"the program is in a folder {NAME} of a site's repository", fix))
    if others := sorted({entry.name for entry in site.iterdir()} - {".git", NAME}):
        what = f"would become the site's repository, and has {others[0]} beside the program"
        raise ConfigError(Fault(str(site), what, fix))


COMMAND = Command(new_site)
