import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.paths import FILES
from lab.shell import LabError
from lab.site import processes
from lab.site.processes import Daemon, ancestors, end_process, wait_until


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that wrote its own record, as the lab's daemons do."""
    command = [str(FILES / "recorded-exec.sh"), str(tmp_path / "sleeper"), "sleep", "60"]
    with subprocess.Popen(command) as process:
        wait_until(lambda: (tmp_path / "sleeper").exists() and (tmp_path / "sleeper").read_text() != "", "record", 5)
        yield process
        process.kill()


def test_a_daemon_is_found_by_its_record_and_ended_by_its_id(
    sleeper: subprocess.Popen[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "PID", tmp_path)
    daemon = Daemon("sleeper")
    assert daemon.pid == sleeper.pid
    daemon.stop()
    assert sleeper.wait(5) < 0
    assert daemon.pid is None
    daemon.stop()


def test_a_process_with_a_reused_id_is_not_ended(
    sleeper: subprocess.Popen[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "PID", tmp_path)
    daemon = Daemon("other")
    daemon.record.write_text(f"{sleeper.pid} 1\n")
    assert daemon.pid is None
    daemon.stop()
    assert sleeper.poll() is None


def test_zombie_counts_as_ended(sleeper: subprocess.Popen[bytes]) -> None:
    sleeper.kill()
    end_process(sleeper.pid)


def test_ancestors_are_never_ended() -> None:
    assert {os.getpid(), os.getppid()} <= ancestors()


def test_wait_ends_at_its_deadline() -> None:
    with pytest.raises(LabError, match="all of it: not reached after 0 s"):
        wait_until(lambda: False, "all of it", 0)
