import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from lab.paths import FILES
from lab.shell import LabError
from lab.site import exec_command, network, processes
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


@pytest.mark.parametrize("variable", ["http_proxy", "HTTPS_PROXY", "all_proxy", "no_proxy"])
def test_no_process_of_the_lab_asks_a_proxy(variable: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Sushy-emulator downloads a boot ISO by requests, which would ask the operator's for it, and not reach it."""
    monkeypatch.setenv(variable, "http://proxy.example.com:3128")
    monkeypatch.setattr(processes, "PID", tmp_path)
    monkeypatch.setattr(processes, "LOG", tmp_path)
    started = dict[str, str]()
    monkeypatch.setattr(subprocess, "Popen", lambda *_, env, **__: started.update(env) or SimpleNamespace())
    Daemon("sushy-emulator").start("true", env={"TMPDIR": "/t"})
    assert (started.get(variable), started["TMPDIR"], started["PATH"]) == (None, "/t", os.environ["PATH"])
    monkeypatch.setattr(network, "namespace_exists", lambda: True)
    _, inside = exec_command(["true"])
    assert variable not in inside


def test_wait_ends_at_its_deadline() -> None:
    with pytest.raises(LabError, match="all of it: not reached after 0 s"):
        wait_until(lambda: False, "all of it", 0)
