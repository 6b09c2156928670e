"""`okd-baremetal verify` on runs of the fake fleet that were killed, and on such runs with one line more or less.

Issue 43, "an approval that binds".
"""

import ast
import itertools
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from cli.runs import verifier
from testing.command_line import run
from testing.fakes.fleet.fleet import Options, running
from testing.killed_installation import is_killed, write_plan

Edit = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]
"""Returns other lines of a log."""
SOURCE = Path(verifier.__file__)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The write plan and logs of an update: its first run is killed at its first write, the next at its second, …"""
    folder = tmp_path_factory.mktemp("runs")
    plan = folder / "plan.json"
    with running(Options()) as fleet:
        fleet.change(0, power="On")
        plan.write_text(write_plan(fleet).text)
        writes = 1
        while is_killed(fleet, folder, plan, writes):
            writes += 1
        assert fleet.state().running
    return folder


def logs(folder: Path) -> list[Path]:
    return sorted((folder / "log").glob("*/*.jsonl"))


def verified(folder: Path) -> CompletedProcess[str]:
    return run("verify", *logs(folder), folder / "plan.json")


def lines(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def writes(log: Path) -> list[str]:
    return [line["text"] for line in lines(log) if line["event"] == "write"]


def test_runs_killed_at_each_write_wrote_only_what_was_approved(runs: Path) -> None:
    done, made = verified(runs), [writes(log) for log in logs(runs)]
    assert (done.returncode, done.stderr) == (0, "")
    assert [len(each) for each in made] == [*range(1, len(made)), len(made[-1])]
    assert len(made) > 5
    assert made[-1][-1].endswith(": power On")
    assert done.stdout.count("bound to this plan\n") == len(made)
    for write, times in Counter(itertools.chain(*made)).items():
        counted = re.findall(rf"^ +(\d+)  {re.escape(write)}$", done.stdout, re.MULTILINE)
        assert sum(map(int, counted)) == times


BMC = "BMC https://127.0.0.1:1/redfish/v1/Systems/1"
EDITS: dict[str, tuple[Edit, str]] = {
    "another-write-of-the-host": (
        lambda log: [*log, last(log) | {"text": last(log)["text"].replace("power On", "boot mode Legacy")}],
        r"boot mode Legacy: the plan allows no such write of HostProvisioning::control-plane",
    ),
    "a-planned-write-to-another-bmc": (
        lambda log: [*log, last(log) | {"text": f"{BMC}: power On"}],
        rf"{BMC}: power On: the plan allows no such write of HostProvisioning::control-plane",
    ),
    "a-planned-write-of-another-resource": (
        lambda log: [*log, last(log) | {"resource": "BmcHost::okd-master-0"}],
        r"power On: the plan allows no such write of BmcHost::okd-master-0",
    ),
    "a-write-of-a-host-that-has-none-planned": (
        lambda log: [*log, last(log) | {"resource": "BmcHost::okd-worker-0"}],
        r"power On: the plan allows no write of BmcHost::okd-worker-0",
    ),
    "a-write-without-a-resource": (
        lambda log: [*log, {key: value for key, value in last(log).items() if key != "resource"}],
        r"power On: the plan allows no write of no resource",
    ),
    "a-request-without-its-write": (
        lambda log: [line for line in log if line is not last(log)],
        r"https://\S+ POST /redfish/v1/Systems/1/Actions/ComputerSystem.Reset: no line of a write names it",
    ),
    "a-request-twice-for-one-write": (
        lambda log: [each for line in log for each in ([line, line] if " POST " in line["text"] else [line])],
        r"https://\S+ POST \S+: no line of a write names it",
    ),
    "a-domain-that-is-destroyed": (
        lambda log: [*log, last(log) | {"event": "libvirt", "text": "qemu:///system: destroy domain theirs"}],
        r"qemu:///system: destroy domain: no line of a write names it",
    ),
    "another-plan": (
        lambda log: [line | ({"text": "0" * 64} if line["event"] == "plan" else {}) for line in log],
        r"the run was bound to another write plan, 0{64}",
    ),
}


def last(log: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the last write."""
    return [line for line in log if line["event"] == "write"][-1]


def edited(runs: Path, folder: Path, text: Callable[[list[dict[str, Any]]], str]) -> Path:
    """Return a folder with the plan, and the log of the last run as `text` makes it of its lines."""
    shutil.copy(runs / "plan.json", folder)
    (folder / "log" / "lab").mkdir(parents=True)
    (folder / "log" / "lab" / "a.jsonl").write_text(text(lines(logs(runs)[-1])))
    return folder


def as_text(log: list[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(line)}\n" for line in log)


@pytest.mark.parametrize(("edit", "problem"), EDITS.values(), ids=EDITS.keys())
def test_a_run_with_anything_added_is_refused(runs: Path, tmp_path: Path, edit: Edit, problem: str) -> None:
    done = verified(edited(runs, tmp_path, lambda log: as_text(edit(log))))
    assert done.returncode == 4
    assert re.search(rf"a\.jsonl:\d+: .*{problem}\n", done.stderr)


def test_a_line_that_a_kill_cut_short_is_accepted_only_at_the_end(runs: Path, tmp_path: Path) -> None:
    torn = '{"time": "2026'
    at_the_end = edited(runs, tmp_path, lambda log: as_text(log) + torn)
    assert verified(at_the_end).returncode == 0
    (log,) = logs(at_the_end)
    log.write_text(f"{torn}\n{log.read_text()}")
    done = verified(at_the_end)
    assert (done.returncode, done.stderr) == (4, f"{log}:1: it cannot be read, so what was written is unknown\n")


def test_a_run_without_a_plan_is_verified_and_said_to_be_unbound(runs: Path, tmp_path: Path) -> None:
    unbound = edited(runs, tmp_path, lambda log: as_text([line for line in log if line["event"] != "plan"]))
    done = verified(unbound)
    assert done.returncode == 0
    assert done.stdout.endswith("0 not allowed; not bound to this plan while it ran\n")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"writes": []}', '{"writes": {"a": [1]}}', "[" * 100_000])
def test_what_is_no_write_plan_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "plan.json").write_text(content)
    done = run("verify", tmp_path / "plan.json", tmp_path / "plan.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{tmp_path}/plan.json: it is no write plan. Fix: ")


def test_a_missing_log_is_refused(runs: Path) -> None:
    done = run("verify", "none.jsonl", runs / "plan.json")
    assert (done.returncode, done.stderr) == (2, "none.jsonl: cannot be read: No such file or directory\n")


def test_an_auditor_can_read_the_verifier_and_run_it_anywhere(runs: Path, tmp_path: Path) -> None:
    source = SOURCE.read_text()
    imported = {
        alias.name if isinstance(node, ast.Import) else str(node.module)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert {name.partition(".")[0] for name in imported} <= sys.stdlib_module_names
    assert len(source.splitlines()) <= 300
    copy = shutil.copy(SOURCE, tmp_path)
    command = [sys.executable, "-I", copy, *map(str, logs(runs)), str(runs / "plan.json")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, verified(runs).stdout)
