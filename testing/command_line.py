"""Run `okd-baremetal …` as an operator, an editor or CI does: in this process, or as a process of its own."""

import io
import os
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess
from unittest.mock import patch

from cli.__main__ import main
from testing.checkout import ROOT

COMMAND = (sys.executable, "-W", "error", "-m", "cli")


def run(*words: object, folder: Path = ROOT, stdin: str = "", **environment: str) -> CompletedProcess[str]:
    """Run a command in this process, with `stdin` on standard input; return its output and exit code."""
    arguments, out, err = [str(word) for word in words], io.StringIO(), io.StringIO()
    with (
        patch("sys.stdin", io.StringIO(stdin)),
        redirect_stdout(out),
        redirect_stderr(err),
        chdir(folder),
        patch.dict(os.environ, environment),
    ):
        try:
            code = main(arguments)
        except SystemExit as wrong:  # by argparse, for a wrong command
            code = int(wrong.code or 0)
    return CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


def run_process(*words: object, **environment: str) -> CompletedProcess[str]:
    """Run a command as a process of its own; return its output and exit code."""
    arguments = [str(word) for word in words]
    done = subprocess.run(
        [*COMMAND, *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        input="",
        capture_output=True,
        text=True,
        check=False,
    )
    return CompletedProcess(arguments, done.returncode, done.stdout, done.stderr)
