"""Signals that end a command: what it has open is closed first, and its children end."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class _InterruptedError(BaseException):
    """A signal has come. No handler of errors may stop it on its way out."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(number)


class _Interrupts:
    """The signals of `unwinding`, which wait while a child is started: one in between would leave it behind."""

    def __init__(self) -> None:
        self._waits, self._come = False, 0

    def interrupt(self, number: int, _: object) -> None:
        """Take a signal: raise at the line that is running, or wait."""
        for later in SIGNALS:  # a second one would interrupt the clean-up
            signal.signal(later, signal.SIG_IGN)
        self._come = number
        if not self._waits:
            raise _InterruptedError(number)

    def hold(self) -> None:
        """Have a signal wait until `let`."""
        self._waits = True

    def let(self) -> None:
        """Raise for the signal that waits."""
        self._waits = False
        if self._come:
            raise _InterruptedError(self._come)


_INTERRUPTS = _Interrupts()


@contextmanager
def unwinding() -> Iterator[None]:
    """Have a signal raise at the line that is running, so that each `finally` runs; then end by that signal."""
    # nohup has SIGHUP ignored, and that stays.
    before = {number: handler for number in SIGNALS if (handler := signal.getsignal(number)) != signal.SIG_IGN}
    for number in before:
        signal.signal(number, _INTERRUPTS.interrupt)
    sys.unraisablehook = _unraisable
    try:
        yield
    except _InterruptedError as interrupted:
        _end_by(interrupted.number)
        raise
    finally:
        sys.unraisablehook = sys.__unraisablehook__
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_by(number: int) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _unraisable(ignored: "sys.UnraisableHookArgs") -> None:
    """End this process if the signal came in a callback, as of a weak reference, out of which nothing is raised."""
    if isinstance(ignored.exc_value, _InterruptedError):
        _end_by(ignored.exc_value.number)
    sys.__unraisablehook__(ignored)


@contextmanager
def signals_first() -> Iterator[None]:
    """Raise for a signal in place of the error that it became: some imports convert the exception of a handler."""
    try:
        yield
    except Exception:
        _INTERRUPTS.let()
        raise


@contextmanager
def threads(most: int) -> Iterator[ThreadPoolExecutor]:
    """Yield at most so many threads. Nobody waits for them if a signal of `unwinding` comes."""
    pool = ThreadPoolExecutor(most)
    try:
        yield pool
    except BaseException as error:
        pool.shutdown(wait=isinstance(error, Exception), cancel_futures=True)
        raise
    pool.shutdown()


@contextmanager
def child(command: Sequence[str], **popen: Any) -> Iterator["subprocess.Popen[str]"]:
    """Yield a program that was started, and is killed if a signal of `unwinding` ends this one.

    Args:
        command: The program and its arguments.
        popen: More arguments of `subprocess.Popen`.
    """
    _INTERRUPTS.hold()
    try:
        started = subprocess.Popen(command, text=True, **popen)  # noqa: S603
    except BaseException:
        _INTERRUPTS.let()
        raise
    with started:
        try:
            _INTERRUPTS.let()
            yield started
        except BaseException:
            started.kill()
            raise
