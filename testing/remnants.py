"""Tests leave the machine as they found it: a plugin of pytest and xdist, which tests/conftest.py loads.

Each process that runs tests does so on a machine of its own, where nobody else works, and marks the programs that it
starts. What is left at its end fails the run, with the test after which it was there first. Without root, tests can
change only files and processes; then only the processes are checked.
"""

import getpass
import os
import signal
import tempfile
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest

from base.files import PRIVATE_FOLDER
from base.lock import folder_of
from testing.marked_processes import mark, remove_mark, still_running
from testing.own_machine import enter_own_machine

OUTPUT = "remnants"
"""The key below which a worker of xdist hands its lines to the controller."""
FIX = "Fix: have the test, or its fixture, end or remove it"


def pytest_configure(config: pytest.Config) -> None:
    """Watch the tests of this process; as xdist's controller, collect what its workers report."""
    is_controller = config.getoption("dist", "no") != "no"
    config.pluginmanager.register(Report() if is_controller else Watch(config), "remnants-of-this-process")


class Report:
    """Fails the run of which something is left."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        """Take the lines of a worker that ended; one that crashed has none."""
        self.lines += getattr(node, "workeroutput", {}).get(OUTPUT, [])

    @pytest.hookimpl(trylast=True)  # xdist has ended its workers by then
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a run that would pass."""
        if self.lines and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print what is left."""
        if self.lines:
            terminalreporter.section("left on the machine", red=True)
            for line in (*sorted(self.lines), FIX):
                terminalreporter.line(line)


class Watch(Report):
    """Watches the tests that this process runs."""

    def __init__(self, config: pytest.Config) -> None:
        super().__init__()
        self._config = config
        # pytest's own folder stays, so it is no remnant.
        Path(tempfile.gettempdir(), f"pytest-of-{getpass.getuser()}").mkdir(mode=0o700, exist_ok=True)
        self._mark, self._machine = mark(), enter_own_machine()
        if self._machine:  # the program's folder of locks stays, too: a machine on which it has run once has it
            folder_of(os.geteuid()).mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
        config.add_cleanup(self._end)  # if the session does not begin
        self._first: dict[str, str] = {}
        self._before, self._last = self._state(), self._fingerprint()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Note what is new after a test. Its fixtures of a wider scope may remove it later."""
        result = yield
        if (seen := self._fingerprint()) != self._last:
            self._last = seen
            for thing in self._state() - self._before:
                self._first.setdefault(thing, item.nodeid)
        return result

    @pytest.hookimpl(trylast=True)  # pytest ends the fixtures of the session before
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Compare the machine with that of the start, and end what is left."""
        for process in still_running(self._mark):
            by = f", started by {process.test}" if process.test else ""
            if not process.ends_by_itself():
                self.lines.append(f"process {process.command}{by}")
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        for thing in self._state() - self._before:
            after = f", first seen after {self._first[thing]}" if thing in self._first else ""
            self.lines.append(f"{thing}{after}")
        self.lines += [f"missing: {thing}" for thing in self._before - self._state()]
        self._end()  # xdist may kill a worker as soon as that has reported
        if (output := getattr(self._config, "workeroutput", None)) is not None:
            output[OUTPUT] = self.lines
        else:
            super().pytest_sessionfinish(session)

    def _end(self) -> None:
        remove_mark()
        if self._machine:
            self._machine.end()

    def _state(self) -> set[str]:
        return self._machine.state() if self._machine else set()

    def _fingerprint(self) -> object:
        return self._machine.fingerprint() if self._machine else None
