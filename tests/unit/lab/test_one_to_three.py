"""The drill of a control plane of one that becomes one of three, and the evidence that makes it fail."""

import signal
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from unittest.mock import Mock, create_autospec

import pytest

from cluster.plan import load_intent
from cluster.stack_file import read_stack_file
from lab.inventory import load_site
from lab.nics import machine_mac
from lab.rehearsal import kube_drill, one_to_three
from lab.rehearsal.kube import Kube, Operator
from lab.rehearsal.one_to_three import OneToThree
from lab.rehearsal.proofs import Proofs
from lab.rehearsal.provisioner import Provisioner
from lab.rehearsal.report import RehearsalError, Report
from lab.rehearsal.stack import OnLine, Outcome, Stack
from lab.rehearsal.writer import Writer
from providers.host_provisioning.installation.boot_procedures import VirtualCd
from providers.host_provisioning.topology import Infrastructure, Topology
from tests.unit.lab.test_okd import MemoryClient
from wires.api.resources import INFRASTRUCTURE

STACK, UUID = "single", "4f71fbe6-a4c8-5f06-86ab-a0012db25e29"
ONLY, *JOIN = "only-a", "only-b", "only-c"
DISKS = "**Wipes `/dev/vda` of only-b (consent `{0}`) and `/dev/vda` of only-c (consent `{0}`), and installs them**"
JOINS = "**Adds only-b and only-c to etcd while all its members answer, and ends when that is done.**"
SAYS = f"{DISKS.format(UUID)}\n{JOINS}"


@dataclass
class Evidence:
    """What happens in the drill."""

    says: str = SAYS
    is_refused: bool = True
    reaches_the_step: bool = True
    holder: str = ONLY
    iso: str = "as before"
    saved: bool = True
    lost: set[str] = field(default_factory=set)
    changes: bool = False
    killed: list[int] = field(default_factory=list)
    topologies: list[tuple[str, str]] = field(default_factory=list)
    """What is wanted of the control plane, and what it is taken for, at each `pulumi up`."""
    calls: Mock = field(default_factory=Mock)


def stack_of(found: Evidence, client: MemoryClient, project: Path) -> Mock:
    """Return a stack whose commands act on the evidence."""

    def told() -> Infrastructure:
        told = Infrastructure.model_validate(client.objects[INFRASTRUCTURE])
        found.topologies.append((told.spec.topology, told.status.topology))
        return told

    def try_run(*_: str, on_line: OnLine | None = None, quiet: bool = False) -> Outcome:
        obstacle = told().obstacle(1)
        if on_line is None:
            assert quiet
            what, fix = obstacle if obstacle and found.is_refused else ("", "")
            return Outcome(1, f"Diagnostics:\n    error: {what}. Fix: {fix}")
        if found.reaches_the_step:
            on_line(f"    BmcHost {STACK}-{JOIN[0]}  {VirtualCd.step}: 5 s spent", 4242)
        return Outcome(-signal.SIGKILL if found.killed else 0, "")

    def pulumi(*words: str, **_: object) -> str:
        if words[0] == "up":
            told()
        if found.changes and "--expect-no-changes" in words:
            raise RehearsalError("`pulumi up` ended with 255")
        return ""

    def follow(_: str, folder: str) -> str:
        (Path(folder) / STACK).mkdir(parents=True)
        if found.saved:
            (Path(folder) / STACK / "saved.db").touch()
        return found.says

    stack: Mock = create_autospec(Stack, instance=True, project=project)
    stack.name, stack.install_config = STACK, project / "stacks" / STACK / "install-config.yaml"
    stack.run.side_effect, stack.try_run.side_effect, stack.follow.side_effect = pulumi, try_run, follow
    options = read_stack_file(project / "stacks" / f"Pulumi.{STACK}.yaml")
    stack.plan.side_effect = lambda: load_intent(stack.install_config, options)
    stack.iso_digests.side_effect = [{ONLY: "as before"}, {ONLY: found.iso, **dict.fromkeys(JOIN, "new")}]
    return stack


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Evidence], Report]:
    """Return a function that runs the drill on evidence, and returns its report."""

    def with_evidence(found: Evidence) -> Report:
        report, client, site = Report(STACK, folder=tmp_path / "report"), MemoryClient(), load_site(STACK)
        site.twin.write(tmp_path / "project" / "stacks")
        stack = stack_of(found, client, tmp_path / "project")
        provisioner = create_autospec(Provisioner, instance=True)
        provisioner.uuid.return_value = UUID
        proofs = create_autospec(Proofs, instance=True, plan=site.plan)
        grown = create_autospec(Proofs, instance=True)
        proofs.of.side_effect = lambda plan: grown.configure_mock(plan=plan) or grown
        found.calls.attach_mock(grown, "grown")
        proofs.kube.return_value = Kube(client)
        writer = create_autospec(Writer, instance=True, acknowledged=["000001"], slowest_s=1.0)
        writer.lost.return_value = found.lost
        holder = next(host for host in site.plan.hosts if host.name == found.holder)
        monkeypatch.setattr(one_to_three, "Writer", lambda _: writer)
        monkeypatch.setattr(one_to_three, "answering_macs", lambda _: {machine_mac(holder, site.plan)})
        monkeypatch.setattr(kube_drill, "StatusProofs", lambda *_, **__: found.calls.status)
        monkeypatch.setattr("os.kill", lambda pid, _: found.killed.append(pid))
        OneToThree(provisioner, stack, proofs, create_autospec(Operator), report).run()
        return report

    return with_evidence


def test_a_drill_as_it_should_be_ends_with_three(run: Callable[[Evidence], Report]) -> None:
    found = Evidence()
    report = run(found)
    assert all(proof.holds for proof in report.proofs)
    one, asked, admitted = ("", Topology.ONE), (Topology.MANY, Topology.ONE), (Topology.MANY, Topology.MANY)
    assert found.topologies == [one, asked, asked, admitted]
    assert found.killed == [4242]
    assert [server.name for server in found.calls.grown.nodes_are_ready.call_args.args[1]] == [ONLY, *JOIN]
    found.calls.status.finds_nothing_wrong.assert_called_once_with("as one of three")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(partial(replace, says=SAYS.replace("only-c", "only-d")), id="one-is-not-in-the-review"),
        pytest.param(partial(replace, says=SAYS.replace(UUID, "another")), id="another-consent"),
        pytest.param(partial(replace, says=DISKS.format(UUID)), id="the-review-has-no-word-of-etcd"),
        pytest.param(partial(replace, is_refused=False), id="not-refused-unasked"),
        pytest.param(partial(replace, reaches_the_step=False), id="not-killed"),
        pytest.param(partial(replace, holder=JOIN[0]), id="the-vip-moved"),
        pytest.param(partial(replace, iso="another"), id="the-first-was-changed"),
        pytest.param(partial(replace, saved=False), id="not-saved"),
        pytest.param(partial(replace, lost={"000001"}), id="a-write-lost"),
        pytest.param(partial(replace, changes=True), id="changes-again"),
    ],
)
def test_each_other_evidence_fails_the_drill(
    run: Callable[[Evidence], Report], change: Callable[[Evidence], Evidence]
) -> None:
    with pytest.raises(RehearsalError):
        run(change(Evidence()))
