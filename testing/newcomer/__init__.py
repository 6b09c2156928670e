"""A newcomer's road: an empty folder, an awkward install-config of his own, and the commands of README."""

import re
from pathlib import Path

from testing.checkout import ROOT

INSTALL_CONFIG = Path(__file__).parent / "install-config.yaml"
PLACEHOLDER = "<this repository>"


def documented_commands(repository: Path) -> list[str]:
    """Return the commands of README's section about your own cluster, with `repository` as that of the program."""
    section = (ROOT / "README.md").read_text().partition("## Your own cluster\n")[2]
    shown = re.search(r"```console\n(.*?)```", section, re.DOTALL)
    assert shown, "README shows no commands"
    return [line.replace(PLACEHOLDER, str(repository)) for line in shown[1].splitlines()]
