"""`okd-baremetal verify` on the run of a server behind IPMI, and on that run with each request changed."""

import json
from pathlib import Path
from typing import Any

import pytest

from base import log, write_guard
from base.clock import SYSTEM_CLOCK
from base.log_entries import Action
from cli.runs import verifier
from testing.command_line import run
from testing.ipmi_server_under_test import NAME, IpmiServer
from testing.planned_writes import ROLE, PlannedServer, urn

CHANGING = ("Chassis Control", "Set System Boot Options")
"""The requests that change a server, by their names in the specification."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The write plan and the log of an update that takes a server over, and installs it."""
    folder, it = tmp_path_factory.mktemp("run"), IpmiServer()
    plan = folder / "plan.json"
    plan.write_text(PlannedServer(NAME, it.access, it.consent, "192.0.2.21").write_plan().text)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv(write_guard.PLAN_VARIABLE, str(plan))
        patch.setattr(SYSTEM_CLOCK, "engine", ("127.0.0.1", 1))  # only a run of an engine has a log
        for kind, name, work in (("BmcHost", NAME, it.take_over), ("HostProvisioning", ROLE, it.install)):
            with log.working(Action.CREATE, urn(kind, name), NAME, lambda _: write_guard.name_plan()):
                work()
        log.close()
    assert it.is_installed
    return folder


def log_of(folder: Path) -> Path:
    (file,) = (folder / "log").glob("*/*.jsonl")
    return file


def test_a_run_over_ipmi_wrote_only_what_was_approved(folder: Path) -> None:
    done = run("verify", log_of(folder), folder / "plan.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("0 not allowed; bound to this plan\n")


@pytest.mark.parametrize("times", [1, 2], ids=["without-its-lines", "twice"])
def test_each_request_for_a_change_needs_lines_of_its_own(folder: Path, tmp_path: Path, times: int) -> None:
    """Each such request, without its lines or twice, is refused; a request that reads is not."""
    plan = verifier.Plan.read(folder / "plan.json")
    lines: list[dict[str, Any]] = [*map(json.loads, log_of(folder).read_text().splitlines())]
    requests = {
        at: line["text"].partition(" ")[2].startswith(CHANGING)
        for at, line in enumerate(lines)
        if line["event"] == "ipmi" and ": " not in line["text"]
    }
    assert 5 < sum(requests.values()) < len(requests)
    for at, changes in requests.items():
        before, edited = lines[:at], verifier.Run(plan)
        while times == 1 and before[-1]["event"] == "write":
            before.pop()
        file = tmp_path / f"{at}.jsonl"
        file.write_text(
            "".join(f"{json.dumps(line)}\n" for line in (*before, *lines[at : at + 1] * times, *lines[at + 1 :]))
        )
        edited.read(file)
        refused = [number for number, what in edited.problems if what.endswith(": no line of a write names it")]
        assert refused == ([len(before) + times] if changes else []), lines[at]["text"]
