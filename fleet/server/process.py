"""A process of the server, with a log of its own. It never outlives this program."""

import os
import signal
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from base.errors import FleetServerError

TAIL_LINES = 12
END_S = 20
_STARTER = ThreadPoolExecutor(1)
"""The kernel sends a child its `--pdeathsig` when the thread that started it ends. This one lasts."""


@dataclass
class Process:
    """One process. `command` begins with `mortal`, perhaps within what prepares it."""

    command: list[str]
    log: Path
    lock: int
    """Descriptor of the folder's lock, which is held until the last process has ended."""
    end_by: signal.Signals = signal.SIGTERM
    env: Mapping[str, str] = field(default_factory=dict)
    """Besides PATH. Nothing else of this program's environment reaches it, since that may hold secrets."""
    _child: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def start(self) -> None:
        """Start it. Only signals that name it reach it: Ctrl-C on a terminal does not."""
        with self.log.open("ab") as log:
            self._child = _STARTER.submit(
                subprocess.Popen[bytes],
                self.command,
                cwd="/",
                env={"PATH": os.environ["PATH"], **self.env},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[self.lock],
                process_group=0,
            ).result()

    @property
    def pid(self) -> int:
        """Its process id; 0 if it does not run."""
        return self._child.pid if self._child else 0

    def stop(self, number: signal.Signals) -> None:
        """Send it a signal and wait for its end, which `fault` then does not report."""
        if self._child:
            self._child.send_signal(number)
            self._child.wait()
            self._child = None

    def end(self) -> None:
        """End it, with SIGKILL if it takes longer than `END_S`."""
        if self._child:
            self._child.send_signal(self.end_by)
            try:
                self._child.wait(END_S)
            except subprocess.TimeoutExpired:
                self._child.kill()
                self._child.wait()
            self._child = None

    def fault(self) -> FleetServerError | None:
        """Return an error with the end of its log if it ended unasked."""
        if self._child is None or self._child.poll() is None:
            return None
        return failed(self.log, f"ended with status {self._child.returncode}")


def failed(log: Path, what: str) -> FleetServerError:
    """Return an error with the end of a log."""
    lines = log.read_text(errors="replace").splitlines()[-TAIL_LINES:]
    return FleetServerError("\n".join([f"{what}; the end of {log}:", *lines]), where=log.stem)


def mortal(number: signal.Signals, *options: str) -> list[str]:
    """Return what starts a command that gets signal `number` when this program ends, even by SIGKILL."""
    return ["setpriv", *options, "--pdeathsig", number.name.removeprefix("SIG"), "--"]
