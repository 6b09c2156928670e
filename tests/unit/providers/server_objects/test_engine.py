"""The objects of servers in a cluster whose controllers work: they get linked, and no server is touched."""

import copy
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from base.errors import ConfigError, IncompleteError
from cluster.plan import ClusterPlan
from providers.server_objects.comparison import differences
from providers.server_objects.engine import ServerObjectsEngine
from providers.server_objects.model import ServerObjectsOuts, ServerObjectsSpec
from providers.server_objects.objects import HOST as HOST_KIND
from providers.server_objects.objects import path_of
from providers.server_objects.writes import planned
from testing import clusters, plans
from testing.fakes.clock import FakeClock
from testing.fakes.etcd import numbered, told_of_members
from testing.fakes.metal3 import Metal3, Object
from testing.fakes.object_store import ControllersClock, ObjectStore
from testing.progress import into
from wires.api.resources import ETCD_MEMBERS, INFRASTRUCTURE

PLAN = clusters.plan("baremetal")
MASTERS, WORKERS = plans.HOSTS[:3], plans.HOSTS[3:]
HOST = "BareMetalHost/okd-worker-0"
NAMED = {"metadata": {"name": "cluster"}, "spec": {}, "status": {"infrastructureName": "okd-x7k2p"}}


def spec_of(plan: ClusterPlan = PLAN) -> ServerObjectsSpec:
    """Return the spec as Pulumi hands it over, which sorts mappings as it likes."""
    spec = ServerObjectsSpec.of(plan, "prod")
    return spec.changed(objects=dict(reversed(spec.objects.items())))


SPEC = spec_of()


def members(*names: str) -> Object:
    addresses = [SPEC.holders_of_etcd[name][-1] for name in names]
    return {"metadata": {"name": "etcd-endpoints"}, "spec": {}, **told_of_members(numbered(addresses))}


@dataclass
class Rig:
    """A cluster that OKD reports as complete."""

    spec: ServerObjectsSpec = SPEC
    store: ObjectStore = field(default_factory=ObjectStore)
    lines: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        nodes = {server.name: str(server.address) for server in PLAN.servers}
        self.metal3 = Metal3(self.store, nodes, frozenset(MASTERS), {*MASTERS})
        self.clock = ControllersClock(FakeClock(0), self.metal3)
        self.store.store_at(INFRASTRUCTURE, copy.deepcopy(NAMED), "uid-i")
        self.store.store_at(ETCD_MEMBERS, members(*MASTERS), "uid-e")

    @property
    def engine(self) -> ServerObjectsEngine:
        return ServerObjectsEngine(self.store, self.spec, self.clock, into(self.lines), self.warnings.append)

    def ensure(self, *gone: str, deadline_s: float = 60) -> list[str]:
        """Ensure the objects, and return the changes that were made."""
        self.store.calls.clear()
        self.engine.ensure(gone, deadline_s=deadline_s)
        return [f"{method} {path}" for method, path in self.store.calls]

    def refused(self, *gone: str) -> str:
        with pytest.raises(ConfigError) as caught:
            self.ensure(*gone)
        assert self.store.calls == []
        return str(caught.value)

    def late(self) -> str:
        with pytest.raises(IncompleteError) as caught:
            self.ensure(deadline_s=20)
        return str(caught.value)

    def drift(self) -> list[str]:
        return self.engine.drift()


@pytest.fixture
def linked() -> Rig:
    rig = Rig()
    rig.ensure()
    return rig


def test_hosts_are_made_before_machines_and_metal3_starts_last() -> None:
    rig = Rig()
    assert rig.ensure() == [
        *(f"create baremetalhosts/{name}" for name in plans.HOSTS),
        *(f"create machines/{name}" for name in plans.HOSTS),
        "create provisionings/provisioning-configuration",
    ]
    assert (rig.metal3.touched, rig.metal3.kept_out) == ([], [])
    machines = {each["metadata"]["name"]: each for each in rig.store.list("machines")}
    assert {name: each["status"]["nodeRef"]["name"] for name, each in machines.items()} == {
        name: name for name in plans.HOSTS
    }
    assert {each["metadata"]["labels"]["machine.openshift.io/cluster-api-cluster"] for each in machines.values()} == {
        "okd-x7k2p"
    }
    assert rig.drift() == []


def test_a_second_run_writes_nothing(linked: Rig) -> None:
    assert linked.ensure() == []
    assert linked.warnings == []


def test_a_run_that_was_killed_after_any_write_continues() -> None:
    for done in range(len(SPEC.objects)):
        rig = Rig()
        real, left = rig.store.create, [done]

        def create(address: str, path: str, content: Object, real: Any = real, left: Any = left) -> None:
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= 1
            real(address, path, content)

        rig.store.create = create  # type: ignore[method-assign, assignment]
        with pytest.raises(KeyboardInterrupt):
            rig.ensure()
        for _ in range(9):
            rig.metal3.step()
        assert not rig.metal3.works
        rig.store.create = real  # type: ignore[method-assign]
        assert len(rig.ensure()) == len(SPEC.objects) - done
        assert (rig.metal3.touched, rig.metal3.kept_out) == ([], [])


@pytest.mark.parametrize("plan", [PLAN, clusters.plan("arbiter", platform="baremetal")], ids=["three", "arbiter"])
def test_nothing_is_written_before_each_holder_of_etcd_is_in_it(plan: ClusterPlan) -> None:
    """The etcd operator reads the Machines of masters and arbiters alike."""
    rig = Rig(spec_of(plan))
    rig.store.store_at(ETCD_MEMBERS, members(*MASTERS[:2]), "uid-e")
    assert rig.late().startswith(
        "objects of the servers: not in etcd yet: okd-master-2, after 20 s. Fix: see `oc get"
    )
    assert rig.store.calls == []
    del rig.store.resources[ETCD_MEMBERS]
    assert "not in etcd yet: okd-master-0, okd-master-1, okd-master-2, after" in rig.late()


@pytest.mark.parametrize("joins", [MASTERS[0], MASTERS[2]])
def test_a_server_that_joins_etcd_gets_its_machine_first(linked: Rig, joins: str) -> None:
    """The operator admits no node without one, once a Machine of the control plane runs."""
    for kind in ("machines", "baremetalhosts"):
        linked.store.remove(kind, joins)
    linked.store.store_at(ETCD_MEMBERS, members(*(name for name in MASTERS if name != joins)), "uid-e")
    assert f"not in etcd yet: {joins}" in linked.late()
    assert {f"create baremetalhosts/{joins}", f"create machines/{joins}"} <= {
        f"{method} {path}" for method, path in linked.store.calls
    }
    assert linked.drift() == []


def test_nodes_that_are_listed_in_place_of_members_are_not_in_etcd() -> None:
    rig = Rig()
    nodes = {"data": dict(zip(MASTERS, members(*MASTERS)["data"].values(), strict=True))}
    rig.store.store_at(ETCD_MEMBERS, {**members(), **nodes}, "uid-e")
    assert "the etcd operator could not ask the members, and lists nodes in place of them" in rig.late()
    assert rig.store.calls == []


def test_compute_is_linked_while_a_member_of_etcd_is_out(linked: Rig) -> None:
    """Its objects do not change what the etcd operator admits."""
    linked.store.store_at(ETCD_MEMBERS, members(*MASTERS[:2]), "uid-e")
    for kind in ("machines", "baremetalhosts"):
        linked.store.remove(kind, "okd-worker-1")
    assert linked.ensure() == ["create baremetalhosts/okd-worker-1", "create machines/okd-worker-1"]


def test_a_machine_claims_no_host_of_somebody_else() -> None:
    """An administrator's own host is available: a Machine without a host of its own would have it wiped."""
    rig = Rig()
    rig.metal3.works = True
    spare = {"bmc": {"address": "redfish://192.0.2.9"}, "online": True}
    path = "/apis/metal3.io/v1alpha1/namespaces/openshift-machine-api/baremetalhosts/spare"
    state = {"provisioning": {"state": "available"}}
    rig.store.store_at(path, {"metadata": {"name": "spare"}, "spec": spare, "status": state}, "uid-s")
    rig.ensure()
    assert rig.metal3.touched == []
    assert "consumerRef" not in rig.store.host("spare")["spec"]


def test_no_login_or_address_of_a_bmc_is_sent() -> None:
    rig = Rig()
    rig.ensure()
    sent = json.dumps(rig.store.sent)
    for server in PLAN.servers:
        login = (server.bmc.address, str(server.bmc.url), server.bmc.password.get_secret_value())
        assert not [secret for secret in login if secret in sent]
    assert '"bmc"' not in sent


def paused_host(rig: Rig) -> None:
    rig.store.host("okd-worker-0")["metadata"]["annotations"]["baremetalhost.metal3.io/paused"] = ""


def unclaimed(rig: Rig) -> None:
    del rig.store.host("okd-worker-0")["spec"]["consumerRef"]


def switched_off(rig: Rig) -> None:
    rig.store.host("okd-worker-0")["spec"]["online"] = False


def claimed_from_elsewhere(rig: Rig) -> None:
    rig.store.host("okd-worker-0")["spec"]["consumerRef"]["namespace"] = "default"


def paused_provisioning(rig: Rig) -> None:
    (path,) = (path for path in rig.store.resources if "/provisionings/" in path)
    rig.store.resources[path]["metadata"]["annotations"] = {"provisioning.metal3.io/paused": ""}


def with_another_address(rig: Rig) -> None:
    """As it was planned when the server was installed for the first time."""
    rig.store.host("okd-worker-0")["status"]["hardware"]["nics"][0]["ip"] = "192.168.111.99"
    for _ in range(3):
        rig.metal3.step()
    (machine,) = (each for each in rig.store.list("machines") if each["metadata"]["name"] == "okd-worker-0")
    assert machine["status"]["addresses"] == ["192.168.111.99"]


REPAIRED = {
    "address": (with_another_address, f"{HOST}: hardware is "),
    "paused": (paused_host, f"{HOST}: annotation baremetalhost.metal3.io/paused, wanted none"),
    "switched-off": (switched_off, f"{HOST}: online is False, wanted True"),
    "unclaimed": (unclaimed, f"{HOST}: consumerRef is None, wanted "),
    "claimed-from-elsewhere": (claimed_from_elsewhere, f"{HOST}: consumerRef is {{"),
    "provisioning": (
        paused_provisioning,
        "Provisioning/provisioning-configuration: annotation provisioning.metal3.io/paused, wanted none",
    ),
}


@pytest.mark.parametrize("name", REPAIRED)
def test_a_refresh_names_drift_and_the_next_run_repairs_it(linked: Rig, name: str) -> None:
    change, line = REPAIRED[name]
    change(linked)
    (found,) = linked.drift()
    assert found.startswith(line)
    assert [call.partition(" ")[0] for call in linked.ensure()] == ["patch"]
    assert linked.drift() == []
    assert linked.metal3.touched == []


def test_a_missing_or_failed_object_is_drift(linked: Rig) -> None:
    linked.store.remove("machines", "okd-worker-0")
    linked.store.host("okd-worker-1")["status"].pop("provisioning")
    (machine,) = (each for path, each in linked.store.resources.items() if path.endswith("machines/okd-master-0"))
    machine["status"] = {"phase": "Failed", "errorMessage": "no host"}
    assert linked.drift() == [
        "BareMetalHost/okd-worker-1: state none, wanted unmanaged",
        "Machine/okd-master-0: phase Failed as node none (no host), wanted Running as node okd-master-0",
        "Machine/okd-worker-0: missing",
    ]


def test_another_mac_and_another_mode_stay_with_a_warning(linked: Rig) -> None:
    linked.store.host("okd-worker-0")["spec"]["bootMACAddress"] = "52:54:00:00:00:99"
    (path,) = (path for path in linked.store.resources if "/provisionings/" in path)
    linked.store.resources[path]["spec"] = {"provisioningNetwork": "Managed"}
    assert linked.ensure() == []
    mac = next(server.boot_mac for server in PLAN.servers if server.name == "okd-worker-0")
    warned = [
        f"{HOST}: bootMACAddress is 52:54:00:00:00:99, wanted {mac}; it stays",
        "Provisioning/provisioning-configuration: provisioningNetwork is Managed, wanted Disabled; it stays",
    ]
    assert linked.warnings == warned
    linked.warnings.clear()
    assert linked.drift() == []
    assert linked.warnings == warned


def test_a_host_with_a_bmc_is_refused_until_it_is_detached(linked: Rig) -> None:
    host = linked.store.host("okd-worker-0")
    host["spec"]["bmc"] = {"address": "redfish://192.0.2.9"}
    assert linked.refused() == (
        f"{HOST}: it has a `bmc`, so metal3 owns the power of this server beside this program. Fix: `oc annotate "
        "baremetalhost okd-worker-0 -n openshift-machine-api baremetalhost.metal3.io/detached=`, and run `pulumi up` "
        "again once its operationalStatus is detached"
    )
    host["status"] |= {"operationalStatus": "detached", "provisioning": {"state": "externally provisioned"}}
    assert linked.ensure() == []
    assert (linked.drift(), linked.metal3.touched) == ([], [])


def test_a_host_that_gets_a_bmc_since_it_was_read_stays_paused(linked: Rig) -> None:
    paused_host(linked)
    real, given = linked.store.patch, list[str]()

    def patch(address: str, path: str, change: Object) -> None:
        if not given:
            given.append(path)
            host = copy.deepcopy(linked.store.host("okd-worker-0"))
            host["spec"]["bmc"] = {"address": "redfish://192.0.2.9"}
            linked.store.put("baremetalhosts", host)
        real(address, path, change)

    linked.store.patch = patch  # type: ignore[method-assign, assignment]
    with pytest.raises(ConfigError, match="it has a `bmc`"):
        linked.ensure()
    assert "baremetalhost.metal3.io/paused" in linked.store.host("okd-worker-0")["metadata"]["annotations"]


def test_a_host_that_metal3_would_inspect_or_others_claimed_is_refused(linked: Rig) -> None:
    linked.store.host("okd-worker-0")["spec"]["externallyProvisioned"] = False
    linked.store.host("okd-worker-1")["spec"]["consumerRef"]["name"] = "okd-x7k2p-worker-0-9vtkk"
    one, other = linked.refused().splitlines()
    inspected = f"{HOST}: `externallyProvisioned` is not true, and cannot be changed. Fix: "
    assert one.startswith(f"{inspected}`pulumi config set")  # its Machine is linked, and would fail without it
    linked.store.remove("machines", "okd-worker-0")
    assert linked.refused().startswith(f"{inspected}delete it, which touches no server")
    claimed = "Machine/okd-x7k2p-worker-0-9vtkk has claimed it, wanted Machine/okd-worker-1. Fix: `pulumi config set"
    assert other.startswith(f"BareMetalHost/okd-worker-1: {claimed}")


def test_a_host_is_not_made_again_below_its_machine(linked: Rig) -> None:
    """The Machine has the identity of the one that is gone, and would fail for good."""
    linked.store.remove("baremetalhosts", "okd-worker-0")
    assert linked.refused().startswith(f"{HOST}: missing, but Machine/okd-worker-0 was linked to it, and fails")


def test_a_server_that_leaves_takes_its_objects_along(linked: Rig) -> None:
    names = ("Machine/okd-worker-1", "BareMetalHost/okd-worker-1")
    linked.spec = SPEC.changed(objects={name: own for name, own in SPEC.objects.items() if name not in names})
    assert linked.ensure(*reversed(names)) == ["delete machines/okd-worker-1", "delete baremetalhosts/okd-worker-1"]
    assert linked.metal3.touched == []
    assert "okd-worker-1" not in linked.metal3.nodes
    assert linked.ensure(*names) == []


def test_the_host_of_a_server_that_leaves_stays_until_its_node_is_drained(linked: Rig) -> None:
    names = ("Machine/okd-worker-1", "BareMetalHost/okd-worker-1")
    linked.spec = SPEC.changed(objects={name: own for name, own in SPEC.objects.items() if name not in names})
    linked.metal3.step = lambda: None  # type: ignore[method-assign]
    with pytest.raises(IncompleteError, match="not deleted yet"):
        linked.ensure(*names, deadline_s=20)
    assert [path for _, path in linked.store.calls] == ["machines/okd-worker-1"]


@pytest.mark.parametrize("name", SPEC.objects)
def test_no_object_counts_as_deleted_while_it_is_there(
    linked: Rig, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The API accepts a deletion at once, and whoever has a finalizer on the object takes as long as it likes."""
    deleted = list[str]()
    monkeypatch.setattr(linked.store, "delete", lambda _, path: deleted.append(path))
    linked.spec = SPEC.changed(objects={each: own for each, own in SPEC.objects.items() if each != name})
    with pytest.raises(
        IncompleteError, match=f"^objects of the servers: 1 left; {name}: not deleted yet, after 20 s"
    ):
        linked.ensure(name, deadline_s=20)
    # A host goes only once its Machine has: that of this one stays.
    assert {*deleted} == ({path_of(name)} if not name.startswith(f"{HOST_KIND}/") else set())


def test_all_that_is_not_deleted_yet_is_counted(linked: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linked.store, "delete", lambda *_: None)
    linked.spec = SPEC.changed(objects={})
    with pytest.raises(IncompleteError, match=f"^objects of the servers: {len(SPEC.objects)} left; "):
        linked.ensure(*SPEC.objects, deadline_s=20)


def test_a_server_that_leaves_is_not_switched_off_by_metal3(linked: Rig) -> None:
    """The deletion of a host with a BMC powers it off."""
    linked.store.host("okd-worker-1")["spec"]["bmc"] = {"address": "redfish://192.0.2.9"}
    names = ("Machine/okd-worker-1", "BareMetalHost/okd-worker-1")
    linked.spec = SPEC.changed(objects={name: own for name, own in SPEC.objects.items() if name not in names})
    assert "BareMetalHost/okd-worker-1: it has a `bmc`" in linked.refused(*names)


def test_what_is_written_is_in_the_write_plan() -> None:
    """An approved update stops before any other write (ADR 58)."""
    rig = Rig()
    for change in (lambda _: None, paused_host, unclaimed, paused_provisioning):
        change(rig)
        rig.ensure()
    assert len(rig.store.writes) == len(SPEC.objects) + 2
    assert rig.store.writes <= {str(write) for write in planned(None, ServerObjectsOuts(), SPEC)}
    names = ("Machine/okd-worker-1", "BareMetalHost/okd-worker-1")
    rig.spec = SPEC.changed(objects={name: own for name, own in SPEC.objects.items() if name not in names})
    rig.store.writes.clear()
    rig.ensure(*names)
    assert len(rig.store.writes) == len(names)
    assert rig.store.writes <= {str(write) for write in planned(SPEC, ServerObjectsOuts(), rig.spec)}


def test_a_refusal_of_the_api_ends_the_run_with_its_reason() -> None:
    rig = Rig()
    host = SPEC.objects[HOST]
    metadata = host["metadata"]
    annotations = {key: value for key, value in metadata["annotations"].items() if key != "inspect.metal3.io"}
    rig.spec = SPEC.changed(objects={HOST: {**host, "metadata": {**metadata, "annotations": annotations}}})
    with pytest.raises(ConfigError) as caught:
        rig.ensure()
    assert str(caught.value).startswith(f"{HOST}: the API refuses it: status 403: when hardware details")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"down": ConnectionRefusedError("no")}, "192.168.111.5: no, after 20 s"),
        ({"lists": frozenset({"machines"})}, "192.168.111.5: the API has no baremetalhosts, after"),
    ],
    ids=["unreachable", "without-the-kinds"],
)
def test_an_api_that_does_not_answer_is_the_reason(change: dict[str, Any], problem: str) -> None:
    rig = Rig()
    vars(rig.store).update(change)
    assert problem in rig.late()


def test_a_cluster_without_a_name_gets_no_machine() -> None:
    rig = Rig()
    del rig.store.resources[INFRASTRUCTURE]
    assert "the cluster's infrastructure has no name" in rig.late()
    assert not [call for call in rig.store.calls if "machines/" in call[1]]


def test_machines_that_are_not_linked_in_time_are_the_reason() -> None:
    rig = Rig()
    rig.metal3.nodes.clear()
    first = "Machine/okd-master-0: phase Provisioned as node none, wanted Running as node okd-master-0"
    assert rig.late().startswith(f"objects of the servers: 5 left; {first}; Machine/okd-master-1: ")


def test_a_change_that_somebody_else_was_faster_with_is_read_again() -> None:
    rig = Rig()
    real, lost = rig.store.create, list[str]()

    def create(address: str, path: str, content: Object) -> None:
        real(address, path, content)
        if not lost:
            lost.append(path)
            real(address, path, content)  # the answer was lost, and the request sent again: 409

    rig.store.create = create  # type: ignore[method-assign, assignment]
    rig.ensure()
    assert rig.drift() == []


def test_both_families_are_addresses_of_a_machine() -> None:
    plan = clusters.plan("dual-stack")
    host = ServerObjectsSpec.of(plan, "prod").objects["BareMetalHost/okd-master-0"]
    details = json.loads(host["metadata"]["annotations"]["inspect.metal3.io/hardwaredetails"])
    server = plan.control_plane[0]
    assert details["nics"] == [{"ip": str(address), "mac": server.boot_mac} for address in server.addresses]
    first, second = details["nics"]
    for nics, lacks in (([first, second], 0), ([first, {**second, "ip": "fd2e::99"}], 1)):
        assert len(differences(host, {**host, "status": {"hardware": {**details, "nics": nics}}})) == lacks
