"""`okd-baremetal log`: a run's log as text."""

import json
from pathlib import Path

import pytest

from testing.command_line import run

OLD, NEW = "2026-11-23T045857.889Z", "2026-11-23T061500.000Z"
LINES = [
    {
        "time": "2026-11-23T06:15:00.000Z",
        "resource": "BmcHost::m0",
        "machine": "m0",
        "event": "step",
        "text": "create",
    },
    {"time": "2026-11-23T06:15:09.250Z", "event": "libvirt", "text": "test:///default: create domain vm"},
    {"time": "2026-11-23T06:17:00.001Z", "resource": "VipHeld::okd", "event": "error", "text": "a\x1b[31mb"},
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "log" / "prod"
    folder.mkdir(parents=True)
    (folder / f"{OLD}.jsonl").write_text(json.dumps({**LINES[0], "text": "of before"}) + "\n")
    (folder / f"{NEW}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in LINES) + '{"time": "2026-1')
    return tmp_path


def test_the_newest_run_is_printed_with_its_times_from_its_start(project: Path) -> None:
    done = run("log", "prod", folder=project)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"log/prod/{NEW}.jsonl",
        "  0.000  step     BmcHost::m0   m0  create",
        "  9.250  libvirt  -             -   test:///default: create domain vm",
        r"120.001  error    VipHeld::okd  -   a\x1b[31mb",
        '         torn     -             -   {"time": "2026-1',
    ]


def test_a_log_of_an_earlier_release_is_printed_as_text(project: Path) -> None:
    before = {"time": "2026-01-02T03:04:05.000Z", "machine": "m0", "kind": "step", "text": "installed; 900 s spent"}
    (project / "log" / "prod" / f"{NEW}.jsonl").write_text(json.dumps(before) + "\n")
    done = run("log", "prod", folder=project)
    assert done.stdout.splitlines()[1:] == ["0.000  -  -  m0  installed; 900 s spent"]


def test_another_run_is_printed_by_its_time(project: Path) -> None:
    done = run("log", "prod", "--run", OLD, folder=project)
    assert done.stdout.splitlines() == [f"log/prod/{OLD}.jsonl", "0.000  step  BmcHost::m0  m0  of before"]


def test_a_run_that_left_no_log_is_refused_with_those_that_did(project: Path) -> None:
    done = run("log", "prod", "--run", "yesterday", folder=project)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"--run: there is no log of yesterday. Fix: name one of {OLD}, {NEW}\n"


def test_a_stack_without_a_run_is_refused(project: Path) -> None:
    done = run("log", "other", folder=project)
    assert done.returncode == 2
    assert done.stderr.startswith("log/other: no run has left a log. Fix: run this in the project's root")
