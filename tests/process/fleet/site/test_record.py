"""The record of updates: no order and no approval begins twice, and it names the key of who approved."""

import fcntl
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from fleet.messages import Step
from fleet.site.record import UnapprovedError, record_start
from testing.approvers import JANE, public_key
from testing.site_clone import approved

STEP = Step("north-a", "0" * 40, "bootstrap", "5eed" * 16, order="an order", run="a run")
SIGNED = approved(STEP)
AGAIN = "this order has begun before, and a server may have repeated it"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "updates.jsonl"


def test_a_line_names_the_approver_and_the_key(file: Path) -> None:
    record_start(file, SIGNED, "jane", public_key(JANE))
    [line] = map(json.loads, file.read_text().splitlines())
    assert SIGNED.approval
    wanted = {"approver": "jane", "key": public_key(JANE), "cluster": "north-a", "digest": STEP.digest}
    assert {name: line[name] for name in wanted} == wanted
    assert line["approval"]["signature"] == SIGNED.approval.signature
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("step", [STEP, SIGNED], ids=["no-gate", "approved"])
def test_an_order_begins_once(file: Path, step: Step) -> None:
    """Also if other updates of the cluster came in between."""
    record_start(file, step, "", "")
    record_start(file, replace(STEP, run="another"), "", "")
    with pytest.raises(UnapprovedError, match=f"^{AGAIN}$"):
        record_start(file, step, "", "")


def test_an_approval_begins_once_whatever_run_claims_it(file: Path) -> None:
    record_start(file, SIGNED, "jane", "")
    with pytest.raises(UnapprovedError):
        record_start(file, replace(SIGNED, run="another"), "jane", "")
    record_start(file, approved(replace(STEP, order="another")), "jane", "")


def test_nobody_reads_the_record_between_question_and_line(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workers that are handed one order at the same time would both find it new."""
    asked = list[int]()

    def fsync(descriptor: int) -> None:
        with file.open() as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        asked.append(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    record_start(file, SIGNED, "jane", "")
    assert len(asked) == 1


def test_half_a_line_of_a_host_without_power_hides_no_other(file: Path) -> None:
    record_start(file, SIGNED, "jane", "")
    file.write_text(file.read_text() + '{"begun": "2026-')
    record_start(file, replace(STEP, run="another"), "", "")
    for step in (SIGNED, replace(STEP, run="another")):
        with pytest.raises(UnapprovedError):
            record_start(file, step, "jane", "")
