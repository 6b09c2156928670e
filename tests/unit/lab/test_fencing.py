"""The proofs of two servers that fence each other, and the stand-in of the fence agent while they are destroyed."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import pytest

from lab.inventory import load_site
from lab.rehearsal import fencing
from lab.rehearsal.fencing import NOTICED_S, Fencing, FencingProofs
from lab.rehearsal.kube import Kube
from lab.rehearsal.provisioner import Provisioner
from lab.rehearsal.report import RehearsalError, Report
from lab.rehearsal.stack import Outcome, Stack
from providers.vip_handoff.okd import HANDED_OVER

LEFT, RIGHT = load_site("fenced").plan.control_plane


class Pair:
    """The power of the two, as the stand-in sees it."""

    def __init__(self) -> None:
        self.on = {LEFT.name, RIGHT.name}
        self.provisioner: Any = create_autospec(Provisioner, instance=True)
        self.provisioner.running.side_effect = lambda: {*self.on}
        self.provisioner.switch_on.side_effect = lambda server: self.on.add(server.name)
        self.fencing = Fencing(self.provisioner, (LEFT, RIGHT))

    def cut(self, name: str, at_s: float) -> None:
        """Cut a server off."""
        self.on.discard(name)
        self.fencing.look(at_s)


@pytest.fixture
def pair() -> Pair:
    return Pair()


def test_the_first_one_that_is_cut_is_switched_on_once(pair: Pair) -> None:
    pair.cut(LEFT.name, 10)
    pair.cut(RIGHT.name, 11)
    assert pair.on == set()
    pair.fencing.look(10 + NOTICED_S)
    assert pair.on == {LEFT.name}
    pair.cut(LEFT.name, 20)
    pair.fencing.look(20 + NOTICED_S)
    assert (pair.on, pair.fencing.fenced) == (set(), [LEFT.name])


def test_a_pair_that_was_cut_in_time_and_fenced_is_proven(pair: Pair, tmp_path: Path) -> None:
    pair.cut(LEFT.name, 10)
    pair.cut(RIGHT.name, 11.5)
    pair.fencing.look(10 + NOTICED_S)
    report = Report("fenced", folder=tmp_path)
    pair.fencing.prove(report)
    assert len(report.proofs) == 2


@pytest.mark.parametrize(
    ("cuts", "why"),
    [
        pytest.param(
            {LEFT.name: 10, RIGHT.name: 10 + NOTICED_S}, "seen 4.0, wanted under 4", id="one-after-the-other"
        ),
        pytest.param({LEFT.name: 10}, "seen not both were cut, wanted under 4", id="only-one"),
        pytest.param({LEFT.name: 10, RIGHT.name: 11}, "cut once more: seen 0, wanted 1", id="nobody-fenced"),
    ],
)
def test_other_evidence_fails_the_proofs(pair: Pair, tmp_path: Path, cuts: dict[str, float], why: str) -> None:
    for name, at_s in cuts.items():
        pair.cut(name, at_s)
    with pytest.raises(RehearsalError, match=why):
        pair.fencing.prove(Report("fenced", folder=tmp_path))


@dataclass
class Etcd:
    """The etcd operator's condition, and what a handoff says by it."""

    status: str = "True"
    refuses: bool = True

    def up(self, *_: str, **__: object) -> Outcome:
        """Run `up`, as Pulumi prints what it ends with."""
        line = f"error: HandoffUnsafeError: at gate: etcd's condition {HANDED_OVER}: {self.status}, wanted True"
        return Outcome(1, f"Diagnostics:\n    {line}\n") if self.refuses else Outcome(0, "")


def proofs_of(etcd: Etcd, folder: Path) -> FencingProofs:
    kube, stack = create_autospec(Kube, instance=True), create_autospec(Stack, instance=True)
    kube.etcd_conditions.side_effect = lambda: {HANDED_OVER} if etcd.status == "True" else set()
    kube.report_on_etcd.side_effect = lambda _, status: setattr(etcd, "status", status)
    stack.try_run.side_effect = etcd.up
    return FencingProofs(
        kube, create_autospec(Provisioner, instance=True), stack, Report("fenced", folder=folder), (LEFT, RIGHT)
    )


def test_the_gate_is_proven_to_wait_for_the_hand_over(tmp_path: Path) -> None:
    etcd = Etcd()
    proofs = proofs_of(etcd, tmp_path)
    proofs.gate_waits()
    assert (etcd.status, len(proofs.report.proofs)) == ("True", 2)


@pytest.mark.parametrize(
    ("etcd", "why"),
    [
        pytest.param(Etcd(status="False"), "handed over to Pacemaker: seen False", id="never-handed-over"),
        pytest.param(Etcd(refuses=False), "refused: a handoff before Pacemaker runs etcd", id="goes-on"),
    ],
)
def test_other_evidence_on_the_hand_over_fails_the_proof(
    etcd: Etcd, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fencing, "settle", lambda measure, _is_wanted, _deadline_s: measure())
    with pytest.raises(RehearsalError, match=why):
        proofs_of(etcd, tmp_path).gate_waits()


def test_a_destroy_that_cuts_nobody_off_is_not_proven(tmp_path: Path) -> None:
    proofs = proofs_of(Etcd(), tmp_path)
    proofs.provisioner.running.return_value = {LEFT.name, RIGHT.name}  # type: ignore[attr-defined]
    with pytest.raises(RehearsalError, match="seen not both were cut"), proofs.fences():
        pass
