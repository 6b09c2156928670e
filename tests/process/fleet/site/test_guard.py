"""One command at a time on a stack, which ends with its worker. The stand-in is below the guard's real programs."""

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from pulumi.automation import CommandResult
from pulumi.automation.errors import CommandError, ConcurrentUpdateError

from fleet.site.guard import BUSY, GuardedPulumi
from testing.checkout import ROOT
from testing.fakes.pulumi import FakePulumi
from testing.namespaces import needs_root
from testing.processes import kill

# Without its guard, a command waits for a process that never ends.
pytestmark = [needs_root, pytest.mark.timeout(30)]
WORKER = """
import sys
from pathlib import Path
from fleet.site.guard import GuardedPulumi
GuardedPulumi(Path(sys.argv[1])).run(["up"], sys.argv[2], {})
"""


class Site:
    """A folder with a lock, and two FIFOs: the command writes into `said`, and reads from `told`.

    Both ends of a FIFO wait for each other. `said` ends once all processes that have it open have ended.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.lock, self.said, self.told = (folder / each for each in ("", "lock", "said", "told"))
        os.mkfifo(self.said)
        os.mkfifo(self.told)

    def guarded(self) -> GuardedPulumi:
        return GuardedPulumi(self.lock)

    def run(self, command: str, guarded: GuardedPulumi | None = None) -> CommandResult:
        return (guarded or self.guarded()).run([command], str(self.folder), {})

    def is_free(self) -> bool:
        """Return whether no process holds the lock."""
        with self.lock.open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("SITE", str(tmp_path))
    yield Site(tmp_path)
    kill(f"SITE={tmp_path}\0", "sleep")


@pytest.fixture
def thread() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def test_a_command_gets_its_words_folder_and_environment(site: Site, pulumi: FakePulumi) -> None:
    pulumi.does("up", 'echo "$*"; pwd; echo "$COLOUR"; echo "also this" >&2')
    seen, errors = list[str](), list[str]()
    guarded = site.guarded()
    done = guarded.run(["up", "--yes"], str(site.folder), {"COLOUR": "red"}, seen.append, errors.append)
    assert done.stdout.splitlines() == ["up --yes", str(site.folder), "red"] == seen
    assert done.stderr.splitlines() == ["also this"] == errors
    assert (done.code, guarded.printed) == (0, done.stdout)


def test_a_failure_is_pulumis_own_error_and_keeps_what_was_printed(site: Site, pulumi: FakePulumi) -> None:
    pulumi.does("preview", 'echo "{}"; echo "error: the stack is currently locked by 1 lock(s)" >&2; exit 255')
    guarded = site.guarded()
    with pytest.raises(ConcurrentUpdateError, match="code: 255"):
        site.run("preview", guarded)
    assert guarded.printed == "{}"


def begun(site: Site, thread: ThreadPoolExecutor, guarded: GuardedPulumi) -> Future[CommandResult]:
    """Run `up` in a thread, and return once the command says that it has begun."""
    running = thread.submit(site.run, "up", guarded)
    assert site.said.read_text() == "begun\n"
    return running


def test_a_second_command_waits_for_nobody(site: Site, pulumi: FakePulumi, thread: ThreadPoolExecutor) -> None:
    pulumi.does("up", f"echo begun >{site.said}; read -r _ <{site.told}")
    first = begun(site, thread, site.guarded())
    try:
        with pytest.raises(CommandError, match=rf"code: {BUSY}\n.*\n stderr: error: a process of an earlier command"):
            site.run("preview")
    finally:
        site.told.write_text("end\n")
    assert first.result().code == 0
    assert site.run("preview").code == 0
    assert pulumi.calls() == ["up", "preview"]


def test_no_process_outlives_its_command(site: Site, pulumi: FakePulumi) -> None:
    pulumi.does("up", f"sleep 1000 & echo $! >{site.folder}/child; echo done")
    assert site.run("up").stdout == "done"
    assert site.is_free()


def test_the_kernel_ends_all_with_the_worker(site: Site, pulumi: FakePulumi) -> None:
    pulumi.does("up", f"exec 9>{site.said}; setsid sleep 1000 & echo begun >&9; wait")
    command = [sys.executable, "-c", WORKER, str(site.lock), str(site.folder)]
    with subprocess.Popen(command, cwd=ROOT) as worker, site.said.open() as said:
        assert said.readline() == "begun\n"
        assert not site.is_free()
        worker.kill()
        assert said.read() == ""
    with site.lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # waits


@pytest.fixture(params=[signal.SIG_DFL, signal.SIG_IGN], ids=["heeds", "ignores"])
def sigint(request: pytest.FixtureRequest) -> Iterator[None]:
    """A process that heeds SIGINT, and one that ignores it, as what a script starts in the background."""
    before = signal.signal(signal.SIGINT, request.param)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("sigint")
def test_an_interrupt_is_that_of_ctrl_c(site: Site, pulumi: FakePulumi, thread: ThreadPoolExecutor) -> None:
    pulumi.does("up", f"trap 'echo state is written; exit 3' INT; echo begun >{site.said}; sleep 1000 & wait")
    guarded = site.guarded()
    running = begun(site, thread, guarded)
    guarded.interrupt()
    with pytest.raises(CommandError, match="code: 3"):
        running.result()
    assert guarded.printed == "state is written"


def test_after_an_interrupt_no_command_begins(site: Site, pulumi: FakePulumi) -> None:
    guarded = site.guarded()
    guarded.interrupt()
    with pytest.raises(CommandError, match=f"code: {-signal.SIGINT}\n"):
        site.run("up", guarded)
    assert pulumi.calls() == []
    assert site.run("up").code == 0
