"""Runs openshift-install, and reads from its output why it failed."""

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from base.errors import ConfigError, Fault, one_line
from base.masking import Secrets
from cli.shared.interrupts import child
from cli.start.openshift_install import NAME
from cluster.values.platform import ClusterPlatform
from payload.of_servers import is_of_servers

UMASK = 0o077
"""The umask of openshift-install, which writes keys and the pull secret."""
PATTERNS = ("*.yaml", "*.yml", "*.json")
"""The manifests that openshift-install reads (openshift/installer 025c6229, pkg/asset/manifests/openshift.go)."""
WRONG_CONFIG = 3
"""The exit code of openshift-install for an install-config that it refuses (cmd/openshift-install/create.go)."""
_ERROR = re.compile(r"level=(?:error|fatal) msg=(.*)")


def manifests_in(folder: Path) -> list[Path]:
    """Return the manifests in a folder of the site.

    Raises:
        ConfigError: There is none.
    """
    if files := sorted(file for pattern in PATTERNS for file in folder.glob(pattern)):
        return files
    what = f"no {', no '.join(PATTERNS)} in {folder}"
    raise ConfigError(Fault("--manifests", what, "name the folder that has them"))


class Generation:
    """One run of openshift-install in a folder of its own.

    Args:
        tool: The program.
        work: The folder, with the install-config in it.
        lock: A descriptor that the program inherits.
        secrets: What its output must not show.
        file: The install-config of the stack, for the fix.
    """

    def __init__(self, tool: Path, work: Path, lock: int, secrets: Secrets, file: Path) -> None:
        self._tool, self._work, self._lock, self._secrets, self._file = tool, work, lock, secrets, file

    def run(self, manifests: Sequence[Path], platform: ClusterPlatform) -> None:
        """Write the payload, with changes to the manifests between the two steps of openshift-install.

        Those of the site are added. On platform baremetal, those by which the cluster would own servers are removed.

        Raises:
            ConfigError: openshift-install fails.
        """
        is_baremetal, folder = platform is ClusterPlatform.BAREMETAL, self._work / "openshift"
        if manifests or is_baremetal:
            self._create("manifests")
            for file in folder.iterdir() if is_baremetal else ():
                if is_of_servers(file.name):
                    file.unlink()
            # openshift-install takes a folder openshift/ that it finds for the whole one, so not before.
            for file in manifests:
                shutil.copy(file, folder)
        self._create("ignition-configs")

    def _create(self, what: str) -> None:
        """Run `openshift-install create`, and show what it prints, without the secrets of the install-config."""
        command = [str(self._tool), "create", what, "--dir", str(self._work)]
        lines = list[str]()
        output = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        with child(command, **output, errors="replace", umask=UMASK, pass_fds=[self._lock]) as started:
            for line in started.stdout or ():
                lines.append(one_line(self._secrets.mask(line.rstrip("\n"))))
                print(lines[-1], file=sys.stderr)
        if started.returncode:
            raise ConfigError(self._fault(what, started.returncode, lines))

    def _fault(self, what: str, code: int, lines: Sequence[str]) -> Fault:
        """Return the fault of a failure. One error may have several lines, as that of FIPS."""
        errors = [match[1] for line in lines if (match := _ERROR.search(line))] or lines[-1:]
        reason, fix = " ".join(errors), "see what it printed above, correct that, and repeat"
        if code == WRONG_CONFIG:
            fix = f"correct what it names in {self._file}, and repeat"
        if "FIPS-capable" in reason:
            fix = (
                "on a host of RHEL 9 in FIPS mode, put openshift-install-fips of the release on PATH, named "
                f"{NAME}, and repeat"
            )
        return Fault(f"{NAME} create {what}", f"exit code {code}: {reason}", fix)
