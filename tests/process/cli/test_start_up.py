"""How a command starts: Ctrl-C prints no traceback at any moment (S16), and no other user writes its files (S22)."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from testing import plans
from testing.checkout import ROOT

PROGRAM = ROOT / "tools" / "okd-baremetal"
KILLS = 25
REPORTED = "import time:"
"""How Python begins the line that it prints when it has imported a module."""


def started(command: list[str | Path]) -> "subprocess.Popen[str]":
    """Start a command that prints a line for each module that it has imported."""
    environment = {**os.environ, "PYTHONPROFILEIMPORTTIME": "1"}
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def interrupted(command: list[str | Path], after: int) -> tuple[int, list[str]]:
    """Send SIGINT when so many modules are imported; return the exit code, and what else was printed."""
    with started(command) as process:
        assert process.stderr
        for _ in range(after):
            process.stderr.readline()
        process.send_signal(signal.SIGINT)
        printed = process.stderr.read().splitlines()
    return process.returncode, [line for line in printed if line and REPORTED not in line]


def test_an_interrupt_at_any_moment_of_a_start_prints_nothing() -> None:
    command: list[str | Path] = [PROGRAM, "check", "stacks/rehearsal/install-config.yaml"]
    with started(command) as process:
        assert process.stderr
        imports = sum(REPORTED in line for line in process.stderr)
    moments = [imports * kill // KILLS for kill in range(KILLS)]
    ends = [(moment, *interrupted(command, moment)) for moment in moments]
    assert [end for end in ends if end[1:] != (-signal.SIGINT, [])] == []


CALLBACK = """\
import os, signal, weakref
from cli.shared.interrupts import unwinding

class Watched:
    pass

with unwinding():
    watched = Watched()
    reference = weakref.ref(watched, lambda _: os.kill(os.getpid(), signal.SIGINT))
    del watched
    print("alive")
"""
THREADS = """\
import os, signal, threading
from cli.shared.interrupts import threads, unwinding

with unwinding(), threads(1) as pool:
    pool.submit(threading.Event().wait)
    os.kill(os.getpid(), signal.SIGINT)
    print("alive")
"""

IMPORT = """\
import argparse, os, signal
from cli.shared.command_line import run
from cli.shared.interrupts import unwinding

def imports(_):
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:
        raise TypeError("as an import of ssl on Python 3.11, 2026-11") from None

parser = argparse.ArgumentParser()
parser.set_defaults(run=imports)
with unwinding():
    run(parser, [])
"""


@pytest.mark.parametrize(
    "script", [CALLBACK, THREADS, IMPORT], ids=["in-a-callback", "beside-a-thread", "turned-into-an-error"]
)
def test_an_interrupt_ends_the_process(script: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def writable_by_others(folder: Path) -> list[str]:
    return [
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if not path.is_symlink() and path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    ]


def test_others_write_no_file_of_a_command(tmp_path: Path) -> None:
    (tmp_path / "install-config.yaml").write_text(plans.written(plans.install_config()))
    compiled = {"PYTHONPYCACHEPREFIX": str(tmp_path / "compiled"), "PYTHONDONTWRITEBYTECODE": ""}
    environment = {**os.environ, **compiled}
    for words in (
        ("init", "prod", "--install-config", "install-config.yaml"),
        ("render", "install-config.yaml", "--sample-addresses", "--out", "rendered"),
    ):
        subprocess.run([PROGRAM, *words], cwd=tmp_path, env=environment, umask=0, capture_output=True, check=False)
    made = {path.name for path in tmp_path.rglob("*")}
    assert {"Pulumi.prod.yaml", "prod", "rendered", "compiled"} <= made
    assert writable_by_others(tmp_path) == []


def test_others_write_nothing_that_python_makes_from_its_start_on() -> None:
    """As the first of all, Python compiles the program of Pulumi, in the folder of the site."""
    script = "import os, site; site.addsitedir('tools'); print(oct(os.umask(0)))"
    done = subprocess.run(
        [sys.executable, "-S", "-c", script], cwd=ROOT, umask=0, capture_output=True, text=True, check=True
    )
    assert done.stdout == "0o22\n"


def test_others_write_nothing_that_a_target_makes(tmp_path: Path) -> None:
    """The folders of an environment decide which code root runs."""
    target = f"made: ; @mkdir {tmp_path}/made && umask 027 && (umask; echo $@)"
    command = ["make", "--no-print-directory", "--eval", target, "made"]
    done = subprocess.run(command, cwd=ROOT, umask=0, capture_output=True, text=True, check=True)
    assert done.stdout == "0027\nmade\n"
    assert writable_by_others(tmp_path) == []


def test_others_write_no_file_of_a_tool(tmp_path: Path) -> None:
    script = f". {ROOT}/tools/lib.sh; lock image"
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    subprocess.run(["bash", "-c", script], env=environment, umask=0, check=True)
    assert {path.name for path in tmp_path.rglob("*")} == {"okd-baremetal", "image.lock"}
    assert writable_by_others(tmp_path) == []
