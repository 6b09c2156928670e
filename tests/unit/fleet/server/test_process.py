"""One process of the server, with small programs in the place of large ones."""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleet.server import process as module
from fleet.server.process import Process, mortal

STUBBORN = "trap '' TERM; echo ready; while :; do sleep 0.01; done"


@pytest.fixture
def lock(tmp_path: Path) -> Iterator[int]:
    with (tmp_path / "lock").open("w") as file:
        yield file.fileno()


def process(folder: Path, lock: int, script: str) -> Process:
    return Process([*mortal(signal.SIGKILL), "sh", "-c", script], folder / "part.log", lock)


def ended(pid: int) -> None:
    """Wait for the end of a child of this process, and leave it to its parent."""
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


def until_ready(log: Path) -> None:
    while "ready" not in log.read_text():
        os.sched_yield()


def test_an_end_unasked_is_told_with_the_end_of_the_log(tmp_path: Path, lock: int) -> None:
    part = process(tmp_path, lock, "seq 100; exit 3")
    part.start()
    ended(part.pid)
    lines = "\n".join(str(number) for number in range(89, 101))
    assert str(part.fault()) == f"part: ended with status 3; the end of {tmp_path}/part.log:\n{lines}"


def test_an_end_asked_for_is_no_fault(tmp_path: Path, lock: int) -> None:
    part = process(tmp_path, lock, "exec sleep 60")
    part.start()
    assert part.fault() is None
    part.stop(signal.SIGKILL)
    assert (part.fault(), part.pid) == (None, 0)


def test_one_that_ignores_its_end_is_killed(tmp_path: Path, lock: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "END_S", 0)
    part = process(tmp_path, lock, STUBBORN)
    part.start()
    pid = part.pid
    until_ready(part.log)
    part.end()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_it_outlives_the_thread_that_asked_for_it(tmp_path: Path, lock: int) -> None:
    part = process(tmp_path, lock, "echo ready; exec sleep 60")

    def start() -> None:
        part.start()
        until_ready(part.log)

    thread = threading.Thread(target=start)
    thread.start()
    while Path(f"/proc/self/task/{thread.native_id}").exists():
        os.sched_yield()
    os.kill(part.pid, signal.SIGTERM)  # an earlier SIGKILL would be first
    ended(part.pid)
    assert f"ended with status {-signal.SIGTERM};" in str(part.fault())
