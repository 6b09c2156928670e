"""The drill of compute that joins: what it proves, and the evidence that makes it fail."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock, create_autospec

import pytest

from base.log_entries import Event
from base.yaml_text import parse_yaml
from lab.inventory import STACK, load_site
from lab.rehearsal import kube_drill
from lab.rehearsal.growing import Growing
from lab.rehearsal.kube import Kube, Operator
from lab.rehearsal.proofs import Proofs
from lab.rehearsal.provisioner import Provisioner
from lab.rehearsal.report import RehearsalError, Report
from lab.rehearsal.shrinking import Shrinking
from lab.rehearsal.stack import Stack
from lab.rehearsal.status import StatusProofs
from providers.host_provisioning.installation.shown_steps import INSTALLED
from testing import plans
from testing.calls import said
from testing.checkout import ROOT
from tests.unit.lab.test_shrinking import Api
from wires.api.resources import NODE_LIST

PLAN = plans.plan()
*OTHERS, JOINS = (server.name for server in PLAN.servers)
UUID = "4f9dded0-6f17-5973-aabe-d17b75eb547c"
REVIEW = (ROOT / "tests/golden/review/new-worker.md").read_text()
SAYS = REVIEW.replace("okd-worker-2", JOINS).replace("SERIAL-2", UUID)
ISOS = {name: f"iso of {name}" for name in OTHERS}


@dataclass
class Evidence:
    """What happens in the drill."""

    says: str = SAYS
    installed: tuple[str, ...] = (JOINS,)
    isos: dict[str, str] = field(default_factory=lambda: {**ISOS, JOINS: "new"})
    cordoned: bool = False
    phase: str = "Running"
    pods_end: bool = True
    changes: bool = False
    calls: Mock = field(default_factory=Mock)
    """Has what the drill calls."""


class Kubelets(Api):
    """An API whose kubelets may not end a pod."""

    pods_end: bool = True

    def call(self, method: str, path: str, body: object = None, timeout_s: float = 10) -> dict[str, object]:
        if method == "DELETE" and not self.pods_end:
            return self.objects[path]
        return super().call(method, path, body, timeout_s)


def log_of(*names: str) -> list[dict[str, Any]]:
    return [
        {"event": Event.STEP, "machine": JOINS, "step": INSTALLED},
        *({"event": Event.END, "machine": name, "step": INSTALLED} for name in names),
        {"event": Event.END},
    ]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Evidence], Report]:
    """Return a function that runs the drill on evidence, and returns its report."""

    def with_evidence(found: Evidence) -> Report:
        report, client = Report("rehearsal", folder=tmp_path / "report"), Kubelets()
        report.servers = {JOINS: {"booting": 10.0}}
        client.phase, client.pods_end, client.deleted = found.phase, found.pods_end, Mock()
        node = {"metadata": {"name": JOINS}, "spec": {"unschedulable": found.cordoned}}
        client.store(f"{NODE_LIST}/{JOINS}", node)
        twin = load_site(STACK).twin
        twin.write(tmp_path / "stacks")

        def pulumi(*words: str, **_: object) -> str:
            if found.changes and "--expect-no-changes" in words:
                raise RehearsalError("`pulumi up` ended with 255")
            return ""

        path = tmp_path / "stacks" / STACK / "install-config.yaml"
        stack = create_autospec(Stack, instance=True, install_config=path)
        stack.name, stack.run.side_effect, stack.follow.return_value = STACK, pulumi, found.says
        stack.iso_digests.side_effect = [ISOS, found.isos]
        stack.log_lines.side_effect = [log_of(*OTHERS, JOINS), log_of(*OTHERS, JOINS, *found.installed)]
        stack.installation_steps.return_value = {JOINS: {"booting": 12.0}}
        provisioner = create_autospec(Provisioner, instance=True)
        provisioner.uuid.return_value = UUID
        proofs = create_autospec(Proofs, instance=True, plan=PLAN)
        proofs.kube.return_value = Kube(client)
        status = create_autospec(StatusProofs, instance=True)
        monkeypatch.setattr(kube_drill, "StatusProofs", lambda *_, **__: status)
        drilled = (provisioner, stack, proofs, create_autospec(Operator), report)
        Shrinking(*drilled)._remove(JOINS)
        for name, mock in (("stack", stack), ("proofs", proofs), ("status", status)):
            found.calls.attach_mock(mock, name)
        Growing(*drilled).run(twin)
        return report

    return with_evidence


def test_a_drill_as_it_should_be_undoes_what_removed_the_server(
    run: Callable[[Evidence], Report], tmp_path: Path
) -> None:
    found = Evidence()
    *proofs, ratio = run(found).proofs
    assert all(proof.holds for proof in proofs)
    assert [call for call in said(found.calls) if not call.startswith("proofs.kube")] == [
        "stack.iso_digests",
        "stack.log_lines",
        "stack.follow pulumi up",
        "stack.log_lines",
        "stack.iso_digests",
        "proofs.nodes_are_ready … …",
        "proofs.control_plane_serves",
        "proofs.ingress_serves",
        "status.finds_nothing_wrong with a worker more",
        "stack.run up --yes --skip-preview --expect-no-changes",
        "stack.installation_steps",
    ]
    assert found.calls.proofs.nodes_are_ready.call_args.args[1] == PLAN.servers
    assert ratio.seen == "1.20"
    config = (tmp_path / "stacks" / STACK / "install-config.yaml").read_text()
    assert parse_yaml(config) == load_site(STACK).twin.install_config


@pytest.mark.parametrize(
    "change",
    [
        partial(replace, says=SAYS.replace(JOINS, OTHERS[0])),
        partial(replace, says=SAYS.replace(UUID, "another")),
        partial(replace, installed=()),
        partial(replace, installed=(JOINS, JOINS)),
        partial(replace, installed=(JOINS, OTHERS[0])),
        partial(replace, isos={**ISOS, OTHERS[0]: "another", JOINS: "new"}),
        partial(replace, cordoned=True),
        partial(replace, phase="Pending"),
        partial(replace, pods_end=False),
        partial(replace, changes=True),
    ],
)
def test_each_other_evidence_fails_the_drill(
    run: Callable[[Evidence], Report], change: Callable[[Evidence], Evidence], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lab.rehearsal.kube_drill.RUNS_S", 0)
    monkeypatch.setattr("lab.rehearsal.growing.ENDS_S", 0)
    with pytest.raises(RehearsalError):
        run(change(Evidence()))
