"""What the rehearsal and the tests change for the programs that they start."""

import signal
import subprocess
import sys
from pathlib import Path

from testing.checkout import ROOT
from testing.namespaces import needs_root

AUTOGROUP = Path("/proc/self/autogroup")
INTERRUPTS = """
import signal, subprocess, sys
from testing.processes import accept_interrupts
{}
subprocess.run([sys.executable, "-c", "import signal; print(signal.getsignal(signal.SIGINT).__class__.__name__)"])
"""
WEIGHED = """
from pathlib import Path
from lab.rehearsal.provisioner import prioritized_over_servers
group = Path("/proc/self/autogroup")
shown = lambda: print(" ".join(group.read_text().split()[1:]) if group.exists() else "not in this kernel")
with prioritized_over_servers():
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
def test_the_rehearsal_goes_before_its_servers_and_only_while_it_runs() -> None:
    during, after = run(WEIGHED).splitlines()
    assert (during, after) == (("nice -10", "nice 0") if AUTOGROUP.exists() else ("not in this kernel",) * 2)
