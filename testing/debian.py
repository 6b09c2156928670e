"""A Debian that boots systemd in namespaces of its own, as a machine on a network of a test."""

import subprocess
import time
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path

from testing.namespaces import MORTAL, SBIN, ip

DEADLINE_S = 60
BOOT = Path(__file__).with_name("boot-debian")


class Debian:
    """A machine on a bridge of this thread's network namespace.

    Args:
        root: The root of a Debian, such as that of `lab.debian`; it stays as it is.
        folder: What the machine writes is here, in `upper`.
        cards: MAC of each network card.
        bridge: The bridge that the first card is connected to; the others have no link.
    """

    def __init__(self, root: Path, folder: Path, cards: Mapping[str, str], bridge: str) -> None:
        unshare = [*MORTAL, "unshare", "--net", "--mount", "--propagation", "private"]
        self._command: list[str | Path] = [*unshare, BOOT, root, folder]
        self._cards, self._bridge = cards, bridge
        self._process: subprocess.Popen[str] | None = None

    def boot(self) -> None:
        """Boot, and return when all of its services have started."""
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        pid = self._process.pid
        with self._process.stdin or nullcontext() as line, self._process.stdout or nullcontext() as answer:
            assert line
            assert answer
            assert answer.readline() == "ready\n"
            for name, mac in self._cards.items():
                ip(f"link add {name}-{pid} type veth peer name {name} address {mac} netns {pid}")
            ip(f"link set {next(iter(self._cards))}-{pid} master {self._bridge} up")
            line.write("boot\n")
        self.until("systemctl is-system-running | grep --extended-regexp 'running|degraded'")

    def run(self, script: str) -> str:
        """Run a script that must succeed, as root at the console, and return its output."""
        done = self._run(script)
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}\n{self.journal()}"
        return done.stdout

    def succeeds(self, script: str) -> bool:
        """Return whether a script succeeds."""
        return self._run(script).returncode == 0

    def until(self, script: str) -> None:
        """Wait until a script succeeds."""
        end = time.monotonic() + DEADLINE_S
        while not self.succeeds(script):
            assert time.monotonic() < end, f"never succeeded: {script}\n{self.journal()}"
            time.sleep(0.1)

    def journal(self) -> str:
        """Return the last lines of its journal."""
        return self._run("journalctl --no-pager --lines=40").stdout

    def reboot(self) -> None:
        """Restart it as its administrator would."""
        assert self._process
        self._run("systemctl reboot")  # whoever asks ends with the machine
        self._process.wait(DEADLINE_S)
        self.boot()

    def cut_power(self) -> None:
        """End it with all of its processes, if it runs."""
        if self._process and self._process.poll() is None:
            subprocess.run(["kill", "-KILL", self._first_process], check=True)
            self._process.wait(DEADLINE_S)

    @property
    def _first_process(self) -> str:
        """Process id of its systemd here: the child of `unshare`, which is the child of the script."""
        assert self._process
        pid = str(self._process.pid)
        for _ in range(2):
            pid = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0]
        return pid

    def _run(self, script: str) -> subprocess.CompletedProcess[str]:
        enter = ["nsenter", f"--target={self._first_process}", "--all"]
        shell = [
            "env",
            "--ignore-environment",
            "--chdir=/root",
            "HOME=/root",
            f"PATH={SBIN}",
            "bash",
            "-euo",
            "pipefail",
        ]
        return subprocess.run([*enter, *shell, "-c", script], capture_output=True, text=True, check=False)
