"""Take a newcomer's roads to a passed rehearsal: the documented commands, in a new folder.

`python -m lab.newcomer`, as root. The first road is README's, with an install-config. The second begins with the
addresses of BMCs, of servers that run in the lab, and is that of docs/how-to/discover-servers.md. The repository is
this checkout, at its commit. A failure keeps the folder.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from base.yaml_text import yaml_of
from cluster.files import read_yaml
from lab import site
from lab.images import ensure_images
from lab.inventory import load_site
from lab.rehearsal.report import say
from lab.shell import LabError
from lab.twin import PASSWORD, USERNAME
from testing.checkout import ROOT
from testing.newcomer import INSTALL_CONFIG, SERVERS, WITHOUT_HOSTS, commands_of_discovery, documented_commands
from testing.processes import accept_interrupts

_OF_THIS_CHECKOUT = ("MAKE", "MFLAGS", "PULUMI_", "VIRTUAL_ENV")
_STACK = "discovered"
_ACTIVATE = ". okd-baremetal/.venv/bin/activate"
_AUTHOR = {f"GIT_{who}_{what}": "newcomer@lab.test" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
_EDITOR = f"""\
#!/bin/sh
echo '- {{username: {USERNAME}, password: {PASSWORD}}}' >"$1"
"""


class FailedError(Exception):
    """A command ended with an exit code."""


def main() -> int:
    """Walk both roads; return 0, or 1 if a command fails."""
    accept_interrupts()
    folder, start = Path(tempfile.mkdtemp(prefix="okd-newcomer-")), time.monotonic()
    try:
        shutil.copy(INSTALL_CONFIG, folder)
        *setup, init, rehearse = documented_commands(ROOT)
        _run(folder, setup)
        clusters = folder / "clusters"
        _run(clusters, [_ACTIVATE, init, rehearse])
        say(f"\nfrom an install-config to a passed rehearsal: {time.monotonic() - start:.0f} s")
        shutil.rmtree(clusters / "stacks" / "prod")  # both roads name it so
        (clusters / "stacks" / "Pulumi.prod.yaml").unlink()
        _discovered(clusters)
    except (FailedError, LabError) as error:
        say(f"\nFAILED: {error}; the folder is {folder}")
        return 1
    say(f"\nboth roads to a passed rehearsal: {time.monotonic() - start:.0f} s")
    shutil.rmtree(folder)
    return 0


def _discovered(clusters: Path) -> None:
    """Have the hosts of another stack written from the answers of BMCs, and rehearse it."""
    reading, writing = commands_of_discovery()
    start = time.monotonic()
    shutil.copy(WITHOUT_HOSTS, clusters / "install-config.yaml")
    editor = clusters / ".editor"
    editor.write_text(_EDITOR)
    editor.chmod(0o700)
    with _servers() as addresses:
        (clusters / "bmcs.txt").write_text("".join(f"{address}\n" for address in addresses))
        (clusters / "bmc-ca.pem").write_text(site.bmc_ca())
        words, _ = site.exec_command(["bash", "-c", _script([_ACTIVATE, *reading])])
        _finish(words, clusters, {"EDITOR": str(editor)})
    _run(clusters, [_ACTIVATE, *writing])
    say(f"\nfrom addresses of BMCs to a passed rehearsal: {time.monotonic() - start:.0f} s")


@contextmanager
def _servers() -> Iterator[list[str]]:
    """Run servers that nobody has written down, and return the addresses of their BMCs."""
    with tempfile.TemporaryDirectory() as folder:
        stack = Path(folder, _STACK)
        stack.mkdir()
        config = read_yaml(WITHOUT_HOSTS)
        config["platform"]["baremetal"]["hosts"] = read_yaml(SERVERS)
        (stack / "install-config.yaml").write_text(yaml_of(config))
        Path(folder, f"Pulumi.{_STACK}.yaml").write_text(yaml_of({"config": {"okd-baremetal:phase": "bootstrap"}}))
        wanted = load_site(_STACK, Path(folder))
    with site.reserved():
        site.up(wanted, ensure_images(say), say)
        try:
            yield [bmc.name for bmc in wanted.bmcs.values()]
        finally:
            site.down(say)


def _run(folder: Path, commands: Sequence[str]) -> None:
    _finish(["bash", "-c", _script(commands)], folder, {})


def _script(commands: Sequence[str]) -> str:
    return "\n".join(["set -ev", *commands])


def _finish(words: Sequence[str], folder: Path, environment: dict[str, str]) -> None:
    code = subprocess.run(words, cwd=folder, env=_environment() | environment, check=False).returncode
    if code:
        raise FailedError(f"exit code {code}")


def _environment() -> dict[str, str]:
    """Return the environment without what make and this checkout's own environment have added."""
    paths = [path for path in os.environ["PATH"].split(os.pathsep) if not Path(path).is_relative_to(ROOT)]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OF_THIS_CHECKOUT)}
    return {**kept, **_AUTHOR, "PATH": os.pathsep.join(paths)}


if __name__ == "__main__":
    sys.exit(main())
