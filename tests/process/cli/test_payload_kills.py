"""`okd-baremetal payload`, ended at each of its steps: keys are afterwards in exactly one named place."""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from testing import plans
from testing.checkout import ROOT
from testing.command_line import COMMAND
from testing.fakes import openshift_install

STEPS = ("--json", "manifests", "ignition-configs", "generated", "set-all")
"""Pulumi is asked, openshift-install works twice and is about to end, Pulumi writes."""
HAS_WORK = ("manifests", "ignition-configs", "generated")
SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL)
OLD = "of an earlier run"
BLOCK = """\
#!/bin/sh
block() { echo $$ >reached; read -r _ <hold; }
"""

UNDER_NOHUP = """\
import os, signal
from cli.shared.interrupts import unwinding
signal.signal(signal.SIGHUP, signal.SIG_IGN)
with unwinding():
    os.kill(os.getpid(), signal.SIGHUP)
    print("alive")
"""
AS_A_CHILD_STARTS = """\
import os, signal, subprocess
from cli.shared.interrupts import child, unwinding

class Started(subprocess.Popen):
    def __init__(self, *words, **more):
        super().__init__(*words, **more)
        print(self.pid, flush=True)
        os.kill(os.getpid(), signal.SIGTERM)

subprocess.Popen = Started
with unwinding(), child(["sleep", "300"], stdout=subprocess.DEVNULL):
    print("alive")
"""


class Run:
    """A run of `payload` in a project with keys that no stack pins, which stops at a step.

    Args:
        folder: An empty folder.
    """

    def __init__(self, folder: Path, step: str) -> None:
        self.folder, self.stack = folder, folder / "stacks/prod"
        (self.stack / "payload/auth").mkdir(parents=True)
        (self.stack / "payload/auth/kubeconfig").write_text(OLD)
        (self.stack / "install-config.yaml").write_bytes(plans.INSTALL_CONFIG.read_bytes())
        (folder / "stacks/Pulumi.prod.yaml").write_text("config: {}")
        (folder / "mine").mkdir()
        (folder / "mine/99-mine.yaml").write_text("kind: ConfigMap\n")
        for name in ("reached", "hold"):
            os.mkfifo(folder / name)
        self._tool("openshift-install", self._openshift_install(step))
        self._tool("pulumi", f'test "$2" != "{step}" || block; echo "{{}}"')
        self.process = self._started()
        self.child = int((folder / "reached").read_text())

    def again(self) -> str:
        """Run the command once more, with nothing that stops it; return what it prints."""
        self._tool("openshift-install", self._openshift_install(""))
        self._tool("pulumi", 'echo "{}"')
        process = self._started()
        printed, _ = process.communicate()
        assert process.returncode == 0, printed
        return printed

    @property
    def keys(self) -> dict[str, str]:
        """The administrator's kubeconfig in each folder beside the install-config, by the folder's name."""
        return {path.parents[1].name: path.read_text() for path in self.stack.glob("*/auth/kubeconfig")}

    @property
    def working(self) -> list[str]:
        return [path.name for path in self.stack.glob(".payload-*")]

    def _openshift_install(self, step: str) -> str:
        openshift_install.put_on_path(self.folder / "real")
        real = shlex.quote(str(self.folder / "real/openshift-install"))
        after = f'test "$2{step}" != ignition-configsgenerated || block'
        return f'test "$2" != "{step or "-"}" || block\n{real} "$@" || exit\n{after}'

    def _tool(self, name: str, script: str) -> None:
        path = self.folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{BLOCK}{script}\n")
        path.chmod(0o755)

    def _started(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*COMMAND, "payload", "prod", "--manifests", "mine"],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


@pytest.fixture
def stopped(tmp_path: Path, step: str) -> Iterator[Run]:
    run = Run(tmp_path, step)
    yield run
    with suppress(ProcessLookupError):
        os.kill(run.child, signal.SIGKILL)
    run.process.kill()
    run.process.communicate()


def has_ended(pid: int) -> bool:
    """Return whether a process is gone, or only waits for its parent to take note."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_run_that_is_ended_loses_no_key(stopped: Run, step: str, number: signal.Signals) -> None:
    stopped.process.send_signal(number)
    assert stopped.process.wait(60) == -number
    is_killed, is_pinning = number is signal.SIGKILL, step == "set-all"

    (old,) = [name for name, text in stopped.keys.items() if text == OLD]
    assert old.startswith("payload-2") if is_pinning else old == "payload"
    new = [name for name, text in stopped.keys.items() if text != OLD]
    assert new == (["payload"] if is_pinning else stopped.working if is_killed and step == "generated" else [])
    assert len(stopped.working) == (is_killed and step in HAS_WORK)
    if not is_killed and step != "--json":
        assert has_ended(stopped.child)


@pytest.mark.parametrize("step", ["generated", "set-all"])
def test_the_next_run_names_what_a_killed_one_has_left(stopped: Run, step: str) -> None:
    stopped.process.kill()
    stopped.process.wait(60)
    before = stopped.keys
    os.kill(stopped.child, signal.SIGKILL)
    printed = stopped.again()
    assert stopped.working == []
    assert {*before.values()} < {*stopped.keys.values()}, "those of before and new ones"
    named = {name for name in stopped.keys if f"stacks/prod/{name}" in printed}
    assert named >= {name for name, text in stopped.keys.items() if text in before.values() and name not in before}


def test_a_child_of_a_killed_run_keeps_its_folder(tmp_path: Path) -> None:
    """The orphan may still write into it: a second run would move it away."""
    run = Run(tmp_path, "ignition-configs")
    try:
        run.process.kill()
        run.process.wait(60)
        second = run._started()
        printed, _ = second.communicate(timeout=60)
        assert second.returncode == 2
        assert "another run generates a payload there" in printed
    finally:
        os.kill(run.child, signal.SIGKILL)
        run.process.communicate()


def test_nohup_keeps_a_run_alive() -> None:
    """A run that ignores SIGHUP from the start is not ended by it."""
    done = subprocess.run([sys.executable, "-c", UNDER_NOHUP], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "alive\n")


def test_a_signal_while_a_child_is_started_ends_the_child() -> None:
    code = [sys.executable, "-c", AS_A_CHILD_STARTS]
    done = subprocess.run(code, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == -signal.SIGTERM
    assert has_ended(int(done.stdout))
