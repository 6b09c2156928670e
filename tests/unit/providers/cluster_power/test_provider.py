"""ClusterPower as a resource: what each of Pulumi's calls does, says and refuses, and whom it asks."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from base.errors import PayloadError, PowerError, SnapshotError
from payload.kubeconfig import Kubeconfig
from providers import registered
from providers.cluster_power.provider import ClusterPowerProvider
from providers.etcd.snapshot import EtcdSnapshots
from providers.registered import RunningCluster
from testing.fakes.sleeping_cluster import LIFE_DAYS, SleepingCluster
from testing.kubeconfigs import write_kubeconfig
from tests.unit.providers.cluster_power.rig import DAY_S, MASTERS, WORKERS, Rig
from wires.api.kubernetes import KubeApi
from wires.bmc.access import BmcAccess
from wires.bmc.client import BmcClient, Power
from wires.certificates import Certificate, Life

Props = dict[str, Any]
ID = "api.okd.lab.test"
ALL = [*MASTERS, *WORKERS]


def test_other_resources_learn_which_cluster_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = Rig().spec.changed(stack="prod", api_vip="192.0.2.5")
    inputs = spec.model_dump(mode="json") | {"passwords": dict.fromkeys(spec.passwords, "hidden")}
    acts: list[Callable[[ClusterPowerProvider], object]] = [
        lambda it: it.create(inputs),
        lambda it: it.diff(ID, inputs, inputs),
    ]
    for act in acts:
        monkeypatch.setattr(registered, "RUNNING", set())
        act(ClusterPowerProvider())
        assert registered.running_clusters() == frozenset({RunningCluster("prod", ID, "192.0.2.5")})


@pytest.fixture
def rig(payload: Path, own_locks: None, monkeypatch: pytest.MonkeyPatch) -> Rig:
    """A cluster that the provider reaches with the payload's kubeconfig; time is that of the rig."""
    made = Rig()
    made.spec = made.spec.changed(ca="PEM of the BMCs' CA")
    write_kubeconfig(payload)
    hosts = {host.bmc.address: name for name, host in made.spec.hosts.items()}

    def client_of(access: BmcAccess, _password: object) -> BmcClient:
        assert access.ca == made.spec.ca
        return made.bmcs[hosts[access.address]]

    def by(_kubeconfig: Kubeconfig, server_name: str) -> SleepingCluster:
        assert server_name == "api.okd.lab.test"
        return made.cluster

    def certificate(address: str, port: int) -> Certificate | None:
        assert port == 10250
        return shown(made, addresses[address])

    here, joining = "providers.cluster_power.provider", "providers.node_joining"
    addresses = {host.address: name for name, host in made.spec.hosts.items()}
    held = {vip: next(iter(nodes.values())) for vip, nodes in made.spec.vips.items()}
    monkeypatch.setattr(KubeApi, "by", by)
    monkeypatch.setattr(f"{here}.client_of", client_of)
    monkeypatch.setattr(f"{here}.by_host", made._each)
    monkeypatch.setattr(f"{here}.SYSTEM_CLOCK", made.clock)
    monkeypatch.setattr(f"{here}.macs_at", lambda address: frozenset({f"mac of {held.get(address, address)}"}))
    monkeypatch.setattr(f"{here}.shown_certificate", certificate)
    monkeypatch.setattr(f"{joining}.SYSTEM_CLOCK", made.clock)
    monkeypatch.setattr(f"{joining}.handshake_problem", lambda address, **_: made.cluster.kubelet_problem(address))
    return made


def shown(rig: Rig, host: str) -> Certificate | None:
    """Return what the kubelet of a host shows: the last one's shows nothing, the second one's ends first."""
    life = Life.of(rig.cluster.kubelets[host].serving)
    if host == ALL[1]:
        life = replace(life, ends=life.ends - timedelta(days=1))
    return None if host == ALL[-1] else Certificate("sha256", host, life)


def props(rig: Rig, **changes: Any) -> Props:
    """Return the inputs as Pulumi passes them."""
    return {**rig.spec.changed(**changes).model_dump(mode="json"), "urn": "urn::power"}


def created(rig: Rig) -> Props:
    return ClusterPowerProvider().create(props(rig)).outs or {}


def updated(rig: Rig, state: Props, **changes: Any) -> Props:
    return ClusterPowerProvider().update(ID, state, props(rig, **changes)).outs or {}


def asleep(rig: Rig) -> Props:
    return updated(rig, created(rig), power="off")


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line.removeprefix("power: ") for line in capsys.readouterr().err.splitlines()]


def test_create_asks_nobody_and_knows_that_the_cluster_runs(rig: Rig) -> None:
    answer = ClusterPowerProvider().create(props(rig))
    assert answer.id == ID
    assert (answer.outs or {})["asleep_since"] is None
    assert rig.writes == []
    assert sum(bmc.requests for bmc in rig.bmcs.values()) == 0


def test_check_refuses_what_cannot_sleep_without_asking(rig: Rig) -> None:
    off, fewer = props(rig, power="off"), {name: it for name, it in rig.spec.hosts.items() if name != WORKERS[1]}
    (unknown,) = ClusterPowerProvider().check({}, off).failures
    assert unknown.reason.startswith("power: off, for a cluster of which the state does not know that it runs. Fix: ")
    (removed,) = ClusterPowerProvider().check(created(rig), props(rig, power="off", hosts=fewer)).failures
    assert removed.reason.startswith("hosts.okd-worker-1: it is removed in the same `up`")
    assert ClusterPowerProvider().check(created(rig), off).failures == []
    (shape,) = ClusterPowerProvider().check({}, {**props(rig), "power": "standby"}).failures
    assert shape.reason.startswith("power: ")
    assert rig.writes == []


def test_a_preview_names_the_servers_and_asks_none(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    ClusterPowerProvider().diff(ID, created(rig), props(rig, power="off"))
    first, last, _ = lines(capsys)
    assert first == f"will be shut down first, all at once: {', '.join(WORKERS)}"
    assert last == f"will be shut down last, since they have etcd: {', '.join(MASTERS)}"
    ClusterPowerProvider().diff(ID, {**props(rig, power="off"), "asleep_since": "x"}, props(rig))
    assert lines(capsys) == [
        f"will be switched on first: {', '.join(MASTERS)}",
        f"will be switched on once these are ready: {', '.join(WORKERS)}",
    ]
    assert sum(bmc.requests for bmc in rig.bmcs.values()) == 0


def test_an_update_puts_it_to_sleep_and_records_when(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    state = asleep(rig)
    assert rig.on == []
    assert state["asleep_since"]
    assert state["power"] == "off"
    told = lines(capsys)
    first = "the certificate of the kubelet of okd-master-1 expires first, on 2026-01-30"
    assert told[0] == f"{first}: after that day, waking approves new ones"
    assert f"shutting down: {', '.join(WORKERS)}" in told
    assert told[-1] == "asleep: 5 servers are off"
    assert rig.saved == [], "the stack names no folder"


def test_a_second_update_of_a_cluster_that_sleeps_asks_nobody(rig: Rig) -> None:
    state = asleep(rig)
    rig.writes.clear()
    requests = {name: bmc.requests for name, bmc in rig.bmcs.items()}
    again = updated(rig, state, power="off", shutdown_s=60.0)
    assert again["asleep_since"] == state["asleep_since"]
    assert {name: bmc.requests for name, bmc in rig.bmcs.items()} == requests
    assert rig.writes == []


def test_etcd_is_saved_into_the_folder_of_the_stack_first(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = list[tuple[str, list[str]]]()
    monkeypatch.setattr(EtcdSnapshots, "take", lambda self: saved.append((str(self.store), [*rig.writes])))
    updated(rig, created(rig), power="off", snapshots="saves")
    assert saved == [("saves/prod", [])]
    assert rig.on == []


def test_without_its_snapshot_no_server_goes_off(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def take(_: EtcdSnapshots) -> None:
        raise SnapshotError("not saved", where="etcd", fix="have etcd answer")

    monkeypatch.setattr(EtcdSnapshots, "take", take)
    with pytest.raises(SnapshotError):
        updated(rig, created(rig), power="off", snapshots="saves")
    assert (rig.writes, rig.on) == ([], ALL)


def test_an_update_wakes_it_and_records_what_it_approved(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    state = asleep(rig)
    rig.clock.sleep((LIFE_DAYS + 1) * DAY_S)
    capsys.readouterr()
    outs = updated(rig, state)
    assert rig.on == ALL
    assert outs["asleep_since"] is None
    assert {host: len(approvals) for host, approvals in outs["approved"].items()} == dict.fromkeys(ALL, 2)
    assert {*rig.cluster.approved} == {it["request"] for each in outs["approved"].values() for it in each}
    told = lines(capsys)
    assert told[0] == f"switching on: {', '.join(MASTERS)}"
    assert told[-1] == "awake: 5 servers"
    assert read(outs) == outs


def test_a_vip_that_no_server_of_the_cluster_holds_is_not_awake(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    state = asleep(rig)
    monkeypatch.setattr("providers.cluster_power.provider.macs_at", lambda address: frozenset({f"mac of {address}"}))
    with pytest.raises(PowerError, match="is not held by exactly one of okd-master-0, "):
        updated(rig, state)


@pytest.mark.parametrize("host", [MASTERS[2], WORKERS[1]])
def test_a_host_that_is_installed_again_is_not_switched_on(rig: Rig, host: str) -> None:
    state = asleep(rig)
    again = updated(rig, state, reinstall={host: f"SERIAL-{host}"})
    assert rig.on == [name for name in ALL if name != host]
    assert again["power"] == "on"


def test_the_update_refuses_what_the_preview_could_not_know(rig: Rig) -> None:
    other = {**rig.spec.hosts, WORKERS[1]: rig.spec.hosts[WORKERS[1]].changed(consent="OTHER")}
    with pytest.raises(Exception, match=r"hosts\.okd-worker-1: it is to be another machine in the same `up`"):
        updated(rig, created(rig), power="off", hosts=other)
    assert (rig.writes, rig.on) == ([], ALL)


@pytest.mark.parametrize("power", ["off", "on"], ids=["to-sleep", "to-wake"])
def test_without_the_kubeconfig_no_server_is_switched(rig: Rig, payload: Path, power: str) -> None:
    state = created(rig) if power == "off" else asleep(rig)
    before = rig.on
    rig.writes.clear()
    (payload / "auth/kubeconfig").unlink()
    with pytest.raises(PayloadError, match="auth/kubeconfig: missing, but `power` asks OKD with it"):
        updated(rig, state, power=power)
    assert (rig.on, rig.writes) == (before, [])


def read(state: Props) -> Props:
    answer = ClusterPowerProvider().read(ID, state)
    assert answer.id == ID
    return answer.outs or {}


def test_a_refresh_of_one_that_sleeps_tells_since_when(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    state = asleep(rig)
    capsys.readouterr()
    assert read(state) == state
    assert lines(capsys) == [f"state: asleep since {state['asleep_since']}"]
    assert rig.on == []


def test_a_refresh_warns_of_a_server_that_somebody_switched_on(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    state = asleep(rig)
    rig.bmcs[WORKERS[0]].request_power(Power.ON)
    rig.clock.sleep(60)
    rig.writes.clear()
    capsys.readouterr()
    assert read(state) == state
    assert lines(capsys)[1:] == ["on, although `power` is off: okd-worker-0; to wake the cluster, set `power` to on"]
    assert rig.writes == []


def test_a_refresh_of_half_a_sleep_is_drift_that_the_next_up_ends(
    rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    state = created(rig)
    rig.bmcs[WORKERS[0]].hears_shutdown = lambda: False
    with pytest.raises(Exception, match="1 of 5 servers did not go off"):
        updated(rig, state, power="off")
    capsys.readouterr()
    answer = ClusterPowerProvider().read(ID, state)
    found = [f"node {host} was cordoned to sleep" for host in ALL]
    assert (answer.outs or {})["unfinished"] == (answer.inputs or {})["unfinished"] == found
    assert lines(capsys) == [f"{line}: `pulumi up` wakes the cluster" for line in found]
    for bmc in rig.bmcs.values():
        bmc.request_power(Power.OFF)
    rig.clock.sleep(60)
    again = ClusterPowerProvider().read(ID, {**props(rig), **(answer.outs or {})})
    assert (again.outs or {})["unfinished"] == found, "no API says that it was finished"
    woken = updated(rig, answer.outs or {})
    assert (rig.on, rig.cluster.cordoned, woken["unfinished"]) == (ALL, [], [])


def unchanged(_: Rig, __: Path) -> None:
    return None


def without_kubeconfig(_: Rig, payload: Path) -> None:
    (payload / "auth/kubeconfig").unlink()


@pytest.mark.parametrize("change", [unchanged, without_kubeconfig])
def test_a_refresh_of_one_that_runs_says_nothing(
    rig: Rig, payload: Path, change: Callable[[Rig, Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    state = created(rig)
    change(rig, payload)
    assert read(state) == state
    assert ClusterPowerProvider().read(ID, state).inputs == props(rig)
    assert capsys.readouterr().err == ""


def test_delete_switches_nothing_and_asks_nobody(rig: Rig) -> None:
    state = asleep(rig)
    rig.writes.clear()
    requests = {name: bmc.requests for name, bmc in rig.bmcs.items()}
    ClusterPowerProvider().delete(ID, state)
    assert rig.writes == []
    assert {name: bmc.requests for name, bmc in rig.bmcs.items()} == requests
