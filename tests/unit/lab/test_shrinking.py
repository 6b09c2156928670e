"""The drill of compute that leaves: what it proves, and the evidence that makes it fail."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from unittest.mock import Mock, call, create_autospec

import pytest

from base.yaml_text import parse_yaml, yaml_of
from lab.inventory import STACK, load_site
from lab.rehearsal.kube import Kube, Operator
from lab.rehearsal.proofs import Proofs
from lab.rehearsal.provisioner import Provisioner
from lab.rehearsal.report import RehearsalError, Report
from lab.rehearsal.shrinking import DRAIN_S, Shrinking
from lab.rehearsal.stack import Outcome, Stack
from lab.twin import DEADLINES
from testing import plans
from testing.calls import said
from tests.unit.lab.test_okd import MemoryClient
from wires.api.resources import NODE_LIST

PLAN = plans.plan()
LEAVES = PLAN.compute[-1].name
HELD = f"{LEAVES}: not drained within {DRAIN_S} s, so it runs on, and takes pods again: 1 left: default/held (budget)"
POD = "/api/v1/namespaces/default/pods/held"


@dataclass
class Evidence:
    """What happens in the drill."""

    phase: str = "Running"
    refused: str = HELD
    cordoned: bool = False
    running: list[set[str]] = field(default_factory=lambda: [{LEAVES}, set()])
    pods_go: bool = True
    is_node: tuple[bool, bool] = (True, False)
    """Whether the server is a node, before and after it has left."""
    calls: Mock = field(default_factory=Mock)
    """Has what the drill calls."""


class Api(MemoryClient):
    """An API whose kubelet runs each pod at once, and that can delete."""

    phase: str = ""
    deleted: Mock

    def call(self, method: str, path: str, body: object = None, timeout_s: float = 10) -> dict[str, object]:
        if method == "DELETE":
            self.deleted(path.rpartition("/apis/policy/")[2])
            return self.objects.pop(path)
        made = super().call(method, path, body, timeout_s)
        if (method, path) == ("POST", POD.rpartition("/")[0]):
            self.objects[POD]["status"] = {"phase": self.phase}
        return made


@pytest.fixture
def run(tmp_path: Path) -> Callable[[Evidence], Report]:
    """Return a function that runs the drill on evidence, and returns its report."""

    def with_evidence(found: Evidence) -> Report:
        report, client = Report("rehearsal", folder=tmp_path / "report"), Api()
        client.phase, client.deleted = found.phase, found.calls.deleted
        node, (before, after) = f"{NODE_LIST}/{LEAVES}", found.is_node
        client.store(node, {"metadata": {"name": LEAVES}, "spec": {"unschedulable": found.cordoned}})
        if not before:
            del client.objects[node]
        load_site(STACK).twin.write(tmp_path / "stacks")

        def pulumi(*_: str, **__: object) -> str:
            if found.pods_go:
                client.objects.pop(POD, None)
            if not after:
                client.objects.pop(node, None)
            return ""

        path = tmp_path / "stacks" / STACK / "install-config.yaml"
        stack = create_autospec(Stack, instance=True, project=tmp_path, install_config=path)
        stack.name, stack.run.side_effect = STACK, pulumi
        stack.try_run.return_value = Outcome(255, f"Diagnostics:\n  error: {found.refused}\n")
        provisioner = create_autospec(Provisioner, instance=True)
        provisioner.running.side_effect = found.running
        proofs = create_autospec(Proofs, instance=True, plan=PLAN)
        proofs.kube.return_value = Kube(client)
        found.calls.attach_mock(stack, "stack")
        found.calls.attach_mock(proofs, "proofs")
        Shrinking(provisioner, stack, proofs, create_autospec(Operator), report).run()
        return report

    return with_evidence


def test_a_drill_as_it_should_be_removes_the_last_server(run: Callable[[Evidence], Report], tmp_path: Path) -> None:
    found = Evidence()
    assert all(proof.holds for proof in run(found).proofs)
    assert said(found.calls) == [
        "proofs.kube …",
        "stack.follow pulumi preview --diff",
        "stack.configure",
        "stack.try_run up --yes --skip-preview",
        "proofs.kube …",
        "stack.configure",
        "deleted v1/namespaces/default/poddisruptionbudgets/held",
        "stack.run up --yes --skip-preview",
        "proofs.kube …",
        "proofs.nodes_are_ready … …",
        "proofs.ingress_serves",
        "stack.run up --yes --skip-preview --expect-no-changes",
    ]
    assert found.calls.stack.configure.call_args_list == [
        call(deadlines=it) for it in ({"host_s": DRAIN_S}, DEADLINES)
    ]
    others = tuple(server for server in PLAN.servers if server.name != LEAVES)
    assert found.calls.proofs.nodes_are_ready.call_args.args[1] == others
    config = parse_yaml((tmp_path / "stacks" / STACK / "install-config.yaml").read_text())
    assert LEAVES not in yaml_of(config)
    assert config["compute"][0]["replicas"] == len(PLAN.compute) - 1


@pytest.mark.parametrize(
    "change",
    [
        partial(replace, phase="Pending"),
        partial(replace, refused="the API cannot be asked"),
        partial(replace, cordoned=True),
        partial(replace, running=[set(), set()]),
        partial(replace, running=[{LEAVES}, {LEAVES}]),
        partial(replace, pods_go=False),
        partial(replace, is_node=(False, False)),
        partial(replace, is_node=(True, True)),
    ],
)
def test_each_other_evidence_fails_the_drill(
    run: Callable[[Evidence], Report], change: Callable[[Evidence], Evidence], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lab.rehearsal.kube_drill.RUNS_S", 0)
    with pytest.raises(RehearsalError):
        run(change(Evidence()))
