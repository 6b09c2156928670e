"""Tests leave the machine as they found it: each kind of remnant fails the run (issue 40, 6)."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from testing.checkout import ROOT
from testing.marked_processes import LANGUAGE_HOST, Process
from testing.namespaces import SBIN, ip, needs_root
from testing.remnants import FIX

Run = Callable[..., pytest.RunResult]
SLEEP_S = f"4711.{os.getpid()}"
"""Of no other run of these tests."""
SLEEP = f"sleep {SLEEP_S}"
HEAD = f"""\
import pathlib, socket, subprocess

def shell(command):
    subprocess.run(command, shell=True, check=True, env={{"PATH": "{SBIN}"}})

"""
DAEMON = f"""\
import pytest, subprocess

@pytest.fixture(scope="session", autouse=True)
def daemon():
    with subprocess.Popen(["sleep", "{SLEEP_S}"]) as sleeping:
        yield
        sleeping.kill()
"""
REMNANTS = {
    "host_name": ("socket.sethostname('left')", "host name left"),
    "address": ("shell('ip address add 192.0.2.9/32 dev lo')", "address lo *192.0.2.9/32*"),
    "route": ("shell('ip route add 198.51.100.0/24 dev lo')", "route 198.51.100.0/24 dev lo*"),
    "rule": ("shell('ip rule add from 192.0.2.9 table 7')", "rule * from 192.0.2.9 lookup 7"),
    "link": ("shell('ip link add left type bridge')", "link left *"),
    "namespace": ("shell('ip netns add left')", "file /run/netns/left"),
    "mount": ("shell('mkdir mnt; mount -t tmpfs left mnt')", "mount */mnt of tmpfs left"),
    "nft": ("shell('nft add table inet left')", "nft table inet left {"),
    "temporary_file": ("pathlib.Path('/tmp/left').touch()", "file /tmp/left"),
    "run": ("pathlib.Path('/run/left').mkdir()", "file /run/left"),
    "shared_memory": ("pathlib.Path('/dev/shm/left').touch()", "file /dev/shm/left"),
    "lab": ("pathlib.Path('/var/lib/okd-lab').mkdir()", "file /var/lib/okd-lab"),
}
"""By the name of a test: what it does, and the line about it."""
FOLDERS = ("/tmp", "/run", "/run/netns", "/dev/shm", "/sys/class/net")  # noqa: S108
CHILD = f"subprocess.Popen(['sleep', '{SLEEP_S}'])"
ORPHAN = (
    f"subprocess.Popen(['sh', '-c', 'setsid sleep {SLEEP_S} & echo'], env={{}}, stdout=subprocess.PIPE)"
    ".stdout.readline()"
)


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the given bodies as tests, by name, with the plugin, in a process of its own."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))

    def in_process(*words: str, **bodies: str) -> pytest.RunResult:
        tests = "".join(f"def test_{name}():\n    {body}\n\n" for name, body in bodies.items())
        pytester.makepyfile(test_it=HEAD + tests)
        return pytester.runpytest_subprocess("-p", "testing.remnants", *words)

    return in_process


def left(done: pytest.RunResult) -> list[str]:
    """Return the lines about remnants, without the fix."""
    return done.stdout.str().partition(" left on the machine ")[2].partition("Fix: ")[0].splitlines()[1:]


def running(command: str) -> set[str]:
    """Return the ids of the processes on this machine with that command line."""
    done = subprocess.run(["pgrep", "--full", "--exact", command], capture_output=True, text=True, check=False)
    return {*done.stdout.split()}


@needs_root
@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "worker"])
def test_a_remnant_fails_the_run_and_names_its_test(run: Run, workers: tuple[str, ...]) -> None:
    name = os.uname().nodename
    done = run(*workers, **{test: body for test, (body, _) in REMNANTS.items()})
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.assert_outcomes(passed=len(REMNANTS))
    lines = [f"{line}, first seen after test_it.py::test_{test}" for test, (_, line) in REMNANTS.items()]
    done.stdout.fnmatch_lines_random([*lines, FIX])
    assert os.uname().nodename == name
    assert [folder for folder in FOLDERS if Path(folder, "left").exists()] == []


@needs_root
def test_what_others_do_meanwhile_is_no_remnant(run: Run, tmp_path: Path) -> None:
    """Somebody else, here in the namespaces of this test, changes the machine while tests run."""
    other = tmp_path / "other.sh"
    other.write_text("ip link add theirs type bridge; touch /run/theirs; ip address add 192.0.2.9/32 dev lo\n")
    inside = f"nsenter --target {os.getpid()} --net --uts --mount sh -e {other}"
    try:
        done = run(one=f"shell('{inside}')", two="assert not pathlib.Path('/run/theirs').exists()")
    finally:
        Path("/run/theirs").unlink()
        ip("link delete theirs")
        ip("address delete 192.0.2.9/32 dev lo")
    assert (done.ret, left(done)) == (pytest.ExitCode.OK, [])


@needs_root
def test_what_the_first_mount_makes_is_no_remnant(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """libmount's folder stays, and a new machine has none."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makepyfile(
        f"{HEAD}def test_one():\n    shell('mkdir mnt; mount -t tmpfs one mnt; test -d /run/mount; umount mnt')\n"
    )
    new = f"mount -t tmpfs run /run; rm -rf /run/mount; exec {sys.executable} -m pytest -p testing.remnants"
    done = pytester.run("unshare", "--mount", "--propagation", "private", "sh", "-ec", new)
    assert (done.ret, left(done)) == (pytest.ExitCode.OK, [])


@needs_root
def test_virtual_machines_of_the_machine_are_out_of_reach(run: Run) -> None:
    sockets = Path("/run/libvirt")
    is_there = sockets.exists()
    sockets.mkdir(exist_ok=True)
    done = run(one="assert not pathlib.Path('/run/libvirt').exists()")
    if not is_there:
        sockets.rmdir()
    assert done.ret == pytest.ExitCode.OK


def test_a_fixture_of_the_session_may_keep_things_until_its_end(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makeconftest(DAEMON)
    done = run("-n", "1", one="pass", other="pass")
    assert (done.ret, left(done)) == (pytest.ExitCode.OK, [])


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])
def test_a_process_that_a_test_leaves_fails_the_run_and_is_ended(run: Run, workers: tuple[str, ...]) -> None:
    before = running(SLEEP)  # those of a run that was killed, such as one with a planted fault
    done = run(*workers, one=CHILD, two=ORPHAN, three="pass")
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.assert_outcomes(passed=3)
    assert left(done) == [f"process sleep {SLEEP_S}", f"process sleep {SLEEP_S}, started by test_it.py::test_one"]
    assert running(SLEEP) <= before


@pytest.mark.parametrize("command", ["", "sleep", LANGUAGE_HOST, f"/bin/{LANGUAGE_HOST} -v=9"])
def test_a_program_that_names_no_engine_does_not_end_by_itself(command: str) -> None:
    assert not Process(1, command, "").ends_by_itself()


def test_a_language_host_is_a_remnant_only_while_its_engine_runs(pytester: pytest.Pytester, run: Run) -> None:
    pulumi = shutil.which("pulumi")
    assert pulumi
    program = Path(pulumi).resolve().parent / LANGUAGE_HOST
    started = f"""host = subprocess.Popen(["{program}", f"127.0.0.1:{{port}}"], stdout=subprocess.PIPE)
    host.stdout.readline()
    pathlib.Path(f"{{host.pid}}.pid").touch()"""
    ended = "with socket.create_server(('127.0.0.1', 0)) as engine: port = engine.getsockname()[1]"
    runs = "global engine; engine = socket.create_server(('127.0.0.1', 0)); port = engine.getsockname()[1]"
    (line,) = left(run(one=f"{runs}\n    {started}", two=f"{ended}\n    {started}"))
    command, by = line.removeprefix("process ").split(", ")
    assert (command.partition(":")[0], by) == (f"{program} 127.0.0.1", "started by test_it.py::test_one")
    hosts = [Path("/proc", file.stem) for file in pytester.path.glob("*.pid")]
    assert [host.exists() for host in hosts] == [False, False]
