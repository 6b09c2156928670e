"""`okd-baremetal verify` on runs of the fake fleet that were killed, and on such runs with one line more or less.

Issue 43, "an approval that binds".
"""

import ast
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from cli.runs import verifier
from testing.command_line import run
from testing.fakes.fleet.fleet import Options, running
from testing.killed_installation import is_killed, write_plan
from testing.server_under_test import NAME

SOURCE = Path(verifier.__file__)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The logs of an update and its write plan: the first run is killed at its first write, the next at its second, …"""
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


def test_runs_that_were_killed_at_each_of_their_writes_wrote_only_what_was_approved(runs: Path) -> None:
    done = verified(runs)
    assert (done.returncode, done.stderr) == (0, "")
    print(done.stdout)
