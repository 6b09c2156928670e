"""OKD's operators in a rehearsal of platform baremetal, and the proofs of the objects that metal3 acts upon."""

import copy
import http.client
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import pytest
from jsonschema import Draft202012Validator

from base.errors import IncompleteError
from lab.inventory import load_site
from lab.rehearsal import etcd_operator, operators
from lab.rehearsal.client import STEP_S, Client
from lab.rehearsal.etcd import Etcd, Voter
from lab.rehearsal.etcd_operator import EtcdOperator
from lab.rehearsal.kube import Operator
from lab.rehearsal.objects import ObjectProofs
from lab.rehearsal.okd import VERSION, Okd
from lab.rehearsal.okd_api import PATHS, OkdApi
from lab.rehearsal.proofs import Proofs
from lab.rehearsal.provisioner import Provisioner
from lab.rehearsal.report import RehearsalError, Report
from lab.rehearsal.stack import Stack
from lab.rehearsal.steps import Rehearsal
from payload.kubeconfig import add_authority
from providers.cluster_upgrade.release import ClusterVersion
from providers.etcd.access import EtcdAccess
from providers.etcd.health import member_problem, unrest
from providers.okd_installed.engine import OkdInstalledEngine
from providers.okd_installed.model import OkdInstalledOuts
from providers.server_objects.model import ServerObjectsSpec
from providers.server_objects.objects import COLLECTIONS
from testing import clusters
from testing.fakes.clock import FakeClock
from testing.fakes.metal3 import HOSTS, MACHINES, PROVISIONINGS, Object
from testing.kubeconfigs import write_kubeconfig
from wires.api.resources import ETCD, ETCD_MEMBERS, R

PLAN = clusters.plan("baremetal")
NAMES = [server.name for server in PLAN.servers]
MASTERS, WORKERS = NAMES[:3], NAMES[3:]
SERVERS = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
LISTS = {*PATHS, "nodes", "pods", "clusteroperators"}


@dataclass
class MemoryClient(Client):
    """A Kubernetes API in memory. Object and status are two resources; a write is of the version that was read."""

    address: str = str(PLAN.api.address)
    server_name: str = ""
    tls: ssl.SSLContext = field(default_factory=ssl.create_default_context)
    objects: dict[str, Object] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)

    def call(self, method: str, path: str, body: object = None, timeout_s: float = STEP_S) -> dict[str, Any]:
        self.calls.append((method, path))
        content: Any = copy.deepcopy(body)
        if method == "GET":
            return self._read(path)
        if method == "POST":
            content.pop("status", None)
            self._check(path, content)
            return self.store(f"{path}/{content['metadata']['name']}", content)
        own = path.removesuffix("/status")
        found = self._read(own)
        if content["metadata"]["resourceVersion"] != found["metadata"]["resourceVersion"]:
            raise http.client.HTTPException(409)
        status = (content if own != path else found).get("status")
        merged = {**(found if own != path else content), **({"status": status} if status else {})}
        self._check(own.rpartition("/")[0], merged)
        return self.store(own, merged)

    def _check(self, collection: str, content: Object) -> None:
        """Refuse what the schema of its kind does not take, as a kube-apiserver does."""
        *_, group, _, plural = collection.split("/")
        if crd := self.objects.get(f"{CRDS}/{plural}.{group}"):
            (served,) = crd["spec"]["versions"]
            faults = Draft202012Validator(served["schema"]["openAPIV3Schema"]).iter_errors(content)
            assert [f"{fault.json_path}: {fault.message}" for fault in faults] == [], collection

    def store(self, path: str, content: Object) -> Object:
        """Store an object as its newest version."""
        number = f"{len(self.calls):06}"
        made = {"uid": path, "creationTimestamp": number, **content["metadata"]}
        self.objects[path] = {**content, "metadata": {**made, "resourceVersion": number}}
        return copy.deepcopy(self.objects[path])

    def _read(self, path: str) -> Object:
        last = path.rpartition("/")[2]
        if last in LISTS:
            return copy.deepcopy(
                {"items": [own for name, own in self.objects.items() if name.startswith(f"{path}/")]}
            )
        if path not in self.objects:
            raise http.client.HTTPException(404)
        return copy.deepcopy(self.objects[path])


@dataclass
class Reader:
    """The same API, as this program reads it."""

    client: Client

    def get(self, _address: str, path: str, model: type[R]) -> R | None:
        return model.model_validate(self.client.call("GET", path))


@dataclass
class Cluster:
    """A cluster with OKD's operators, in which all has joined."""

    folder: Path
    client: MemoryClient = field(default_factory=MemoryClient)
    etcd: Any = field(default_factory=lambda: create_autospec(Etcd, instance=True))
    dead: set[str] = field(default_factory=set)
    """The addresses of the members of etcd that do not answer."""

    def __post_init__(self) -> None:
        api = OkdApi(self.client)
        self.okd = Okd(PLAN, api, EtcdOperator(PLAN, api, self.etcd, "the CA"))
        self.set_voters(*MASTERS)
        self.client.store(ETCD, {"metadata": {"name": "cluster"}})  # of the payload's manifest
        for server in PLAN.servers:
            self.set_node(server.name, is_ready=True)
        self.set_servers(*MASTERS)

    def set_voters(self, *names: str) -> None:
        machines = (PLAN.bootstrap, *PLAN.servers)
        addresses = {machine.name: str(machine.address) for machine in machines}
        self.etcd.started_voters.return_value = [
            Voter(number, name, addresses[name]) for number, name in enumerate(names, 10)
        ]

    def answer(self, _url: str, address: str, _ca_pem: str) -> int:
        """See `lab.rehearsal.segment.status`."""
        return 0 if address in self.dead else 200

    def set_node(self, name: str, *, is_ready: bool) -> None:
        addresses = {server.name: str(server.address) for server in PLAN.servers}
        listed = [{"type": "Hostname", "address": name}, {"type": "InternalIP", "address": addresses[name]}]
        status = {"conditions": [{"type": "Ready", "status": str(is_ready)}], "addresses": listed}
        self.client.store(f"/api/v1/nodes/{name}", {"metadata": {"name": name}, "status": status})

    def set_servers(self, *names: str) -> None:
        endpoints = [{"addresses": [str(own.address)]} for own in PLAN.servers if own.name in names]
        self.client.store(SERVERS, {"metadata": {"name": "kubernetes"}, "endpoints": endpoints})

    def installed(self) -> OkdInstalledOuts:
        """Return what this program finds when it waits for the installation."""
        engine = OkdInstalledEngine(Reader(self.client), "", FakeClock(0), lambda _: None, lambda _: None)
        return engine.prove(deadline_s=60)

    def make_objects(self, *kinds: str, **changes: Callable[[Object], object]) -> None:
        """Make the objects of some kinds as this program does, each changed by the function of its own name."""
        spec = ServerObjectsSpec.of(PLAN, "prod")
        for name in spec.in_order:
            kind, _, own = name.partition("/")
            manifest = copy.deepcopy(spec.objects[name])
            if change := changes.get(own.replace("-", "_")):
                change(manifest)
            if COLLECTIONS[kind].rpartition("/")[2] in kinds:
                self.client.call("POST", COLLECTIONS[kind], manifest)

    def act(self) -> None:
        """Have the operators look often enough."""
        for _ in range(4):
            self.okd.step()

    def proofs(self) -> ObjectProofs:
        stack = create_autospec(Stack, instance=True, project=self.folder)
        stack.name = "platform"
        proofs = ObjectProofs(self.okd, stack, PLAN, Report("platform", folder=self.folder))
        return proofs


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    cluster = Cluster(tmp_path)
    monkeypatch.setattr(ObjectProofs, "api", OkdApi(cluster.client))
    monkeypatch.setattr(etcd_operator, "status", cluster.answer)
    return cluster


def bootstrap_in_etcd(cluster: Cluster) -> None:
    cluster.set_voters(*MASTERS, PLAN.bootstrap.name)


def member_missing(cluster: Cluster) -> None:
    cluster.set_voters(*MASTERS[:2])


def no_router(cluster: Cluster) -> None:
    for name in WORKERS:
        cluster.set_node(name, is_ready=False)


def two_api_servers(cluster: Cluster) -> None:
    cluster.set_servers(*MASTERS[1:])


LACKS: dict[Callable[[Cluster], None], str] = {
    bootstrap_in_etcd: f"etcd is not Available: members: {PLAN.bootstrap.name}",
    member_missing: "etcd is not Available: members: okd-master-2",
    no_router: "ingress is not Available: no node for the router",
    two_api_servers: "kube-apiserver is not Available: no API server: okd-master-0",
}


@pytest.mark.parametrize("change", LACKS)
def test_the_version_is_complete_once_each_operator_has_what_it_needs(
    cluster: Cluster, change: Callable[[Cluster], None]
) -> None:
    change(cluster)
    cluster.act()
    with pytest.raises(IncompleteError) as caught:
        cluster.installed()
    failing = f"the version is not complete: Cluster operator {LACKS[change].split()[0]} is not available, after 60 s"
    assert failing in str(caught.value)
    assert LACKS[change].partition("is ")[2] in str(caught.value)

    whole = Cluster(cluster.folder, cluster.client)
    whole.act()
    outs = OkdInstalledOuts(version=VERSION, operators=["baremetal", "etcd", "ingress", "kube-apiserver"])
    assert whole.installed() == outs
    change(whole)
    whole.act()
    version = cluster.client.call("GET", "/apis/config.openshift.io/v1/clusterversions/version")
    assert version["status"]["conditions"][0]["status"] == "True", "a complete version stays complete"
    release = ClusterVersion.model_validate(version)
    assert release.has(release.status.desired.image), "as `okd-baremetal status` reads it"


def test_the_operators_kubeconfig_gets_the_ca_that_the_routers_have(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.act()
    engine = OkdInstalledEngine(Reader(cluster.client), "", FakeClock(0), lambda _: None, lambda _: None)
    assert (published := engine.router_ca())
    monkeypatch.chdir(cluster.folder)
    write_kubeconfig(Path("stacks", "platform", "payload"))
    proofs = cluster.proofs()
    with pytest.raises(RehearsalError, match="the routers' CA is in auth/kubeconfig: seen False"):
        proofs.routers_are_trusted()
    assert add_authority("platform", published)
    proofs.routers_are_trusted()


def test_etcds_members_and_the_name_of_the_cluster_are_in_the_api(cluster: Cluster) -> None:
    bootstrap_in_etcd(cluster)
    cluster.act()
    members = cluster.client.call("GET", ETCD_MEMBERS)
    assert members["data"] == {
        f"{number:x}": str(server.address) for number, server in enumerate(PLAN.control_plane, 10)
    }
    named = cluster.client.call("GET", "/apis/config.openshift.io/v1/infrastructures/cluster")
    assert named["status"]["infrastructureName"] == "okd-lab"


def test_this_program_finds_etcds_members_and_the_one_that_is_dead(cluster: Cluster) -> None:
    """What the etcd operator has reported is what a replacement asks for."""
    api, addresses = Reader(cluster.client), [str(server.address) for server in PLAN.control_plane]
    cluster.act()
    connect = create_autospec(lambda *_: None)
    assert EtcdAccess(api, "", connect).reach() == (connect.return_value, addresses)
    assert connect.call_args.args[0] == b"the CA"
    assert member_problem(api, "") is None
    cluster.dead = {addresses[0]}
    cluster.act()
    words = "a member of etcd does not answer: 2 of 3 members are available, okd-master-0 is unhealthy"
    assert member_problem(api, "") == words


def test_all_members_are_restarted_once_they_are_others(cluster: Cluster) -> None:
    """As OKD's operator does, which the replacement of a server waits for."""
    cluster.act()
    seen = []
    for masters in (MASTERS, MASTERS[:2], MASTERS[:2]):
        cluster.set_voters(*masters)
        cluster.okd.etcd_operator.look()
        seen.append(unrest(Reader(cluster.client), ""))
    words = "the etcd operator restarts the members, one after another: 0 nodes have achieved new revision 2"
    assert seen == [None, words, None]


def test_a_cluster_at_rest_is_read_and_not_written(cluster: Cluster) -> None:
    cluster.make_objects(*PATHS)
    cluster.act()
    cluster.client.calls.clear()
    cluster.act()
    assert {method for method, _ in cluster.client.calls} == {"GET"}


def test_objects_as_this_program_makes_them_are_linked_and_touch_no_server(cluster: Cluster) -> None:
    cluster.make_objects(*PATHS)
    cluster.act()
    proofs = cluster.proofs()
    proofs.are_linked()
    proofs.touched_no_server()
    assert len(proofs.report.proofs) == 7


def with_bmc(manifest: Object) -> None:
    manifest["spec"]["bmc"] = {"address": "redfish://192.0.2.9"}


def to_be_installed(manifest: Object) -> None:
    with_bmc(manifest)
    manifest["spec"]["externallyProvisioned"] = False


TOUCHED: dict[Callable[[Object], None], str] = {
    with_bmc: "okd-worker-0: eject media, okd-worker-0: power on",
    to_be_installed: "okd-worker-0: boot the agent",
}


@pytest.mark.parametrize("change", TOUCHED)
def test_a_host_with_a_bmc_fails_the_proof(cluster: Cluster, change: Callable[[Object], None]) -> None:
    cluster.make_objects(HOSTS, PROVISIONINGS, okd_worker_0=change)
    cluster.act()
    with pytest.raises(RehearsalError, match=f"what metal3 did to servers: seen {TOUCHED[change]}"):
        cluster.proofs().touched_no_server()


def test_a_half_linked_control_plane_fails_the_proof(cluster: Cluster) -> None:
    member_missing(cluster)
    cluster.make_objects(*PATHS)
    for name in (HOSTS, MACHINES):
        del cluster.client.objects[f"{PATHS[name]}/okd-master-2"]
    cluster.act()
    with pytest.raises(RehearsalError, match="nodes that the etcd operator kept out: seen okd-master-2"):
        cluster.proofs().touched_no_server()


def test_a_metal3_that_never_started_fails_the_proof(cluster: Cluster) -> None:
    cluster.make_objects(HOSTS, MACHINES)
    cluster.act()
    with pytest.raises(RehearsalError, match="metal3 was at work: seen False"):
        cluster.proofs().touched_no_server()


def test_what_the_operators_cannot_bear_ends_them_and_fails_the_proof(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operators, "EVERY_S", 0)
    details = {"inspect.metal3.io/hardwaredetails": '{"nics": [], "disks": []}'}
    cluster.make_objects(*PATHS, okd_worker_0=lambda own: own["metadata"].update(annotations=details))
    with pytest.raises(RehearsalError, match=r"the lab's operators of OKD ended: AssertionError: .*disks"):
        cluster.okd.start()
    with pytest.raises(RehearsalError, match=r"faults of the lab's OKD: seen AssertionError: .*disks"):
        cluster.proofs().touched_no_server()


def paused(manifest: Object) -> None:
    annotations = manifest["metadata"].setdefault("annotations", {})
    annotations["baremetalhost.metal3.io/paused"] = ""


def unclaimed(manifest: Object) -> None:
    manifest["spec"].pop("consumerRef", None)


UNLINKED: dict[Callable[[Object], None], str] = {
    paused: "state of each BareMetalHost: seen .*okd-worker-0 none",
    unclaimed: "phase and node of each Machine: seen .*okd-worker-0 Provisioning, none",
}


@pytest.mark.parametrize("change", UNLINKED)
def test_a_server_that_is_not_linked_fails_the_proof(cluster: Cluster, change: Callable[[Object], None]) -> None:
    cluster.make_objects(HOSTS, PROVISIONINGS, okd_worker_0=change)
    cluster.make_objects(MACHINES)
    cluster.okd.step()
    with pytest.raises(RehearsalError, match=UNLINKED[change]):
        cluster.proofs().are_linked()


ANNOTATIONS = ("baremetalhost.metal3.io/paused", "provisioning.metal3.io/paused")
REPAIRS = {"host-first": (HOSTS, PROVISIONINGS), "metal3-first": (PROVISIONINGS, HOSTS), "host-only": (HOSTS,)}


@pytest.mark.parametrize("order", REPAIRS)
def test_a_paused_object_has_to_be_named_and_repaired_in_order(cluster: Cluster, order: str) -> None:
    cluster.make_objects(*PATHS)
    cluster.act()
    proofs = cluster.proofs()
    last = {HOSTS: NAMES[-1], PROVISIONINGS: "provisioning-configuration"}

    def run(command: str, *_: str) -> str:
        if command == "refresh":
            return "".join(f"annotation {own}, wanted none; " for own in ANNOTATIONS)
        for kind in REPAIRS[order]:
            path = f"{PATHS[kind]}/{last[kind]}"
            found = cluster.client.call("GET", path)
            found["metadata"]["annotations"] = {}
            cluster.client.call("PUT", path, found)
        written = [f"API api.lab.test: change {kind}/{last[kind]}" for kind in REPAIRS[order]]
        lines = [{"event": "write", "text": text} for text in written]
        proofs.stack.log_lines.return_value = [*lines, {"event": "end", "step": "objects"}]  # type: ignore[attr-defined]
        return ""

    proofs.stack.run.side_effect = run  # type: ignore[attr-defined]
    if order == "host-first":
        proofs.are_repaired()
    else:
        with pytest.raises(
            RehearsalError, match=r"metal3 acts: seen provisionings/|objects that are paused: seen provisionings/"
        ):
            proofs.are_repaired()


@pytest.mark.parametrize(
    ("stack", "wait", "okd", "objects"),
    [
        ("platform", "install", True, True),
        ("platform", "ingress", True, False),
        ("compact", "install", False, False),
    ],
)
def test_only_a_stack_of_platform_baremetal_that_waits_for_okd_has_objects(  # noqa: PLR0917  (a row)
    stack: str, wait: str, okd: bool, objects: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = clusters.plan("baremetal", wait=wait)
    monkeypatch.setattr(Rehearsal, "operator", create_autospec(Operator, instance=True, tls=None))
    monkeypatch.setattr(Rehearsal, "proofs", Proofs(plan, "", Report("platform", folder=tmp_path)))
    monkeypatch.setattr(ssl, "create_default_context", lambda **_: None)
    mocks = create_autospec(Provisioner, instance=True), create_autospec(Stack, instance=True)
    rehearsal = Rehearsal(*mocks, plan, Report("platform", folder=tmp_path), load_site(stack))
    assert (rehearsal.okd is not None, rehearsal.objects is not None) == (okd, objects)


def test_a_refresh_that_finds_nothing_fails_the_proof(cluster: Cluster) -> None:
    cluster.make_objects(*PATHS)
    cluster.act()
    proofs = cluster.proofs()
    proofs.stack.run.return_value = ""  # type: ignore[attr-defined]
    with pytest.raises(RehearsalError, match="that a refresh names: seen 0, wanted 2"):
        proofs.are_repaired()
