"""The drills of a dead server: what each proves, and the evidence that makes it fail."""

import signal
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from ipaddress import IPv4Address
from pathlib import Path
from unittest.mock import Mock, create_autospec

import pytest

from base.yaml_text import parse_yaml
from lab.inventory import Bmc
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
from lab.site.bmc import NEW_PASSWORD, NEW_USERNAME
from testing import plans
from testing.calls import said
from testing.checkout import ROOT

PLAN, BARE = plans.plan(), plans.install_config()["platform"]["baremetal"]
HOLDER, *OTHERS = PLAN.control_plane
SAYS = "will be switched off, then taken out of etcd and the cluster, then wiped: {}"
UUID, MAC, FINGERPRINT = "4f71fbe6-a4c8-5f06-86ab-a0012db25e29", "52:54:00:b2:5e:29", "ab" * 32
BMC = Bmc("172.22.1.1", IPv4Address("172.22.1.1"), 8443, tls=True, system=None, is_replaced=True)
REVIEW = (ROOT / "tests/golden/review/consent.md").read_text().replace("NEW", UUID)
TOLD = "pulumi config set --path 'bmc_trust.<host>.sha256' <fingerprint>"
BOARD, SAME_BOARD = "gets another board", "and its disk are dead, and it gets another BMC"


@dataclass
class Evidence:
    """What happens in a drill."""

    says: str = SAYS
    review: str = REVIEW
    reaches_the_step: bool = True
    lost: set[str] = field(default_factory=set)
    changes: bool = False
    killed_in: list[str] = field(default_factory=list)
    lose: list[str] = field(default_factory=list)
    cut_off: list[str] = field(default_factory=list)
    followed: dict[str, str] = field(default_factory=dict)
    """The values that the operator writes in place of the words of the pages."""
    calls: Mock = field(default_factory=Mock)
    """Has what the drill calls."""


def of_count(count: int) -> Callable[[Replacements], None]:
    return lambda drills: drills.run(count, seed=7)


ONE = of_count(1)


def of_death(death: str) -> Callable[[Replacements], None]:
    return lambda drills: drills._replace(HOLDER, death, "")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Report]:
    """Return a function that runs drills on evidence, and returns their report."""

    def with_evidence(found: Evidence, do: Callable[[Replacements], None] = ONE) -> Report:
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
        stack.project, stack.install_config = tmp_path, tmp_path / "install-config.yaml"
        stack.install_config.write_text(plans.written(plans.install_config()))
        stack.change_host.side_effect = partial(Stack.change_host, stack)

        def follow(block: str, **values: str) -> str:
            found.followed |= values
            says = found.review if "okd-baremetal review" in block else found.says
            return says.replace("{}", values["host"]).replace(HOLDER.name, values["host"])

        stack.follow.side_effect = follow
        provisioner = create_autospec(Provisioner, instance=True)
        provisioner.lose.side_effect = found.lose.append
        provisioner.cut_off.side_effect = found.cut_off.append
        provisioner.uuid.return_value, provisioner.boot_mac.return_value = UUID, MAC
        provisioner.bmc.return_value, provisioner.fingerprint.return_value = BMC, FINGERPRINT
        proofs = create_autospec(Proofs, instance=True, plan=PLAN)
        proofs.of.return_value = proofs
        writer = create_autospec(Writer, instance=True, acknowledged=["000001"])
        writer.lost.return_value = found.lost
        macs = frozenset({machine_mac(HOLDER, PLAN)})
        for name, value in (
            ("Writer", lambda _: writer),
            ("answering_macs", lambda _: macs),
        ):
            monkeypatch.setattr(replacement, name, value)
        status = create_autospec(StatusProofs, instance=True)
        parts = {"lab": provisioner, "stack": stack, "proofs": proofs, "writer": writer, "status": status}
        for name, mock in parts.items():
            found.calls.attach_mock(mock, name)
        monkeypatch.setattr(kube_drill, "StatusProofs", lambda *_, **__: status)
        monkeypatch.setattr("os.kill", lambda pid, number: found.killed_in.append(f"{pid} {number}"))
        do(Replacements(provisioner, stack, proofs, create_autospec(Operator), report))
        return report

    return with_evidence


def test_a_drill_as_it_should_be_loses_the_holder_of_the_vip_and_no_write(run: Callable[..., Report]) -> None:
    found = Evidence()
    report = run(found)
    assert all(proof.holds for proof in report.proofs)
    assert found.calls.proofs.nodes_are_ready.call_args.args[1] == PLAN.servers
    assert (found.lose, found.killed_in) == ([HOLDER.name], [f"4242 {signal.SIGKILL.value}"])
    assert said(found.calls) == [
        "proofs.store",
        "writer.start",
        f"lab.lose {HOLDER.name}",
        "lab.uuid …",
        "stack.follow pulumi preview --diff",
        "stack.try_run up --yes --skip-preview",
        "stack.run cancel --yes",
        "stack.run up --yes --skip-preview",
        "stack.plan",
        "proofs.of …",
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
    run(first, of_count(6))
    run(second, of_count(6))
    assert (first.lose, first.cut_off) == (second.lose, second.cut_off)
    assert {*first.lose} & {server.name for server in OTHERS}
    assert first.cut_off


def test_another_board_is_another_machine_by_its_mac_and_its_consent(run: Callable[..., Report]) -> None:
    found = Evidence()
    assert all(proof.holds for proof in run(found, of_death(BOARD)).proofs)
    calls = said(found.calls)
    assert calls[2:8] == [
        f"lab.replace_board {HOLDER.name}",
        "lab.uuid …",
        "lab.boot_mac …",
        f"stack.change_host {HOLDER.name} …",
        "stack.follow okd-baremetal review <stack>",
        "stack.run up --yes --skip-preview",
    ]
    assert found.followed == {"host": HOLDER.name, "serial or UUID": UUID}
    assert not [call for call in calls if "reinstall" in call]
    hosts = parse_yaml(found.calls.stack.install_config.read_text())["platform"]["baremetal"]["hosts"]
    changed = [new for new, old in zip(hosts, BARE["hosts"], strict=True) if new != old]
    assert changed == [{**BARE["hosts"][0], "bootMACAddress": MAC}]


def test_another_bmc_has_its_address_login_and_certificate_told(run: Callable[..., Report]) -> None:
    found = Evidence()
    assert all(proof.holds for proof in run(found, of_death(SAME_BOARD)).proofs)
    calls = said(found.calls)
    assert calls[2:4] == [f"lab.lose {HOLDER.name}", f"lab.replace_bmc {HOLDER.name}"]
    told, again = (calls.index(f"stack.follow {line}") for line in (TOLD, "pulumi preview --diff"))
    assert calls[told + 1] == "stack.run up --yes --skip-preview"
    assert told + 1 < again
    values = {"host": HOLDER.name, "user": NEW_USERNAME, "fingerprint": FINGERPRINT, "serial or UUID": UUID}
    assert found.followed == values
    stack = found.calls.stack
    assert (stack.project / "bmc-password").read_text() == NEW_PASSWORD
    hosts = parse_yaml(stack.install_config.read_text())["platform"]["baremetal"]["hosts"]
    assert hosts[0]["bmc"]["address"] == BARE["hosts"][0]["bmc"]["address"].replace("172.22.0.101", "172.22.1.1")
    assert hosts[1:] == BARE["hosts"][1:]
    assert f"stack.run config rm --path reinstall.{HOLDER.name}" in calls


def test_the_review_must_name_the_machine_of_another_board(run: Callable[..., Report]) -> None:
    with pytest.raises(RehearsalError, match="the review says"):
        run(Evidence(review="nothing"), of_death(BOARD))


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
