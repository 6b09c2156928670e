"""A newcomer's roads: the commands of README with an awkward install-config, and those that write its hosts."""

import re
import textwrap
from pathlib import Path

from testing.checkout import ROOT

FOLDER = Path(__file__).parent
INSTALL_CONFIG = FOLDER / "install-config.yaml"
WITHOUT_HOSTS = FOLDER / "without-hosts.yaml"
SERVERS = FOLDER / "servers.yaml"
"""The hosts of a site whose servers nobody has written down yet."""
PLACEHOLDER = "<this repository>"
EDITED = "okd-baremetal init"
"""Where the commands that write the hosts no longer need the BMCs."""


def documented_commands(repository: Path) -> list[str]:
    """Return the commands of README's section about your own cluster, with `repository` as that of the program."""
    section = (ROOT / "README.md").read_text().partition("## Your own cluster\n")[2]
    (shown, *_) = _shown(section)
    return [line.replace(PLACEHOLDER, str(repository)) for line in shown]


def commands_of_discovery() -> tuple[list[str], list[str]]:
    """Return the commands of the page about discovery: those that read the BMCs, and those after them."""
    page = (ROOT / "docs" / "how-to" / "discover-servers.md").read_text()
    commands = [line for block in _shown(page) for line in block]
    (first,) = (index for index, line in enumerate(commands) if line.startswith(EDITED))
    return commands[:first], commands[first:]


def _shown(text: str) -> list[list[str]]:
    blocks = re.findall(r"^ *```console\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(block).splitlines() for block in blocks]
