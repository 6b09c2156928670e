"""Pulumi's commands on one stack: one at a time on this host, and none outlives the worker that runs it."""

import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from threading import Lock, Thread

from pulumi.automation import CommandResult, OnOutput, PulumiCommand
from pulumi.automation.errors import create_command_error

from base.backend import environment, without_login

BUSY = 75
"""Exit code of a command that finds a process of an earlier one alive: EX_TEMPFAIL of sysexits.h."""


class GuardedPulumi(PulumiCommand):
    """The Pulumi CLI below three programs of util-linux, with SIGINT as it is by default.

    `setpriv` has the kernel kill the command when its worker dies. `flock` makes it hold the lock of its stack, which
    all its children inherit: as long as one lives, no other command begins. `unshare` makes the CLI process 1 of a
    PID namespace, with which the kernel ends the language host and the providers too.

    Args:
        lock: The lock's file. Whoever holds it knows that no update of the stack runs on this host.
    """

    def __init__(self, lock: Path) -> None:
        super().__init__(skip_version_check=True)
        self._guard = [
            # A worker that a script started in the background ignores SIGINT, and its children would, too.
            *("env", "--default-signal=INT"),
            *("setpriv", "--pdeathsig", "KILL"),
            *("flock", "--no-fork", "--nonblock", "--conflict-exit-code", str(BUSY), str(lock)),
            *("unshare", "--pid", "--fork", "--kill-child", "--mount-proc"),
        ]
        self._running: subprocess.Popen[str] | None = None
        self._is_interrupted = False
        self._beginning = Lock()
        self.printed = ""
        """What the last command wrote to stdout, also if it failed."""

    def run(
        self,
        args: list[str],
        cwd: str,
        additional_env: Mapping[str, str],
        on_output: OnOutput | None = None,
        on_error: OnOutput | None = None,
    ) -> CommandResult:
        """Run a command. Its errors, and all that a command prints that fails, have no login of the backend.

        Raises:
            CommandError: It failed, or `interrupt` came before it.
        """
        printed: dict[str, list[str]] = {"stdout": [], "stderr": []}
        with self._begun(args, cwd, additional_env) as running:

            def read(name: str, tell: OnOutput | None) -> None:
                for line in getattr(running, name):
                    printed[name].append(line.rstrip())
                    if tell:
                        tell(without_login(line.rstrip()))

            errors = Thread(target=read, args=("stderr", on_error))
            errors.start()
            read("stdout", on_output)
            errors.join()
        output = "\n".join(printed["stdout"])
        self.printed = without_login(output) if running.returncode else output
        if running.returncode == BUSY:
            printed["stderr"].append("error: a process of an earlier command on the stack is alive")
        done = CommandResult(self.printed, without_login("\n".join(printed["stderr"])), running.returncode)
        if done.code:
            raise create_command_error(done)
        return done

    def interrupt(self) -> None:
        """Do as Ctrl-C: the engine ends what is under way, writes its state and gives its lock back.

        No further command begins: what is under way may be a command before the one that matters, or between two.
        """
        with self._beginning:
            self._is_interrupted = True
            if self._running and self._running.poll() is None:
                os.killpg(self._running.pid, signal.SIGINT)

    def _begun(self, args: list[str], cwd: str, additional_env: Mapping[str, str]) -> subprocess.Popen[str]:
        with self._beginning:
            if self._is_interrupted:
                raise create_command_error(CommandResult("", "error: interrupted", -signal.SIGINT))
            self._running = subprocess.Popen(  # noqa: S603
                [*self._guard, self.command, "--non-interactive", *args],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=cwd,
                env={**environment(), **additional_env, "PULUMI_AUTOMATION_API": "true"},
                text=True,
                start_new_session=True,
            )
            return self._running
