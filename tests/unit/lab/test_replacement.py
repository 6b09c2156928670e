"""The drills of a dead server: what each proves, and the evidence that makes it fail."""

import signal
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from unittest.mock import Mock, create_autospec

import pytest

from lab.nics import machine_mac
from lab.rehearsal import kube_drill, replacement
from lab.rehearsal.kube import Operator
from lab.rehearsal.proofs import Proofs
from lab.rehearsal.provisioner import Provisioner
from lab.rehearsal.replacement import KILLED_IN, Replacements
from lab.rehearsal.report import RehearsalError, Report
from lab.rehearsal.stack import OnLine, Outcome, Stack
from lab.rehearsal.status import StatusProofs
from lab.rehearsal.writer import Writer
from testing import plans
from testing.calls import said

PLAN = plans.plan()
HOLDER, *OTHERS = PLAN.control_plane
SAYS = "will be switched off, then taken out of etcd and the cluster, then wiped: {}"


@dataclass
class Evidence:
    """What happens in a drill."""

    says: str = SAYS
    reaches_the_step: bool = True
    lost: set[str] = field(default_factory=set)
    changes: bool = False
    killed_in: list[str] = field(default_factory=list)
    lose: list[str] = field(default_factory=list)
    cut_off: list[str] = field(default_factory=list)
    calls: Mock = field(default_factory=Mock)
    """Has what the drill calls."""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Report]:
    """Return a function that runs drills on evidence, and returns their report."""

    def with_evidence(found: Evidence, count: int = 1) -> Report:
        report = Report("rehearsal", folder=tmp_path / "report")
        report.servers = {server.name: {"booting": 10.0} for server in PLAN.control_plane}

        def up(*_: str, on_line: OnLine) -> Outcome:
            for step in KILLED_IN:
                on_line(f"              - {step:<24}: 78.3", 4242)
                if found.reaches_the_step:
                    on_line(f"    BmcHost rehearsal-{HOLDER.name}  {step}: 5 s spent", 4242)
            return Outcome(-signal.SIGKILL if found.killed_in else 0, "")

        def pulumi(*words: str, **_: object) -> str:
            if found.changes and "--expect-no-changes" in words:
                raise RehearsalError("`pulumi up` ended with 255")
            return ""

        stack = create_autospec(Stack, instance=True)
        stack.name, stack.run.side_effect, stack.try_run.side_effect = "rehearsal", pulumi, up
        stack.follow.side_effect = lambda _block, **values: found.says.format(values["host"])
        provisioner = create_autospec(Provisioner, instance=True)
        provisioner.lose.side_effect = found.lose.append
        provisioner.cut_off.side_effect = found.cut_off.append
        proofs = create_autospec(Proofs, instance=True, plan=PLAN)
        writer = create_autospec(Writer, instance=True, acknowledged=["000001"])
        writer.lost.return_value = found.lost
        macs = frozenset({machine_mac(HOLDER, PLAN)})
        for name, value in (
            ("Writer", lambda _: writer),
            ("answering_macs", lambda _: macs),
        ):
            monkeypatch.setattr(replacement, name, value)
        status = create_autospec(StatusProofs, instance=True)
        for name, mock in (("stack", stack), ("proofs", proofs), ("writer", writer), ("status", status)):
            found.calls.attach_mock(mock, name)
        monkeypatch.setattr(kube_drill, "StatusProofs", lambda *_, **__: status)
        monkeypatch.setattr("os.kill", lambda pid, number: found.killed_in.append(f"{pid} {number}"))
        Replacements(provisioner, stack, proofs, create_autospec(Operator), report).run(count, seed=7)
        return report

    return with_evidence


def test_a_drill_as_it_should_be_loses_the_holder_of_the_vip_and_no_write(run: Callable[..., Report]) -> None:
    found = Evidence()
    report = run(found)
    assert all(proof.holds for proof in report.proofs)
    assert (found.lose, found.killed_in) == ([HOLDER.name], [f"4242 {signal.SIGKILL.value}"])
    assert said(found.calls) == [
        "proofs.store",
        "writer.start",
        "stack.follow pulumi preview --diff",
        "stack.try_run up --yes --skip-preview",
        "stack.run cancel --yes",
        "stack.run up --yes --skip-preview",
        "proofs.bootstrap_left_etcd",
        "proofs.nodes_are_ready … …",
        "proofs.control_plane_serves",
        "status.finds_nothing_wrong after a replacement",
        f"stack.run config rm --path reinstall.{HOLDER.name}",
        "stack.run up --yes --skip-preview",
        "stack.run up --yes --skip-preview --expect-no-changes",
        "writer.stop",
        "writer.lost",
    ]


def test_further_drills_lose_servers_in_each_way_by_the_seed(run: Callable[..., Report]) -> None:
    first, second = Evidence(), Evidence()
    run(first, 6)
    run(second, 6)
    assert (first.lose, first.cut_off) == (second.lose, second.cut_off)
    assert {*first.lose} & {server.name for server in OTHERS}
    assert first.cut_off


@pytest.mark.parametrize(
    "change",
    [
        partial(replace, says="wipes {}"),
        partial(replace, reaches_the_step=False),
        partial(replace, lost={"000001"}),
        partial(replace, changes=True),
    ],
)
def test_each_other_evidence_fails_the_drill(
    run: Callable[..., Report], change: Callable[[Evidence], Evidence]
) -> None:
    with pytest.raises(RehearsalError):
        run(change(Evidence()))
