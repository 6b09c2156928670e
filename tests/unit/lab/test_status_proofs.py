"""What the rehearsal proves of `okd-baremetal status`, and the answers that make each proof fail."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import create_autospec

import pytest

from cli.status.answers import Level, Row
from cli.status.cluster import Cluster
from cli.status.printed import json_of
from lab.rehearsal import status
from lab.rehearsal.report import RehearsalError, Report
from lab.rehearsal.stack import Outcome, Stack
from lab.rehearsal.status import StatusProofs
from testing import plans

PLAN = plans.plan()
NAMES = {server.name for server in PLAN.servers}
GOOD = [
    Row("vip", "API 192.0.2.5", Level.GOOD, "held by okd-master-0"),
    Row("node", "all", Level.WARNING, "not asked: there is no kubeconfig"),
]
OFF = [Row("bmc", name, Level.WRONG, "no answer within 20 s") for name in sorted(NAMES)]
Make = Callable[[list[Row], int], StatusProofs]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Return a function that returns the proofs of a status that prints these rows, and ends with an exit code."""

    monkeypatch.setattr(status, "SETTLES_S", 0)

    def proofs(rows: list[Row], code: int) -> StatusProofs:
        printed = json_of(Cluster("rehearsal", PLAN, datetime.now(UTC)), rows)
        stack = create_autospec(Stack, instance=True)
        stack.name, stack.execute.return_value = "rehearsal", Outcome(code, printed)
        return StatusProofs(stack, Report("rehearsal", folder=tmp_path))

    return proofs


def test_a_cluster_that_serves_has_no_wrong_row(make: Make) -> None:
    proofs = make(GOOD, 0)
    proofs.finds_nothing_wrong("now")
    assert all(proof.holds for proof in proofs.report.proofs)


def test_a_row_that_is_wrong_for_a_moment_is_looked_at_again(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "SETTLES_S", 60)
    monkeypatch.setattr("lab.rehearsal.proofs.POLL_S", 0)
    busy = Row("api", "VIP 192.0.2.5", Level.WRONG, "not ready on 6443")
    then = (make([*GOOD, busy], 1), make(GOOD, 0))
    proofs = then[1]
    proofs.stack.execute.side_effect = [own.stack.execute.return_value for own in then]  # type: ignore[attr-defined]
    proofs.finds_nothing_wrong("now")
    assert proofs.stack.execute.call_count == len(then)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["members", "health"])
def test_etcd_is_asked_of_its_operator_and_of_no_stand_in(make: Make, name: str) -> None:
    proofs = make([*GOOD, Row("etcd", name, Level.WRONG, "its condition is missing")], 1)
    proofs.finds_nothing_wrong("now")
    with pytest.raises(RehearsalError, match=f"seen etcd {name}, wanted none"):
        replace(proofs, etcd_is_reported=True).finds_nothing_wrong("now")


def test_bmcs_that_do_not_answer_are_the_only_wrong_rows(make: Make) -> None:
    make([*GOOD, *OFF], 1).misses_the_bmcs(NAMES)


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([*GOOD, Row("vip", "API 192.0.2.5", Level.WRONG, "answered by nobody")], 1),
        ([*GOOD, *OFF], 0),
        (GOOD, 1),
        ([], 2),
    ],
)
def test_a_wrong_row_and_a_wrong_exit_code_are_noticed(make: Make, rows: list[Row], code: int) -> None:
    with pytest.raises(RehearsalError):
        make(rows, code).finds_nothing_wrong("now")


@pytest.mark.parametrize("rows", [GOOD, OFF[1:], [*OFF, Row("api", "VIP", Level.WRONG, "not ready")]])
def test_a_missing_and_a_further_wrong_row_are_noticed(make: Make, rows: list[Row]) -> None:
    code = int(any(row.level is Level.WRONG for row in rows))
    with pytest.raises(RehearsalError):
        make(rows, code).misses_the_bmcs(NAMES)
