"""The drill of a cluster that sleeps: what it proves, and the evidence that makes it fail."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from unittest.mock import create_autospec

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

PLAN = plans.plan()


@dataclass
class Evidence:
    """What happens in the drill."""

    running: set[str] = field(default_factory=set)
    cordoned: list[str] = field(default_factory=list)
    digests: list[dict[str, str]] = field(default_factory=lambda: [{"okd-master-0": "iso"}, {"okd-master-0": "iso"}])
    changes: bool = False


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
        monkeypatch.setattr(kube_drill, "StatusProofs", lambda *_, **__: create_autospec(StatusProofs, instance=True))
        Sleeping(provisioner, stack, proofs, create_autospec(Operator), report).run()
        return report

    return with_evidence


def test_a_drill_as_it_should_be_holds(run: Callable[[Evidence], Report]) -> None:
    assert all(proof.holds for proof in run(Evidence()).proofs)


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
