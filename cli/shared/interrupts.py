"""Signals that end a command: what it has open is closed first, and its children end."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class _InterruptedError(BaseException):
    """A signal has come. No handler of errors may stop it on its way out."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(number)


@contextmanager
def unwinding() -> Iterator[None]:
    """Have a signal raise at the line that is running, so that each `finally` runs; then end by that signal."""

    def interrupt(number: int, _: object) -> None:
        for later in SIGNALS:  # a second one would interrupt the clean-up
            signal.signal(later, signal.SIG_IGN)
        raise _InterruptedError(number)

    # nohup has SIGHUP ignored, and that stays.
    before = {number: handler for number in SIGNALS if (handler := signal.getsignal(number)) != signal.SIG_IGN}
    for number in before:
        signal.signal(number, interrupt)
    try:
        yield
    except _InterruptedError as interrupted:
        sys.stdout.flush()
        sys.stderr.flush()
        signal.signal(interrupted.number, signal.SIG_DFL)
        os.kill(os.getpid(), interrupted.number)
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def child(command: Sequence[str], **popen: Any) -> Iterator["subprocess.Popen[str]"]:
    """Yield a program that was started, and is killed if a signal ends this one, whenever the signal comes.

    Args:
        command: The program and its arguments.
        popen: More arguments of `subprocess.Popen`.
    """
    let = partial(signal.pthread_sigmask, signal.SIG_UNBLOCK, SIGNALS)
    # A signal waits until the child is known: one that came while it is started would leave it behind.
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        with subprocess.Popen(command, text=True, preexec_fn=let, **popen) as started:  # noqa: S603, PLW1509  (no threads)
            try:
                let()
                yield started
            except BaseException:
                started.kill()
                raise
    finally:
        let()
