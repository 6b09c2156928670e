"""The drills of the rehearsal: what each proves, and the evidence that makes it fail."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from unittest.mock import create_autospec

import pytest

from lab import site as lab_site
from lab.inventory import STACK, load_site
from lab.rehearsal import drills
from lab.rehearsal.drills import Drills
from lab.rehearsal.report import RehearsalError, Report
from lab.rehearsal.stack import Outcome, Stack
from lab.rehearsal.status import StatusProofs
from testing import plans
from wires.redfish.client.reasons import REFUSED_STATE_LOGIN

VIP = plans.plan().api.address
KEPT = "warning: kept the recorded values: no answer within 30 s"
INSTALLED = f"apiVIPs: the cluster was installed with {VIP}: every node has it"
REFUSED = f"Diagnostics:\n  error: {REFUSED_STATE_LOGIN.what}\n  error: {INSTALLED}\n"


@dataclass
class Evidence:
    """What the cluster's operator sees."""

    refused: str = REFUSED
    code: int = 0
    printed: str = KEPT
    drifts: bool = False
    writes: list[int] = field(default_factory=lambda: [7] * 10)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Evidence], Report]:
    """Return a function that runs all drills on evidence, and returns their report."""

    def with_evidence(found: Evidence) -> Report:
        plan, report = plans.plan(), Report("rehearsal", folder=tmp_path / "report")
        project = tmp_path / "program"
        project.mkdir()
        install_config = project / "install-config.yaml"
        install_config.write_text(f"apiVIP: {plan.api.address}\n")
        for name in ("state", "home"):
            (tmp_path / name).mkdir()

        def pulumi(*words: str, **_: object) -> str:
            if found.drifts and "--expect-no-changes" in words:
                raise RehearsalError("`pulumi up` ended with 255")
            return ""

        stack = create_autospec(Stack, instance=True, project=project, install_config=install_config)
        stack.name, stack.copy.return_value, stack.run.side_effect = "rehearsal", stack, pulumi
        stack.try_run.return_value = Outcome(1, found.refused)
        stack.follow.side_effect = partial(Stack.follow, stack)
        stack.execute.return_value = Outcome(found.code, found.printed)
        monkeypatch.setattr(lab_site, "bmc_writes", iter(found.writes).__next__)
        monkeypatch.setattr(lab_site, "change_bmcs", lambda *_, **__: None)
        monkeypatch.setattr(drills, "StatusProofs", lambda *_: create_autospec(StatusProofs, instance=True))
        Drills(stack, plan, report, load_site(STACK)).run()
        return report

    return with_evidence


def test_drills_as_they_should_be_hold(run: Callable[[Evidence], Report]) -> None:
    assert all(proof.holds for proof in run(Evidence()).proofs)


@pytest.mark.parametrize(
    "found",
    [
        Evidence(refused="Diagnostics:\n  error: something else\n"),
        Evidence(code=1),
        Evidence(printed="no warning"),
        Evidence(drifts=True),
        Evidence(writes=[7, 8] * 5),
    ],
)
def test_each_other_evidence_fails_the_drills(run: Callable[[Evidence], Report], found: Evidence) -> None:
    with pytest.raises(RehearsalError):
        run(found)
