"""Daemons of the lab, each identified by process id and start time, so that a reused id is never mistaken for one."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from lab.paths import FILES, LOG, NAMESPACE, PID
from lab.shell import LabError

_POLL_S = 0.05
_TERM_S = 10.0  # libvirtd and sushy-emulator end within 1 s of SIGTERM (2026-11)
_KILL_S = 5.0
_TAIL_LINES = 10


def wait_until(is_done: Callable[[], bool], what: str, deadline_s: float) -> None:
    """Poll until `is_done`.

    Raises:
        LabError: It is not within `deadline_s` seconds.
    """
    until = time.monotonic() + deadline_s
    while not is_done():
        if time.monotonic() >= until:
            raise LabError(f"{what}: not reached after {deadline_s:g} s")
        time.sleep(_POLL_S)


def environment() -> dict[str, str]:
    """Return the environment of a process inside the namespace, from which no proxy of this machine is reached."""
    return {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}


class Daemon:
    """One long-running program inside the namespace."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.record = PID / name
        self.log = LOG / f"{name}.log"

    @property
    def pid(self) -> int | None:
        """Process id; None if the daemon does not run."""
        try:
            pid, start = (int(word) for word in self.record.read_text().split())
        except (OSError, ValueError):
            return None
        return pid if _start_time(pid) == start else None

    def start(
        self, *command: str | Path, wrapper: tuple[str | Path, ...] = (), env: Mapping[str, str] | None = None
    ) -> None:
        """Start `command` in the namespace, behind `wrapper`; its output is appended to its log."""
        self.record.unlink(missing_ok=True)
        # The process writes its own record before it becomes the daemon, so none is lost if the lab is killed.
        words = ["ip", "netns", "exec", NAMESPACE, FILES / "recorded-exec.sh", self.record, *wrapper, *command]
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                [str(word) for word in words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**environment(), **(env or {})},
                start_new_session=True,
            )
        # This and later runs watch the process in /proc. Without a return code, Python warns about a running child.
        process.returncode = 0

    def await_ready(self, is_ready: Callable[[], bool], deadline_s: float) -> None:
        """Wait until the daemon serves.

        Raises:
            LabError: It ended, or does not serve by the deadline; the message contains the end of its log.
        """
        until = time.monotonic() + deadline_s
        started = time.monotonic() + 2.0  # by then it has written its record
        while not is_ready():
            now = time.monotonic()
            if now >= until or (now >= started and self.pid is None):
                what = "ended" if self.pid is None else f"does not serve after {deadline_s:g} s"
                raise LabError(f"{self.name} {what}; {self.log} ends with:\n{self._tail()}")
            time.sleep(_POLL_S)

    def stop(self) -> None:
        """End the daemon with SIGTERM, or SIGKILL if it ignores that."""
        if pid := self.pid:
            end_process(pid)
        self.record.unlink(missing_ok=True)

    def _tail(self) -> str:
        with contextlib.suppress(OSError):
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-_TAIL_LINES:])
        return "(no log)"


def end_process(pid: int) -> None:
    """End a process that the lab started; do nothing if another process has its id by then.

    Raises:
        LabError: It still runs after SIGKILL.
    """
    start = _start_time(pid)
    if start is None:
        return
    for sent, deadline_s in ((signal.SIGTERM, _TERM_S), (signal.SIGKILL, _KILL_S)):
        until = time.monotonic() + deadline_s
        if _start_time(pid) == start:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, sent)
        while _start_time(pid) == start and time.monotonic() < until:
            time.sleep(_POLL_S)
        if _start_time(pid) != start:
            return
    raise LabError(f"process {pid} still runs {_KILL_S:g} s after SIGKILL")


def ancestors() -> set[int]:
    """Return the ids of this process and its ancestors."""
    pids, pid = set[int](), os.getpid()
    while pid > 0 and pid not in pids:
        pids.add(pid)
        fields = _stat_fields(pid)
        pid = int(fields[1]) if fields else 0
    return pids


def _start_time(pid: int) -> int | None:
    """Return the start time of a live process in clock ticks since boot. A zombie counts as ended."""
    fields = _stat_fields(pid)
    return int(fields[19]) if fields and fields[0] not in "ZX" else None


def _stat_fields(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the state on; the program's name before them has any character."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return []
