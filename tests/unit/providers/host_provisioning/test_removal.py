"""How a server leaves a cluster that runs: drained by the API, then off, then without node."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from base.errors import BmcRefusedError, ProvisioningError
from providers.host_provisioning.drain import LOST_S, MIRROR, Drain
from providers.host_provisioning.removal import AGAIN, ANOTHER, ANSWER, KEEP, LATE_S, LET_GO, NODE_S, OFF, Removal
from testing.fakes.bmc import UUID, FakeBmc
from testing.fakes.clock import FakeClock
from testing.fakes.workloads import Pod, Workloads
from testing.progress import into
from wires.api.resources import HeldError
from wires.bmc.client import Identity, Power

HOST, VIP = "worker-0", "192.0.2.5"
GONE = f"if its machine is gone for good, `oc delete node {HOST}`, then run `pulumi up` again; or {KEEP}"


@dataclass
class EventClock(FakeClock):
    """A clock with something that happens."""

    at_s: float = float("inf")
    happens: Callable[[], object] = bool

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        if self.now() >= self.at_s:
            self.at_s = float("inf")
            self.happens()


@dataclass
class Rig:
    """A cluster of three compute nodes whose server worker-0 leaves it."""

    clock: EventClock = field(default_factory=lambda: EventClock(0))
    api: Workloads = field(init=False)
    bmc: FakeBmc = field(init=False)
    lines: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    deadline_s: float = 600

    def __post_init__(self) -> None:
        nodes = {f"worker-{number}": True for number in range(3)}
        self.api = Workloads(self.clock.now, [Pod("web-1", HOST, "web"), Pod("web-2", "worker-1", "web")], nodes)
        self.bmc = FakeBmc(self.clock, state=Power.ON, lost=self._noted)
        self.off_with: list[str] = []

    def _noted(self, write: str) -> None:
        self.api.calls.append(write)
        self.off_with += [pod.name for pod in self.api.pods if pod.node == HOST and pod.owner == "ReplicaSet"]

    def later(self, at_s: float, happens: Callable[[], object]) -> None:
        self.clock.at_s, self.clock.happens = at_s, happens

    @contextmanager
    def locked(self) -> Iterator[FakeBmc]:
        yield self.bmc

    @property
    def removal(self) -> Removal:
        report = into(self.lines)
        drain = Drain(HOST, VIP, self.api, self.clock, report)
        return Removal(HOST, UUID, self.locked, drain, self.clock, report, self.warnings.append, self.deadline_s)

    def refused(self) -> str:
        with pytest.raises(ProvisioningError) as error:
            self.removal.take_out()
        return str(error.value)


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_a_server_is_drained_then_off_then_without_node(rig: Rig) -> None:
    rig.removal.take_out()
    assert rig.api.calls == [f"cordon {HOST}", "evict web-1", "shut down", f"delete {HOST}"]
    assert (rig.off_with, rig.bmc.state) == ([], Power.OFF)
    assert {pod.name: pod.node for pod in rig.api.pods} == {"web-2": "worker-1", "web-1-again": "worker-1"}
    assert rig.lines[0] == "draining: 1 left: shop/web-1 (ends); at most 600 s left"
    assert OFF in rig.lines
    assert rig.lines[-2:] == ["deleting its node: node worker-0 exists; at most 300 s left", "out of the cluster"]


def test_what_was_done_before_is_not_done_again(rig: Rig) -> None:
    rig.removal.take_out()
    done = [*rig.api.calls]
    rig.removal.take_out()
    assert (rig.api.calls, rig.warnings) == (done, [])


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(Pod("sdn", HOST, owner="DaemonSet"), id="daemonset"),
        pytest.param(Pod("proxy", HOST, owner="Node", annotations={MIRROR: "1"}), id="mirror"),
        pytest.param(Pod("job", HOST, owner="Job", phase="Succeeded"), id="succeeded"),
        pytest.param(Pod("job", HOST, owner="Job", phase="Failed"), id="failed"),
    ],
)
def test_a_pod_of_the_node_is_not_evicted(rig: Rig, pod: Pod) -> None:
    rig.api.pods = [pod]
    rig.removal.take_out()
    assert rig.api.calls == [f"cordon {HOST}", "shut down", f"delete {HOST}"]


def test_a_pod_without_a_controller_is_evicted(rig: Rig) -> None:
    rig.api.pods = [Pod("debug", HOST, owner="")]
    rig.removal.take_out()
    assert "evict debug" in rig.api.calls


def test_a_budget_is_waited_for(rig: Rig) -> None:
    rig.api.budgets["web"] = 2
    rig.later(60, lambda: rig.api.pods.append(Pod("web-3", "worker-2", "web")))
    rig.removal.take_out()
    assert rig.api.calls == [f"cordon {HOST}", "evict web-1", "shut down", f"delete {HOST}"]
    assert rig.lines[0].startswith("draining: 1 left: shop/web-1 (The disruption budget web needs 2 healthy pods")
    assert rig.clock.now() > 60


def test_a_budget_that_never_allows_it_leaves_the_server_as_it_was(rig: Rig) -> None:
    rig.api.budgets["web"] = 2
    held = "shop/web-1 (The disruption budget web needs 2 healthy pods and has 2 currently)"
    what = f"not drained within 600 s, so it runs on, and takes pods again: 1 left: {held}"
    assert rig.refused() == f"{HOST}: {what}. Fix: {LET_GO}; or {KEEP}"
    assert rig.api.calls == [f"cordon {HOST}", f"uncordon {HOST}"]
    assert (rig.bmc.state, rig.clock.now()) == (Power.ON, 600)


def test_a_node_that_was_cordoned_before_stays_so(rig: Rig) -> None:
    rig.api.budgets["web"] = 2
    rig.api.cordoned.add(HOST)
    assert f"and stays cordoned (`oc adm uncordon {HOST}`)" in rig.refused()
    assert HOST in rig.api.cordoned


def test_a_pod_with_several_budgets_is_named(rig: Rig) -> None:
    rig.api.several_budgets = True
    assert "shop/web-1 (This pod has more than one PodDisruptionBudget" in rig.refused()


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (HeldError("failed calling webhook"), "1 left: shop/api-1 (failed calling webhook)"),
        (TimeoutError("no complete answer in time"), "eviction of shop/api-1: no complete answer"),
    ],
    ids=["refused", "hangs"],
)
def test_a_web_hook_that_does_not_answer_holds_no_other_pod(rig: Rig, error: OSError, says: str) -> None:
    """An API asks a hook for 10 s by default (admissionregistration/v1, timeoutSeconds), as long as it is asked."""
    rig.api.hooked["api-1"] = error
    rig.api.pods.insert(0, Pod("api-1", HOST, "api"))
    assert says in rig.refused()
    assert "evict web-1" in rig.api.calls


def test_a_pod_that_does_not_end_is_named_and_holds_the_server(rig: Rig) -> None:
    rig.api.ends_s = 1000
    assert "1 left: shop/web-1 (ends)" in rig.refused()
    assert rig.api.calls.count("evict web-1") == 1, "one that ends is not asked again"
    assert rig.bmc.state is Power.ON


def test_a_server_that_is_off_is_out_without_waiting_for_its_pods(rig: Rig) -> None:
    rig.api.budgets["web"] = 2
    rig.bmc.state, rig.api.nodes[HOST] = Power.OFF, False
    rig.removal.take_out()
    assert rig.api.calls == [f"delete {HOST}"]
    assert rig.clock.now() < 60


def test_a_node_that_runs_though_its_server_is_off_keeps_its_pods(rig: Rig) -> None:
    """A person may have given its name to another machine, or the BMC is wrong."""
    rig.bmc.state = Power.OFF
    what = f"its BMC says that it is off, but after {LATE_S:.0f} s node {HOST} is ready"
    assert rig.refused() == f"{HOST}: {what}. Fix: {ANOTHER}"
    assert (rig.api.calls, {pod.node for pod in rig.api.pods}) == ([], {HOST, "worker-1"})


@pytest.mark.parametrize(
    ("runs", "what", "fix"),
    [
        (True, f"its BMC says that it is off, but after {LATE_S:.0f} s", ANOTHER),
        (False, f"off, but after {NODE_S:.0f} s its node is not deleted:", AGAIN),
    ],
    ids=["its-node", "its-deletion"],
)
def test_an_api_that_falls_silent_says_of_no_node_that_it_is_gone(rig: Rig, runs: bool, what: str, fix: str) -> None:
    def silenced(_: str) -> None:
        if runs or rig.bmc.state is Power.OFF:
            rig.api.down = ConnectionRefusedError("refused")

    rig.bmc.state, rig.bmc.fault = Power.OFF if runs else Power.ON, silenced
    said = rig.refused()
    assert said.startswith(f"{HOST}: {what} ")
    assert said.endswith(f"refused. Fix: {fix}")
    assert HOST in rig.api.nodes


def test_a_server_that_has_just_gone_off_is_seen_to_be_off(rig: Rig) -> None:
    rig.bmc.state = Power.OFF
    rig.later(50, lambda: rig.api.nodes.update({HOST: False}))
    rig.removal.take_out()
    assert (rig.api.calls, rig.clock.now() < 60) == ([f"delete {HOST}"], True)


def test_a_system_that_does_not_shut_down_has_its_power_cut(rig: Rig) -> None:
    rig.bmc.hears_shutdown = lambda: False
    rig.removal.take_out()
    done = [f"cordon {HOST}", "evict web-1", "shut down", "shut down", "Off", f"delete {HOST}"]
    assert (rig.api.calls, rig.bmc.state) == (done, Power.OFF)


def test_a_bmc_that_offers_no_shutdown_cuts_the_power(rig: Rig) -> None:
    def refuse(request: str) -> None:
        if request == "request_shutdown":
            raise BmcRefusedError("it offers neither", where="https://bmc")

    rig.bmc.fault = refuse
    rig.removal.take_out()
    assert rig.api.calls[-2:] == ["Off", f"delete {HOST}"]


def test_a_node_that_stays_not_ready_is_lost_and_waits_for_no_budget(rig: Rig) -> None:
    rig.api.budgets["web"] = 2
    rig.api.nodes[HOST] = False
    rig.removal.take_out()
    assert rig.api.calls == [f"cordon {HOST}", "shut down", f"delete {HOST}"]
    assert LOST_S <= rig.clock.now() < LOST_S + 60
    assert rig.lines[0].startswith(f"draining: node {HOST} is not ready: ")


def test_a_server_that_dies_meanwhile_is_not_waited_for(rig: Rig) -> None:
    rig.api.ends_s = 1000
    rig.later(100, lambda: rig.api.nodes.update({HOST: False}))
    rig.removal.take_out()
    assert rig.api.calls[-2:] == ["shut down", f"delete {HOST}"]
    assert rig.clock.now() < 100 + LOST_S + 60


@pytest.mark.parametrize("at_s", [0, 100])
def test_a_node_that_is_not_ready_for_a_moment_keeps_its_pods(rig: Rig, at_s: float) -> None:
    rig.api.budgets["web"] = 2

    def comes_back() -> None:
        rig.api.nodes[HOST] = True

    def is_late() -> None:
        rig.api.nodes[HOST] = False
        rig.later(at_s + LOST_S / 2, comes_back)

    rig.later(at_s, is_late) if at_s else is_late()
    assert "so it runs on, and takes pods again: 1 left: shop/web-1 (The disruption budget" in rig.refused()
    assert rig.bmc.state is Power.ON


def test_an_api_that_is_silent_for_a_moment_is_asked_again(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    patch, silent = rig.api.patch, [ConnectionResetError("reset")]

    def once(address: str, path: str, change: dict[str, Any]) -> None:
        if silent:
            raise silent.pop()
        patch(address, path, change)

    monkeypatch.setattr(rig.api, "patch", once)
    rig.removal.take_out()
    assert rig.api.calls == [f"cordon {HOST}", "evict web-1", "shut down", f"delete {HOST}"]


def test_a_node_that_others_have_take_pods_meanwhile_is_cordoned_again(rig: Rig) -> None:
    """As OKD does once it has updated a node (`syncNode`, as above, which then calls for an uncordon)."""
    rig.api.ends_s = 60

    def is_uncordoned() -> None:
        rig.api.cordoned.clear()
        rig.api.pods.append(Pod("web-9", HOST, "web"))

    rig.later(30, is_uncordoned)
    rig.removal.take_out()
    assert rig.api.calls[:4] == [f"cordon {HOST}", "evict web-1", f"cordon {HOST}", "evict web-9"]
    assert rig.off_with == []


def test_while_the_api_is_silent_no_node_is_seen_to_be_lost(rig: Rig) -> None:
    rig.api.budgets["web"] = 2
    rig.api.nodes[HOST] = False

    def answers() -> None:
        rig.api.down = None
        rig.later(LOST_S + 100, lambda: rig.api.nodes.update({HOST: True}))

    def is_silent() -> None:
        rig.api.down = ConnectionRefusedError("refused")
        rig.later(LOST_S + 50, answers)

    rig.later(50, is_silent)
    assert "1 left: shop/web-1 (The disruption budget" in rig.refused()
    assert rig.bmc.state is Power.ON


def test_an_api_that_does_not_answer_keeps_it(rig: Rig) -> None:
    rig.api.down = ConnectionRefusedError("refused")
    what = f"not drained: the API cannot be asked through {VIP}: refused"
    assert rig.refused() == f"{HOST}: {what}. Fix: have the API answer first, {ANSWER}"
    assert (rig.api.calls, rig.bmc.requests) == ([], 0)


def test_a_bmc_that_does_not_answer_keeps_its_node_as_it_is(rig: Rig) -> None:
    def refuse(_: str) -> None:
        raise BmcRefusedError("no such system", where="https://bmc", fix="correct its address")

    rig.bmc.fault = refuse
    assert rig.refused() == f"https://bmc: no such system; nothing was changed. Fix: correct its address; {GONE}"
    assert rig.api.calls == []


def test_a_bmc_of_another_machine_keeps_both(rig: Rig) -> None:
    rig.bmc.machine = Identity("c0ffee00-0000-4000-8000-000000000009", "SN-9")
    said, fix = rig.refused(), "Fix: drain this node and switch its server off yourself"
    assert said.startswith(f"{HOST} (")
    assert f"wanted {UUID}; nothing was changed. {fix}" in said
    assert (rig.api.calls, rig.bmc.state) == ([], Power.ON)


def test_a_power_that_does_not_go_off_keeps_the_node(rig: Rig) -> None:
    rig.bmc.change_s, rig.bmc.hears_shutdown = 100_000, lambda: False
    assert f"{HOST} is drained, and stays cordoned (`oc adm uncordon {HOST}`). Fix: " in rig.refused()
    assert HOST in rig.api.nodes, "its kubelet may run"


def test_a_node_that_a_person_has_deleted_needs_no_bmc(rig: Rig) -> None:
    def refuse(_: str) -> None:
        raise BmcRefusedError("no such system", where="https://bmc")

    del rig.api.nodes[HOST]
    rig.bmc.fault = refuse
    rig.removal.take_out()
    assert rig.warnings == [f"{HOST}: it has no node, and was not switched off: https://bmc: no such system"]


def test_a_server_without_a_node_is_switched_off(rig: Rig) -> None:
    del rig.api.nodes[HOST]
    rig.removal.take_out()
    assert (rig.bmc.state, rig.api.calls) == (Power.OFF, ["shut down"])
