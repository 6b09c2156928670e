"""How a cluster goes to sleep and wakes: in which order, what is proven, what is approved, and how a run goes on."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from base.errors import BusyError, OkdBaremetalError, PowerError, SegmentError, SnapshotError
from providers.cluster_power.engine import STUCK
from providers.joining.approvals import GRANT_AGAIN_S
from providers.joining.nodes import CORDONED
from testing.certificate_requests import client_request
from testing.fakes.bmc import FakeBmc
from tests.unit.providers.cluster_power.rig import DAY_S, MASTERS, WORKERS, KilledError, Rig
from wires.api.https import CertificateExpiredError
from wires.api.resources import ETCD
from wires.bmc.client import BmcClient, Identity, Power


@pytest.fixture
def rig() -> Rig:
    return Rig()


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(OkdBaremetalError) as error:
        call()
    assert "Fix: " in str(error.value)
    return str(error.value)


def test_etcd_is_saved_and_nodes_are_cordoned_before_any_server_goes_off(rig: Rig) -> None:
    rig.sleep()
    cordons = [f"nodes/{host}" for host in rig.spec.hosts]
    assert sorted(rig.writes[:5]) == sorted(cordons)
    assert len(rig.saved) == 1
    assert rig.cluster.cordoned == [*rig.spec.hosts]


def test_servers_with_etcd_go_off_once_all_others_are_off(rig: Rig) -> None:
    seen = list[tuple[str, list[str]]]()

    def heard(name: str) -> bool:
        seen.append((name, rig.on))
        return True

    for name, bmc in rig.bmcs.items():
        bmc.hears_shutdown = partial(heard, name)
    rig.sleep()
    assert [name for name, _ in seen] == [*WORKERS, *MASTERS]
    assert all(not {*WORKERS} & {*on} for name, on in seen if name in MASTERS)
    assert rig.on == []
    assert {line for bmc in rig.bmcs.values() for line in bmc.writes} == {"shut down"}


def test_servers_that_hang_in_their_shutdown_are_named_and_never_forced(rig: Rig) -> None:
    for name in WORKERS:
        rig.bmcs[name].hears_shutdown = lambda: False
    text, what = refusal(rig.sleep), "power Off by a shutdown of its system was not reached in time"
    assert text.startswith("power: 2 of 5 servers did not go off:\n")
    assert text.endswith(f"Fix: {STUCK}")
    assert all(f"\n    {name}: https://{name}: {what}" in text for name in WORKERS)
    assert rig.on == [*rig.spec.hosts]
    assert all({*rig.bmcs[name].writes} == {"shut down"} for name in WORKERS)
    for name in WORKERS:
        rig.bmcs[name].request_power(Power.OFF)  # a person, as the fix says
    rig.sleep()
    assert rig.on == []


def test_a_server_that_misses_the_request_is_asked_again(rig: Rig) -> None:
    heeds = iter([False, True])
    rig.bmcs["okd-worker-0"].hears_shutdown = lambda: next(heeds)
    rig.sleep()
    assert rig.bmcs["okd-worker-0"].writes == ["shut down", "shut down"]


def test_another_machine_behind_a_bmc_ends_it_before_anything_is_begun(rig: Rig) -> None:
    rig.bmcs["okd-worker-0"].machine = Identity("c0ffee00-0000-4000-8000-00000000ffff", "STRANGER")
    text = refusal(rig.sleep)
    assert "    okd-worker-0: consent names " in text
    assert "Fix: if that machine's disk may be wiped" in text
    assert (rig.writes, rig.saved) == ([], [])


def test_a_bmc_that_another_run_uses_is_named_and_not_taken_to_be_on(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(name: str) -> AbstractContextManager[BmcClient]:
        if name == "okd-worker-0":
            raise BusyError("process 7 uses it", fix="wait for its end")
        return nullcontext(rig.bmcs[name])

    monkeypatch.setattr(rig, "_bmc", busy)
    assert refusal(rig.sleep).startswith(
        "power: 1 of 5 servers cannot be identified:\n    okd-worker-0: process 7 uses it"
    )
    assert (rig.writes, rig.saved) == ([], [])
    assert rig.engine().running() == [*MASTERS, "okd-worker-1"]


def test_a_silent_api_ends_it_before_anything_is_begun(rig: Rig) -> None:
    """Also with one of three off: their majority still runs, so no earlier run has saved etcd."""
    rig.bmcs[MASTERS[0]].request_power(Power.OFF)
    rig.clock.sleep(60)
    rig.writes.clear()
    rig.cluster.with_etcd |= {"x", "y", "z", "u"}
    rig.cluster.kubelets |= {
        name: replace(rig.cluster.kubelets[MASTERS[0]], bmc=FakeBmc(rig.clock)) for name in "xyzu"
    }
    assert refusal(rig.sleep).startswith("power: no server was switched off: the API cannot be asked")
    assert (rig.writes, rig.saved) == ([], [])


def answered_at_the_second_time(call: Callable[..., object]) -> Callable[..., object]:
    """Return an API's call which, for each path, has no answer at first."""
    asked = set[str]()

    def answered(address: str, path: str, *rest: object) -> object:
        if path in asked:
            return call(address, path, *rest)
        asked.add(path)
        raise ConnectionResetError("reset")

    return answered


def test_a_request_without_an_answer_is_made_again(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = {name: getattr(rig.cluster, name) for name in ("get", "patch")}
    for act in (rig.sleep, rig.wake):
        for name, call in calls.items():
            monkeypatch.setattr(rig.cluster, name, answered_at_the_second_time(call))
        act()
    assert (rig.on, rig.cluster.cordoned) == ([*rig.spec.hosts], [])


def test_an_etcd_that_cannot_be_asked_is_not_awake(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.sleep()
    answer = rig.cluster.get

    def get(address: str, path: str, model: Any) -> Any:
        if path == ETCD:
            raise ConnectionResetError("reset")
        return answer(address, path, model)

    monkeypatch.setattr(rig.cluster, "get", get)
    assert "reset, after 300 s. Fix: see what the line says" in refusal(rig.wake)


def test_without_a_snapshot_nothing_is_begun(rig: Rig) -> None:
    def save() -> None:
        raise SnapshotError("not saved", fix="have etcd answer")

    with pytest.raises(SnapshotError):
        rig.engine().sleep(save)
    assert rig.writes == []


def test_a_cordon_of_a_person_is_kept_through_sleep_and_waking(rig: Rig) -> None:
    rig.cluster.nodes["okd-worker-1"]["spec"]["unschedulable"] = True
    rig.sleep()
    assert "annotations" not in rig.cluster.nodes["okd-worker-1"]["metadata"]
    rig.wake()
    assert rig.cluster.cordoned == ["okd-worker-1"]
    assert all(not node["metadata"].get("annotations") for node in rig.cluster.nodes.values())


def test_a_node_that_is_not_of_the_stack_is_named_and_left(rig: Rig) -> None:
    rig.cluster.nodes["stranger"] = {"metadata": {"name": "stranger"}}
    rig.sleep()
    assert rig.warnings == ["not of this stack, and left on without an API: stranger"]
    assert not [line for line in rig.writes if "stranger" in line]


def test_a_sleep_of_hours_wakes_in_order_without_an_approval(rig: Rig) -> None:
    rig.sleep()
    rig.clock.sleep(3600)
    rig.writes.clear()
    rig.wake()
    assert rig.at_bmcs("On") == [*MASTERS, *WORKERS]
    uncordoned = [line for line in rig.writes if line.startswith("nodes/")]
    assert uncordoned == [f"nodes/{host}" for host in (*MASTERS, *WORKERS)]
    assert rig.writes.index("okd-worker-0 On") > rig.writes.index("nodes/okd-master-2")
    assert (rig.cluster.cordoned, rig.cluster.approved) == ([], [])
    assert all(bmc.installs == 0 for bmc in rig.bmcs.values())


def test_after_400_days_each_kubelet_gets_one_certificate_of_each_kind(rig: Rig) -> None:
    rig.sleep()
    rig.clock.sleep(400 * DAY_S)
    joining = rig.wake()
    wanted = {f"csr-{kind}-{host}-2" for kind in ("client", "serving") for host in rig.spec.hosts}
    assert sorted(rig.cluster.approved) == sorted(wanted)
    assert {host: len(approvals) for host, approvals in joining.approved.items()} == dict.fromkeys(rig.spec.hosts, 2)
    now = rig.cluster.now()
    for kubelet in rig.cluster.kubelets.values():
        assert kubelet.client.not_valid_before_utc <= now < kubelet.client.not_valid_after_utc
        assert kubelet.serving.not_valid_after_utc > now
    assert rig.cluster.cordoned == []
    assert rig.warnings == []


def test_a_node_is_uncordoned_only_once_its_kubelet_has_reported_again(rig: Rig) -> None:
    rig.sleep()
    slept = dict(rig.cluster.leases)
    rig.clock.sleep(3600)
    reported = list[bool]()

    def uncordon(path: str, _: dict[str, Any]) -> None:
        host = path.rpartition("/")[2]
        reported.append(rig.cluster.leases[host] != slept[host])

    rig.cluster.on_change = uncordon
    rig.wake()
    assert reported == [True] * 5


def test_servers_that_never_went_off_wake_too(rig: Rig) -> None:
    rig.kill_at = 6  # all nodes are cordoned, and one server is asked
    with pytest.raises(KilledError):
        rig.sleep()
    rig.kill_at = None
    rig.clock.sleep(100)
    rig.wake()
    assert sorted(rig.on) == sorted(rig.spec.hosts)
    assert rig.cluster.cordoned == []


def test_a_request_for_another_host_stays_pending(rig: Rig) -> None:
    rig.sleep()
    rig.clock.sleep(400 * DAY_S)
    rig.cluster.requests["strange"] = client_request("okd-master-9", name="strange")
    rig.wake()
    assert "strange" not in rig.cluster.approved
    assert any("strange" in line for line in rig.warnings)


def test_a_node_of_another_machine_gets_no_client_certificate(rig: Rig) -> None:
    rig.cluster.nodes["okd-worker-0"]["status"]["nodeInfo"]["systemUUID"] = "c0ffee00-0000-4000-8000-00000000ffff"
    rig.sleep()
    rig.clock.sleep(400 * DAY_S)
    text = refusal(rig.wake)
    assert "node okd-worker-0 has not reported since it slept" in text
    assert "csr-client-okd-worker-0-2" not in rig.cluster.approved
    assert any("node okd-worker-0 has joined already" in line for line in rig.warnings)


def test_a_second_request_of_a_kind_waits(rig: Rig) -> None:
    rig.sleep()
    rig.clock.sleep(400 * DAY_S)
    at = dict[str, float]()

    def twice(path: str, _: dict[str, Any]) -> None:
        name = path.split("/")[-2]
        at[name] = rig.clock.now()
        if name == "csr-client-okd-master-0-2":  # its kubelet was started again, and has lost the key
            rig.cluster.kubelets["okd-master-0"].boot += 1

    rig.cluster.on_change = twice
    rig.wake()
    apart = at["csr-client-okd-master-0-3"] - at["csr-client-okd-master-0-2"]
    assert GRANT_AGAIN_S < apart < GRANT_AGAIN_S + 10


def test_without_approvals_it_waits_for_those_of_a_person(rig: Rig) -> None:
    rig.sleep()
    rig.clock.sleep(400 * DAY_S)
    assert "node okd-master-0 has not reported since it slept" in refusal(lambda: rig.wake(approves=False))
    assert rig.cluster.approved == []


def test_a_server_without_its_node_ends_the_waking_by_name(rig: Rig) -> None:
    rig.sleep()
    rig.bmcs["okd-worker-1"].answers = False
    assert refusal(rig.wake).startswith("power: node okd-worker-1 has not reported since it slept, after 300 s")
    assert rig.cluster.cordoned == ["okd-worker-1"]
    rig.wake(set(rig.spec.hosts) - {"okd-worker-1"})


def test_a_waking_awaits_that_okd_renews_the_certificate_of_its_api(rig: Rig) -> None:
    rig.sleep()
    rig.clock.sleep(400 * DAY_S)
    rig.wake()
    assert any(str(CertificateExpiredError()) in step.detail for step in rig.progress)
    assert rig.cluster.cordoned == []


def test_a_waking_ends_by_an_expired_certificate_of_a_person_s_own(rig: Rig) -> None:
    rig.cluster.renews = False
    rig.sleep()
    rig.clock.sleep(400 * DAY_S)
    text = refusal(rig.wake)
    assert f"{CertificateExpiredError()}, after 300 s" in text
    assert "reinstall" not in text


def test_a_member_of_etcd_that_does_not_answer_is_not_awake(rig: Rig) -> None:
    rig.sleep()
    rig.cluster.kubelets["lost"] = replace(
        rig.cluster.kubelets[MASTERS[0]], address="192.0.2.99", bmc=FakeBmc(rig.clock)
    )
    rig.cluster.with_etcd.add("lost")
    assert "a member of etcd does not answer: a member is unhealthy" in refusal(rig.wake)


@pytest.mark.parametrize("vip", [*Rig().spec.vips])
def test_a_vip_that_several_hold_or_nobody_is_not_awake(rig: Rig, vip: str) -> None:
    rig.sleep()
    rig.holders[vip] = None
    assert f"VIP {vip} is not held by exactly one of okd-" in refusal(rig.wake)


def test_a_segment_that_cannot_be_asked_is_a_warning(rig: Rig) -> None:
    rig.sleep()

    def blind(_vip: str, _nodes: Mapping[str, str]) -> str | None:
        raise SegmentError("no ARP here", where="eth0", fix="set it up")

    rig.wake(holder=blind)
    assert rig.warnings == ["who holds the VIPs was not proven: eth0: no ARP here. Fix: set it up"]


@pytest.mark.parametrize("kill_at", [1, 3, 5, 6, 7, 8, 10])
def test_a_sleep_that_is_killed_anywhere_goes_on(rig: Rig, kill_at: int) -> None:
    rig.kill_at = kill_at
    try:
        rig.sleep()
    except KilledError:
        rig.kill_at = None
        rig.clock.sleep(1)
        for _ in range(2):
            try:
                rig.sleep()
                break
            except PowerError:  # the API has just gone
                rig.clock.sleep(60)
    asked = rig.at_bmcs("shut down")
    assert max(asked.index(host) for host in WORKERS) < min(asked.index(host) for host in MASTERS)
    assert rig.on == []
    rig.kill_at = None
    rig.wake()
    assert rig.cluster.cordoned == []


@pytest.mark.parametrize("name", ["rehearsal", "fenced"])
def test_a_sleep_goes_on_once_half_of_etcd_is_off(name: str) -> None:
    """The API that would cordon nodes is gone by then: of an even number, as the two of `fenced`, with the half."""
    rig = Rig(name)
    rig.kill_at = 2 * len(rig.spec.hosts) - 1  # the last server that is asked but one
    with pytest.raises(KilledError):
        rig.sleep()
    rig.kill_at = None
    rig.clock.sleep(100)
    assert not rig.cluster.answers
    for _ in ("the last server", "nothing is left"):
        rig.sleep()
        assert rig.on == []
    assert len(rig.saved) == 1


@pytest.mark.parametrize("kill_at", [1, 3, 5, 9, 13, 16, 20])
def test_a_waking_that_is_killed_anywhere_goes_on(rig: Rig, kill_at: int) -> None:
    rig.sleep()
    rig.clock.sleep(400 * DAY_S)
    rig.writes.clear()
    rig.kill_at = kill_at
    try:
        rig.wake()
    except KilledError:
        rig.kill_at = None
        rig.wake()
    assert rig.cluster.cordoned == []
    assert sorted(rig.on) == sorted(rig.spec.hosts)
    assert len(rig.cluster.approved) == len({*rig.cluster.approved}) == 10


@pytest.mark.parametrize(
    ("name", "only"),
    [("compact", ()), ("arbiter", ()), ("dual-stack", ()), ("rehearsal", ("okd-master-0",))],
    ids=["compact", "arbiter", "dual-stack", "single-node"],
)
def test_each_shape_sleeps_and_wakes(name: str, only: tuple[str, ...]) -> None:
    rig = Rig(name, only)
    rig.sleep()
    assert rig.on == []
    rig.clock.sleep(400 * DAY_S)
    rig.wake()
    assert sorted(rig.on) == sorted(rig.spec.hosts)
    assert rig.cluster.cordoned == []


def test_what_runs_leaves_nothing_unfinished_and_half_a_sleep_is_found(rig: Rig) -> None:
    assert rig.engine().unfinished() == []
    rig.kill_at = 3
    with pytest.raises(KilledError):
        rig.sleep()
    rig.cluster.nodes["stranger"] = {"metadata": {"name": "stranger", "annotations": {CORDONED: "true"}}}
    assert rig.engine().unfinished() == [f"node {name} was cordoned to sleep" for name in [*rig.spec.hosts][:2]]
    rig.kill_at = None
    rig.sleep()
    assert rig.engine().unfinished() is None, "without an API, nobody knows why a server is off"
    assert rig.engine().running() == []
