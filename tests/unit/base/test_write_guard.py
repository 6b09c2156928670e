"""The guard of a run that is bound to a write plan: what it lets through, refuses, and writes to the log."""

import hashlib
import json
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from base import log, write_guard
from base.clock import SYSTEM_CLOCK
from base.errors import UnplannedWriteError
from base.log_entries import Action
from base.write_guard import PLAN_VARIABLE, make
from base.writes import Write

URN = "urn:pulumi:prod::okd::pulumi-python:dynamic/baremetal:BmcHost::okd-m0"
OFF = Write("BMC https://192.0.2.9/redfish/v1/Systems/1", "power Off")


@pytest.fixture(autouse=True)
def _a_plugin_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Be the process that an engine started in the project's root; leave no log open."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(SYSTEM_CLOCK, "engine", ("127.0.0.1", 1))
    yield
    log.close()


def bind(monkeypatch: pytest.MonkeyPatch, content: str) -> str:
    """Bind the run to a write plan, and return its digest."""
    file = Path("plan.json").absolute()
    file.write_text(content)
    monkeypatch.setenv(PLAN_VARIABLE, str(file))
    return hashlib.sha256(content.encode()).hexdigest()


def plan(**writes: list[str]) -> str:
    return json.dumps({"steps": "", "writes": {name.replace("__", "::"): each for name, each in writes.items()}})


def work(*writes: Write) -> None:
    """Make writes of a `BmcHost`."""
    with log.working(Action.CREATE, URN, "m0", lambda _: write_guard.name_plan()):
        for write in writes:
            make(write)


def lines(*events: str) -> list[dict[str, Any]]:
    (file,) = Path("log", "prod").iterdir()
    return [line for line in map(json.loads, file.read_text().splitlines()) if line["event"] in events]


def test_a_run_without_a_plan_makes_every_write_and_leaves_its_line() -> None:
    work(OFF, OFF)
    made = [(line["resource"], line["machine"], line["text"]) for line in lines("write")]
    assert made == [("BmcHost::okd-m0", "m0", f"{OFF.target}: power Off")] * 2
    assert lines("plan") == []


def test_a_bound_run_names_its_plan_and_makes_what_that_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    digest = bind(monkeypatch, plan(**{"BmcHost__okd-m0": [str(OFF)]}))
    work(OFF)
    assert [line["text"] for line in lines("plan", "write")] == [digest, str(OFF)]


@pytest.mark.parametrize(
    "allowed",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"BmcHost__okd-m1": [str(OFF)]}, id="the-write-of-another-resource"),
        pytest.param({"BmcHost__okd-m0": [f"{OFF.target}: power On"]}, id="another-action"),
        pytest.param(
            {"BmcHost__okd-m0": ["BMC https://192.0.2.8/redfish/v1/Systems/1: power Off"]}, id="another-bmc"
        ),
        pytest.param({"BmcHost__okd-m0": [f"{OFF}!"]}, id="a-longer-one"),
    ],
)
def test_a_bound_run_refuses_any_other_write(monkeypatch: pytest.MonkeyPatch, allowed: dict[str, list[str]]) -> None:
    bind(monkeypatch, plan(**allowed))
    with pytest.raises(
        UnplannedWriteError, match=r"not made: power Off; the approved write plan has no such write of"
    ):
        work(OFF)
    assert lines("write") == []
    assert lines("error")[0]["text"].startswith(f"UnplannedWriteError: {OFF.target}: not made: power Off; ")


def test_a_write_of_no_resource_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    bind(monkeypatch, plan(**{"BmcHost__okd-m0": [str(OFF)]}))
    with pytest.raises(UnplannedWriteError, match="has no such write of no resource"):
        make(OFF)


@pytest.mark.parametrize("content", [None, "", "[]", '{"writes": []}', '{"writes": {"a": 1}}', "\xff"])
def test_a_plan_that_cannot_be_read_allows_no_write(monkeypatch: pytest.MonkeyPatch, content: str | None) -> None:
    bind(monkeypatch, content or "")
    if content is None:
        Path("plan.json").unlink()
    with pytest.raises(UnplannedWriteError, match=r"plan\.json: the write plan of this run cannot be read"):
        make(OFF)


def test_a_bound_run_whose_log_cannot_be_written_makes_no_write(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    bind(monkeypatch, plan(**{"BmcHost__okd-m0": [str(OFF)]}))
    Path("log").write_text("in the way of the folder")
    with pytest.raises(UnplannedWriteError, match="the log of this run cannot be written"):
        work(OFF)
    assert "no log is written" in capfd.readouterr().err


def test_a_write_whose_line_no_longer_fits_on_the_disk_is_not_made(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A part of the line is in the log; who verifies it takes that for a kill right before the write."""
    bind(monkeypatch, plan(**{"BmcHost__okd-m0": [str(OFF)]}))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with log.working(Action.CREATE, URN, "m0", lambda _: write_guard.name_plan()):
            (file,) = Path("log", "prod").iterdir()
            resource.setrlimit(resource.RLIMIT_FSIZE, (file.stat().st_size + 10, before[1]))
            with pytest.raises(UnplannedWriteError, match="the log of this run cannot be written"):
                make(OFF)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "no log is written: File too large" in capfd.readouterr().err
    *_, last = file.read_text().splitlines()
    assert len(last) == 10
