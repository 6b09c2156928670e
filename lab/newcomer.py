"""Take a newcomer's road to a passed rehearsal: README's commands, in a new folder with an install-config in it.

`python -m lab.newcomer`, as root. The repository is this checkout, at its commit. A failure keeps the folder.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lab.rehearsal.report import say
from testing.checkout import ROOT
from testing.newcomer import INSTALL_CONFIG, documented_commands
from testing.processes import accept_interrupts

_OF_THIS_CHECKOUT = ("MAKE", "MFLAGS", "PULUMI_", "VIRTUAL_ENV")


def main() -> int:
    """Run the commands; return the exit code of the one that failed, or 0."""
    accept_interrupts()
    commands, start = documented_commands(ROOT), time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="okd-newcomer-"))
    shutil.copy(INSTALL_CONFIG, folder)
    script = "\n".join(["set -ev", *commands])
    code = subprocess.run(["bash", "-c", script], cwd=folder, env=_environment(), check=False).returncode
    if code:
        say(f"\nFAILED: exit code {code}; the folder is {folder}")
        return code
    say(f"\nfrom an empty folder to a passed rehearsal: {len(commands)} commands, {time.monotonic() - start:.0f} s")
    shutil.rmtree(folder)
    return 0


def _environment() -> dict[str, str]:
    """Return the environment without what make and this checkout's own environment have added."""
    paths = [path for path in os.environ["PATH"].split(os.pathsep) if not Path(path).is_relative_to(ROOT)]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OF_THIS_CHECKOUT)}
    return {**kept, "PATH": os.pathsep.join(paths)}


if __name__ == "__main__":
    sys.exit(main())
