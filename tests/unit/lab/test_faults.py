"""The rehearsal's faults during the move: the run is proven only if each fault came, and ended as it has to."""

import os
import signal
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import Mock, create_autospec

import pytest

from base.yaml_text import yaml_of
from lab.rehearsal import faults
from lab.rehearsal.faults import Faults
from lab.rehearsal.kube import Operator
from lab.rehearsal.proofs import Proofs
from lab.rehearsal.provisioner import Provisioner
from lab.rehearsal.report import RehearsalError, Report
from lab.rehearsal.stack import OnLine, Outcome, Stack
from lab.rehearsal.writer import Writer
from providers.host_provisioning.installation.boot_procedures import VirtualCd
from providers.vip_handoff.states import ENDS, State
from testing import plans
from testing.calls import said

PLAN = plans.plan()
VM, WORKER = PLAN.bootstrap.name, PLAN.compute[0].name
FIRST = PLAN.hosts[0].name
NO_DISK = (
    f"error: {FIRST}: nothing was wiped: no disk fits serialNumber: NOT-THERE. Disks found: deviceName: /dev/sda,\n"
    "x; deviceName: /dev/vda, y\n"
    f"1 of {len(PLAN.control_plane)} control-plane hosts were not installed\n"
)
KILLED = Outcome(-signal.SIGKILL, "")
NO_DISK_FITS, AT_THE_GATE, NODES_DIE, PROVIDER_KILLED, LET_GO, WORKER_FAILS, SUCCEEDED = range(1, 8)
"""The number of runs of `up` so far, of which the last one succeeds."""


@dataclass
class World:
    """How each `up` of the scenario goes."""

    lines: dict[int, str] = field(
        default_factory=lambda: {
            NO_DISK_FITS: "",
            AT_THE_GATE: "VipHandoff handoff gate",
            NODES_DIE: "VipHandoff handoff soak",
            PROVIDER_KILLED: "VipHandoff handoff soak",
            LET_GO: "VipHandoff handoff let go",
            WORKER_FAILS: f"{WORKER} 12 s {VirtualCd.step}",
        }
    )
    """A line that each prints."""
    outcomes: dict[int, Outcome] = field(
        default_factory=lambda: {
            NO_DISK_FITS: Outcome(255, NO_DISK),
            AT_THE_GATE: KILLED,
            NODES_DIE: Outcome(255, f"error: {ENDS[State.RETURNED]}"),
            PROVIDER_KILLED: Outcome(255, "error: the plugin has ended"),
            LET_GO: KILLED,
            WORKER_FAILS: Outcome(255, f"error: {WORKER}: not installed"),
        }
    )
    domains: dict[int, set[str]] = field(default_factory=lambda: {WORKER_FAILS: set(), SUCCEEDED: set()})
    """The domains after a number of runs; else, the bootstrap VM exists."""
    running: dict[int, set[str]] = field(default_factory=dict)
    changes: bool = False
    """Whether the last `up` still finds a change."""
    lost: set[str] = field(default_factory=set)
    operator: Operator | None = None
    """The access to a real Kubernetes."""
    calls: Mock = field(default_factory=Mock)
    """Has what the scenario calls of proofs and writer."""
    runs: int = 0

    def try_run(self, *_: str, on_line: OnLine = lambda *_: None) -> Outcome:
        """See `Stack.try_run`."""
        self.runs += 1
        on_line(self.lines[self.runs], 4242)
        return self.outcomes[self.runs]

    def run(self, *words: str, **_: Any) -> str:
        """See `Stack.run`."""
        if "--expect-no-changes" in words and self.changes:
            raise RehearsalError("changes")
        self.runs += self.runs == WORKER_FAILS and words[0] == "up"
        return ""


@pytest.fixture
def cause(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[World], Report]:
    """Return a function that causes all faults in a world."""

    def run(world: World) -> Report:
        stack, provisioner = create_autospec(Stack, instance=True), create_autospec(Provisioner, instance=True)
        proofs, writer = create_autospec(Proofs, instance=True), create_autospec(Writer, instance=True)
        stack.name, stack.project, proofs.plan, proofs.operator = "rehearsal", tmp_path, PLAN, world.operator
        stack.try_run.side_effect, stack.run.side_effect = world.try_run, world.run
        provisioner.domains.side_effect = lambda: world.domains.get(world.runs, {VM})
        provisioner.running.side_effect = lambda: world.running.get(world.runs, {VM})
        proofs.seconds_until_the_bootstrap_answers.return_value = 1.0
        writer.acknowledged, writer.lost.return_value = ["1"], world.lost
        world.calls.attach_mock(proofs, "proofs")
        world.calls.attach_mock(writer, "writer")
        path = tmp_path / "stacks" / "rehearsal" / "install-config.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml_of(plans.install_config()))
        monkeypatch.setattr(faults, "Writer", lambda *_: writer)
        monkeypatch.setattr(os, "kill", lambda *_: None)
        report = Report("rehearsal", folder=tmp_path)
        Faults(provisioner, stack, proofs, report).run()
        assert path.read_text() == yaml_of(plans.install_config())
        return report

    return run


def test_faults_that_end_as_they_have_to_are_proven(cause: Callable[[World], Report]) -> None:
    world = World()
    assert {proof.holds for proof in cause(world).proofs} == {True}
    assert said(world.calls) == [
        "proofs.store",
        "writer.start",
        "proofs.bootstrap_serves",
        "proofs.seconds_until_the_bootstrap_answers",
        "proofs.control_plane_joined",
        "proofs.seconds_until_the_bootstrap_answers",
        "proofs.bootstrap_serves",
        "proofs.control_plane_serves",
        "proofs.control_plane_serves",
        "proofs.control_plane_serves",
        "proofs.ingress_serves",
        "writer.stop",
        "writer.lost",
    ]


def test_on_kubernetes_the_vip_has_left_before_the_nodes_die(cause: Callable[[World], Report]) -> None:
    world = World(operator=Operator("", ssl.create_default_context()))
    world.lines |= dict.fromkeys([NODES_DIE, PROVIDER_KILLED], "VipHandoff handoff watch")
    world.outcomes[NODES_DIE] = Outcome(255, f"error: {ENDS[State.LEFT]}")
    assert {proof.holds for proof in cause(world).proofs} == {True}
    serves = "proofs.control_plane_serves"
    begin, end = ["proofs.store", "writer.start"], ["proofs.ingress_serves", "writer.stop", "writer.lost"]
    assert said(world.calls) == [*begin, serves, "proofs.nodes_are_ready … …", *[serves] * 4, *end]


@pytest.mark.parametrize("number", World().outcomes)
def test_an_update_that_succeeds_in_spite_of_the_fault_fails(number: int, cause: Callable[[World], Report]) -> None:
    world = World()
    world.outcomes[number] = Outcome(0, world.outcomes[number].text)
    with pytest.raises(RehearsalError):
        cause(world)
    assert world.runs == number


@pytest.mark.parametrize("number", [NO_DISK_FITS, NODES_DIE, WORKER_FAILS])
@pytest.mark.parametrize("text", ["error: something else", "Traceback"], ids=["another-error", "traceback"])
def test_an_update_that_fails_for_another_reason_fails(
    number: int, text: str, cause: Callable[[World], Report]
) -> None:
    world = World()
    text = f"{world.outcomes[number].text}\n{text}" if text == "Traceback" else text
    world.outcomes[number] = Outcome(255, text)
    with pytest.raises(RehearsalError, match="the update failed"):
        cause(world)


@pytest.mark.parametrize("words", NO_DISK.splitlines())
def test_the_error_of_a_disk_names_hints_disks_and_count(words: str, cause: Callable[[World], Report]) -> None:
    world = World()
    world.outcomes[NO_DISK_FITS] = Outcome(255, NO_DISK.replace(words, f"error: {FIRST}: "))
    with pytest.raises(RehearsalError, match="the error has"):
        cause(world)


@pytest.mark.parametrize("number", [AT_THE_GATE, NODES_DIE, PROVIDER_KILLED, LET_GO, WORKER_FAILS])
def test_a_fault_that_never_came_fails(number: int, cause: Callable[[World], Report]) -> None:
    world = World()
    world.lines[number] = "VipHandoff handoff ask"
    with pytest.raises(RehearsalError, match="reached"):
        cause(world)


@pytest.mark.parametrize("number", [AT_THE_GATE, NODES_DIE, PROVIDER_KILLED, LET_GO])
def test_a_vm_that_is_lost_with_a_failed_update_fails(number: int, cause: Callable[[World], Report]) -> None:
    with pytest.raises(RehearsalError, match="bootstrap VM exists"):
        cause(World(domains={number: set(), WORKER_FAILS: set(), SUCCEEDED: set()}))


@pytest.mark.parametrize("number", [WORKER_FAILS, SUCCEEDED])
def test_a_vm_that_is_left_after_the_handoff_fails(number: int, cause: Callable[[World], Report]) -> None:
    with pytest.raises(RehearsalError, match="bootstrap VM exists"):
        cause(World(domains={WORKER_FAILS: set(), SUCCEEDED: set(), number: {VM}}))


@pytest.mark.parametrize("number", [AT_THE_GATE, NODES_DIE, PROVIDER_KILLED, LET_GO])
def test_a_vm_that_stops_with_a_failed_update_fails(number: int, cause: Callable[[World], Report]) -> None:
    with pytest.raises(RehearsalError, match="bootstrap VM runs"):
        cause(World(running={number: set()}))


@pytest.mark.parametrize(
    "world",
    [
        pytest.param(World(changes=True), id="second-up-changes"),
        pytest.param(World(lost={"7"}), id="a-write-lost"),
    ],
)
def test_another_end_than_the_wanted_one_fails(world: World, cause: Callable[[World], Report]) -> None:
    with pytest.raises(RehearsalError):
        cause(world)
