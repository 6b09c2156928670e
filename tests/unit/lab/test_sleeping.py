"""The drill of a cluster that sleeps: what it proves, and the evidence that makes it fail."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from unittest.mock import Mock, create_autospec

import pytest

from lab.rehearsal import kube_drill
from lab.rehearsal.kube import Kube, Operator
from lab.rehearsal.proofs import Proofs
from lab.rehearsal.provisioner import Provisioner
from lab.rehearsal.report import RehearsalError, Report
from lab.rehearsal.sleeping import Sleeping
from lab.rehearsal.stack import Stack
from lab.rehearsal.status import StatusProofs
from testing import plans
from testing.calls import said

PLAN = plans.plan()


@dataclass
class Evidence:
    """What happens in the drill."""

    running: set[str] = field(default_factory=set)
    cordoned: list[str] = field(default_factory=list)
    digests: list[dict[str, str]] = field(default_factory=lambda: [{"okd-master-0": "iso"}, {"okd-master-0": "iso"}])
    changes: bool = False
    calls: Mock = field(default_factory=Mock)
    """Has what the drill calls."""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Evidence], Report]:
    """Return a function that runs the drill on evidence, and returns its report."""

    def with_evidence(found: Evidence) -> Report:
        report = Report("rehearsal", folder=tmp_path)

        def pulumi(*words: str, **_: object) -> str:
            if found.changes and "--expect-no-changes" in words:
                raise RehearsalError("`pulumi up` ended with 255")
            return ""

        stack = create_autospec(Stack, instance=True)
        stack.run.side_effect, stack.iso_digests.side_effect = pulumi, found.digests
        provisioner = create_autospec(Provisioner, instance=True)
        provisioner.running.return_value = found.running
        proofs = create_autospec(Proofs, instance=True, plan=PLAN)
        proofs.kube.return_value = create_autospec(Kube, instance=True)
        proofs.kube.return_value.cordoned.return_value = found.cordoned
        status = create_autospec(StatusProofs, instance=True)
        for name, mock in (("stack", stack), ("proofs", proofs), ("status", status)):
            found.calls.attach_mock(mock, name)
        monkeypatch.setattr(kube_drill, "StatusProofs", lambda *_, **__: status)
        Sleeping(provisioner, stack, proofs, create_autospec(Operator), report).run()
        return report

    return with_evidence


def test_a_drill_as_it_should_be_holds(run: Callable[[Evidence], Report]) -> None:
    found = Evidence()
    assert all(proof.holds for proof in run(found).proofs)
    assert found.calls.proofs.nodes_are_ready.call_args.args[1] == PLAN.servers
    assert said(found.calls) == [
        "stack.iso_digests",
        "stack.follow pulumi up",
        "status.finds_nothing_wrong in its sleep",
        "stack.run up --yes --skip-preview --expect-no-changes",
        "stack.follow pulumi up",
        "proofs.nodes_are_ready … …",
        "proofs.control_plane_serves",
        "proofs.ingress_serves",
        "status.finds_nothing_wrong after its sleep",
        "proofs.kube …",
        "proofs.kube().cordoned",
        "stack.iso_digests",
        "stack.run up --yes --skip-preview --expect-no-changes",
    ]


@pytest.mark.parametrize(
    "change",
    [
        partial(replace, running={"okd-master-0"}),
        partial(replace, cordoned=["okd-worker-0"]),
        partial(replace, digests=[{"okd-master-0": "iso"}, {"okd-master-0": "another"}]),
        partial(replace, changes=True),
    ],
)
def test_each_other_evidence_fails_the_drill(
    run: Callable[[Evidence], Report], change: Callable[[Evidence], Evidence]
) -> None:
    with pytest.raises(RehearsalError):
        run(change(Evidence()))
