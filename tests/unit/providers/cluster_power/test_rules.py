"""What a change of `power` does, what is refused while a cluster sleeps, and what a preview says."""

from typing import Any

import pytest

from providers.cluster_power import rules
from providers.cluster_power.model import ClusterPowerOuts, ClusterPowerSpec
from testing import clusters

AWAKE = ClusterPowerSpec.of(clusters.plan("rehearsal", phase="production"), "prod")
ASLEEP = AWAKE.changed(power="off")
WORKER = AWAKE.hosts["okd-worker-1"]


def of_worker(**changes: Any) -> dict[str, Any]:
    return {**AWAKE.hosts, "okd-worker-1": WORKER.changed(**changes)}


def faults(old: ClusterPowerSpec | None, new: ClusterPowerSpec) -> list[str]:
    return [str(fault) for fault in rules.faults(old, new)]


def test_it_has_what_the_stack_has() -> None:
    options = {"power": "off", "snapshots": "/srv/etcd", "approve_certificates": False}
    again, deadlines = {"reinstall": {"okd-worker-1": "SERIAL"}}, {"bmc_s": 11.0, "shutdown_s": 12.0, "host_s": 13.0}
    plan = clusters.plan("dual-stack", phase="production", deadlines=deadlines, **options, **again)
    spec = ClusterPowerSpec.of(plan, "prod")

    def machines(subnet: str, role: str, lasts: range) -> dict[str, str]:
        return {f"okd-{role}-{number}": f"{subnet}{last}" for number, last in enumerate(lasts)}

    vips = {
        f"{subnet}{vip}": machines(subnet, role, lasts)
        for vip, role, lasts in ((5, "master", range(21, 24)), (4, "worker", range(24, 26)))
        for subnet in ("192.168.111.", "fd2e::")
    }
    own = {"stack": "prod", "api_name": "api.okd.lab.test", "api_vip": "192.168.111.5", "ca": "a PEM", "vips": vips}
    assert spec.model_dump(exclude={"urn", "hosts", "passwords"}) == {**own, **options, **again, **deadlines}
    assert [(it.role, it.address, it.addresses, it.consent, it.bmc.ca) for it in spec.hosts.values()] == [
        (server.role, v4 := f"192.168.111.{last}", (v4, f"fd2e::{last}"), f"SERIAL-{server.name}", "")
        for last, server in enumerate(plan.servers, 21)
    ]
    assert ClusterPowerSpec.of(clusters.plan("balancer"), "prod").vips == {}, "the site's balancer holds them"


def test_a_cluster_that_the_state_does_not_know_cannot_be_put_to_sleep() -> None:
    (line,) = faults(None, ASLEEP)
    assert line == (
        "power: off, for a cluster of which the state does not know that it runs. "
        "Fix: run `pulumi up` with `power` on first, which records the cluster as it runs"
    )
    assert faults(None, AWAKE) == []


CHANGES: dict[str, dict[str, Any]] = {
    "it is removed": {"hosts": {name: it for name, it in AWAKE.hosts.items() if name != "okd-worker-1"}},
    "it is to be another machine": {"hosts": of_worker(consent="OTHER")},
    "its role or its addresses change": {"hosts": of_worker(addresses=("192.0.2.99",))},
    "it is to be installed again": {"reinstall": {"okd-worker-1": "SERIAL"}},
}


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.parametrize(
    ("old", "when"),
    [(ASLEEP, "while the cluster sleeps"), (AWAKE, "in the same `up` that puts the cluster to sleep")],
    ids=["asleep", "going"],
)
def test_a_change_of_a_host_is_refused_by_its_name(old: ClusterPowerSpec, when: str, what: str) -> None:
    (line,) = faults(old, ASLEEP.changed(**CHANGES[what]))
    assert line.startswith(f"hosts.okd-worker-1: {what} {when}. Fix: wake the cluster first")


def test_an_added_host_is_refused_while_the_cluster_sleeps() -> None:
    (line,) = faults(ASLEEP, ASLEEP.changed(hosts={**AWAKE.hosts, "okd-worker-2": WORKER}))
    assert line.startswith("hosts.okd-worker-2: it is added while the cluster sleeps")


@pytest.mark.parametrize("what", CHANGES)
def test_the_update_that_wakes_may_change_a_host_and_leaves_it_out(what: str) -> None:
    new = AWAKE.changed(**CHANGES[what])
    assert faults(ASLEEP, new) == []
    left_out = what != "its role or its addresses change"
    assert ("okd-worker-1" not in new.waking(ASLEEP).hosts) is left_out
    assert {*AWAKE.hosts} - {"okd-worker-1"} <= {*new.waking(ASLEEP).hosts}


@pytest.mark.parametrize(
    "change",
    [
        {"hosts": of_worker(bmc=WORKER.bmc.changed(username="other"))},
        {"passwords": dict.fromkeys(AWAKE.hosts, "new")},
        {"shutdown_s": 60.0},
    ],
    ids=["login", "password", "deadline"],
)
def test_how_a_bmc_is_reached_may_change_while_the_cluster_sleeps(change: dict[str, Any]) -> None:
    new = ASLEEP.changed(**change)
    assert faults(ASLEEP, new) == []
    assert not rules.goes_off(ASLEEP, new)
    assert not rules.wakes(ASLEEP, ClusterPowerOuts(), new)


def test_a_host_that_is_new_when_the_cluster_wakes_is_not_switched_on() -> None:
    new = AWAKE.changed(hosts={**AWAKE.hosts, "okd-worker-2": WORKER})
    assert {*new.waking(ASLEEP).hosts} == {*AWAKE.hosts}


def test_a_host_that_was_installed_again_before_the_sleep_wakes() -> None:
    old, new = (spec.changed(reinstall={"okd-worker-1": "SERIAL"}) for spec in (ASLEEP, AWAKE))
    assert new.waking(old).hosts == AWAKE.hosts


def test_half_a_sleep_that_a_refresh_found_is_ended_by_waking() -> None:
    found = ClusterPowerOuts(unfinished=["node okd-worker-1 was cordoned to sleep"])
    assert rules.wakes(AWAKE, found, AWAKE)
    assert not rules.wakes(AWAKE, ClusterPowerOuts(), AWAKE)
    assert [*rules.notes(AWAKE, found, AWAKE)][-1] == "node okd-worker-1 was cordoned to sleep"


def test_a_preview_names_each_server_in_the_order_in_which_it_is_switched() -> None:
    masters, workers = "okd-master-0, okd-master-1, okd-master-2", "okd-worker-0, okd-worker-1"
    assert [*rules.notes(AWAKE, ClusterPowerOuts(), ASLEEP)] == [
        f"will be shut down first, all at once: {workers}",
        f"will be shut down last, since they have etcd: {masters}",
        "no API and no VIP answers until `power` is on again; `okd-baremetal status prod` tells when the "
        "certificates of kubelets expire: after that, waking approves new ones",
    ]
    assert [*rules.notes(ASLEEP, ClusterPowerOuts(), AWAKE)] == [
        f"will be switched on first: {masters}",
        f"will be switched on once these are ready: {workers}",
    ]
    assert [*rules.notes(ASLEEP, ClusterPowerOuts(), ASLEEP)] == []
