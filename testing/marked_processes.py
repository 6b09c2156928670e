"""Finds every program that this process has started, whatever became of its environment, session and parent."""

import os
import secrets
import select
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from resource import prlimit
from typing import NamedTuple

from wires.api.https import connect_problem

LOCKS = 10
"""RLIMIT_LOCKS. Since Linux 2.4.25 it limits nothing (getrlimit(2)), and every child inherits it."""
ENDING_S = 5.0
"""A program that was killed, or whose input was closed, needs a moment."""
LANGUAGE_HOST = "pulumi-language-python"


class Process(NamedTuple):
    """A program that outlived the test that started it."""

    pid: int
    command: str
    test: str
    """The test, by the program's environment; empty if that was replaced."""

    def ends_by_itself(self) -> bool:
        """Return whether it is a language host of Pulumi whose engine has ended.

        A `pulumi` that fails while it starts one leaves it, and every 5 minutes that looks for its engine
        (rpcutil.Healthcheck in pulumi-language-python's main.go, sdk 3.79.0).
        """
        program, _, words = self.command.partition(" ")
        address, _, port = words.rpartition(" ")[2].rpartition(":")
        is_host = Path(program).name == LANGUAGE_HOST and port.isdigit()
        return is_host and connect_problem(address, int(port)) is not None


def mark() -> int:
    """Mark this process, and with it all that it starts from now on; return the mark."""
    value = secrets.randbits(62)
    prlimit(0, LOCKS, (value, prlimit(0, LOCKS)[1]))
    return value


def remove_mark() -> None:
    """Remove this process's own mark."""
    hard = prlimit(0, LOCKS)[1]
    prlimit(0, LOCKS, (hard, hard))


def still_running(value: int) -> list[Process]:
    """Return the other processes with a mark that do not end by themselves within ENDING_S seconds."""
    until = time.monotonic() + ENDING_S
    return [process for pid in _marked(value) if not _ends(pid, until) and (process := _process(pid))]


def _marked(value: int) -> Iterator[int]:
    for pid in (int(folder.name) for folder in Path("/proc").glob("[0-9]*")):
        with suppress(OSError):  # it has ended, or is another user's
            if pid != os.getpid() and prlimit(pid, LOCKS)[0] == value:
                yield pid


def _ends(pid: int, until: float) -> bool:
    """Wait for the end of a process, also of a child for which nobody has waited."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return True
    try:
        readable, _, _ = select.select([descriptor], [], [], max(0, until - time.monotonic()))
        return bool(readable)
    finally:
        os.close(descriptor)


def _process(pid: int) -> Process | None:
    try:
        command, environment = ((Path("/proc", str(pid)) / name).read_bytes() for name in ("cmdline", "environ"))
    except OSError:
        return None
    settings = dict(entry.partition(b"=")[::2] for entry in environment.split(b"\0"))
    test = settings.get(b"PYTEST_CURRENT_TEST", b"").decode(errors="replace")
    words = command.replace(b"\0", b" ").decode(errors="replace").strip()
    return Process(pid, words, test.rpartition(" ")[0])
