"""What the rehearsal and the tests change for the programs that they start."""

import signal
import subprocess
import sys

from lab.rehearsal.provisioner import AUTOGROUP
from testing.checkout import ROOT
from testing.namespaces import needs_root

INTERRUPTS = """
import signal, subprocess, sys
from testing.processes import accept_interrupts
{}
subprocess.run([sys.executable, "-c", "import signal; print(signal.getsignal(signal.SIGINT).__class__.__name__)"])
"""
WEIGHED = """
from lab.rehearsal.provisioner import AUTOGROUP, without_weighed_sessions
shown = lambda: print(AUTOGROUP.read_text().strip() if AUTOGROUP.exists() else "not in this kernel")
shown()
with without_weighed_sessions():
    shown()
shown()
"""


def run(script: str) -> str:
    """Run a script as a background job of another script, in a session of its own."""
    return subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    ).stdout


def test_a_program_started_in_the_background_accepts_interrupts() -> None:
    assert run(INTERRUPTS.format("")) == "Handlers\n", "it ignores them otherwise"
    assert run(INTERRUPTS.format("accept_interrupts()")) == "builtin_function_or_method\n"


@needs_root
def test_linux_does_not_weigh_sessions_while_a_rehearsal_runs() -> None:
    before, during, after = run(WEIGHED).splitlines()
    assert (during, after) == ("0" if AUTOGROUP.exists() else before, before)
