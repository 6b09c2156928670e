"""The objects of servers on a real kube-apiserver, with the kinds of OKD, rules of its web hook, and its controllers.

`make kubernetes` builds what it needs, and runs it. `make test` does not.
"""

import copy
import http.client
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from base.errors import ConfigError
from cluster.plan import Role
from lab.inventory import load_site
from lab.payload import make_kubernetes_payload, write_payload
from lab.rehearsal.client import Client
from lab.rehearsal.kube import Operator
from payload.kubeconfig import api_ca, read_kubeconfig
from providers.server_objects.engine import ServerObjectsEngine
from providers.server_objects.model import ServerObjectsSpec
from testing import clusters
from testing.fakes.clock import FakeClock
from testing.fakes.metal3 import HOSTS, MACHINES, PROVISIONINGS, Metal3, Object
from testing.fakes.object_store import ControllersClock
from testing.namespaces import in_own_network, needs_root
from testing.scene.cluster import DOMAIN, cluster_of
from testing.scene.machine import until
from tests.wire.test_kubernetes import boot
from wires.api.api import Api
from wires.api.kubernetes import KubeApi

pytestmark = [needs_root, pytest.mark.kubernetes]
NAMESPACE, METAL3, MACHINE = "openshift-machine-api", "metal3.io/v1alpha1", "machine.openshift.io/v1beta1"
PATHS = {
    HOSTS: f"/apis/{METAL3}/namespaces/{NAMESPACE}/{HOSTS}",
    MACHINES: f"/apis/{MACHINE}/namespaces/{NAMESPACE}/{MACHINES}",
    PROVISIONINGS: f"/apis/{METAL3}/{PROVISIONINGS}",
}
INFRASTRUCTURES = "/apis/config.openshift.io/v1/infrastructures"
KINDS = {
    HOSTS: ("BareMetalHost", METAL3, "Namespaced"),
    MACHINES: ("Machine", MACHINE, "Namespaced"),
    PROVISIONINGS: ("Provisioning", METAL3, "Cluster"),
    "infrastructures": ("Infrastructure", "config.openshift.io/v1", "Cluster"),
}
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
ANNOTATIONS = "object.metadata.?annotations.orValue({})"
RULES = {
    # baremetal-operator 02aa5059e, baremetalhost_validation.go; 19e11f5bb of OKD 4.20 and later
    "when hardware details are provided, the inspection must be disabled": (
        f"!('inspect.metal3.io/hardwaredetails' in {ANNOTATIONS}) || "
        f"{ANNOTATIONS}[?'inspect.metal3.io'].orValue('') == 'disabled'"
    ),
    "externallyProvisioned can not be changed": (
        "request.operation == 'CREATE' || object.spec.?externallyProvisioned.orValue(false) == "
        "oldObject.spec.?externallyProvisioned.orValue(false)"
    ),
    "bootMACAddress can not be changed once it is set": (
        "request.operation == 'CREATE' || object.spec.?bootMACAddress.orValue('') == "
        "oldObject.spec.?bootMACAddress.orValue('')"
    ),
}
PLAN = clusters.plan("baremetal")
MASTERS = [server.name for server in PLAN.of(Role.CONTROL_PLANE)]


@dataclass
class RealStore:
    """A `Store` of `Metal3` in a real API."""

    client: Client

    def list(self, kind: str) -> list[Object]:
        """See `Store`."""
        return list(self.client.call("GET", PATHS[kind])["items"])

    def put(self, kind: str, changed: Object) -> None:
        """See `Store`. Object and status are two resources of the API, and only the first PUT may have a change."""
        path = f"{PATHS[kind]}/{changed['metadata']['name']}"
        written = self.client.call("PUT", path, changed)
        self.client.call("PUT", f"{path}/status", {**written, "status": changed.get("status", {})})

    def remove(self, kind: str, name: str) -> None:
        """See `Store`: what is deleted goes with its last finalizer."""
        path = f"{PATHS[kind]}/{name}"
        found = self.client.call("GET", path)
        self.client.call("PUT", path, {**found, "metadata": {**found["metadata"], "finalizers": []}})

    def versions(self) -> dict[str, str]:
        """Return the version of each object."""
        return {
            f"{kind}/{each['metadata']['name']}": each["metadata"]["resourceVersion"]
            for kind in PATHS
            for each in self.list(kind)
        }

    def prepare(self) -> None:
        """Make what OKD has: the kinds, the web hook's rules, the cluster's name and etcd's members."""
        for plural, (kind, api, scope) in KINDS.items():
            self.client.call(
                "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", _crd(plural, kind, api, scope)
            )
        self.client.call("POST", f"{ADMISSION}/validatingadmissionpolicies", _policy())
        binding = {"policyName": "baremetalhosts.metal3.io", "validationActions": ["Deny"]}
        bound = {"metadata": {"name": "baremetalhosts.metal3.io"}, "spec": binding}
        self.client.call("POST", f"{ADMISSION}/validatingadmissionpolicybindings", bound)
        for name in (NAMESPACE, "openshift-etcd"):
            self.client.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        for path in (*PATHS.values(), INFRASTRUCTURES):
            until(f"{path} is served", partial(self._is_served, path))
        own = self.client.call("POST", INFRASTRUCTURES, _infrastructure())
        named = {**own, "status": {"infrastructureName": "okd-x7k2p"}}
        self.client.call("PUT", f"{INFRASTRUCTURES}/cluster/status", named)

    def set_members(self, method: str, *names: str) -> None:
        """Write etcd's members, by POST or PUT."""
        addresses = {server.name: str(server.address) for server in PLAN.servers}
        content = {"metadata": {"name": "etcd-endpoints"}, "data": {f"id-{name}": addresses[name] for name in names}}
        path = "/api/v1/namespaces/openshift-etcd/configmaps"
        self.client.call(method, path if method == "POST" else f"{path}/etcd-endpoints", content)

    def refuses_details(self) -> bool:
        """Return whether the rules are in force."""
        annotations = {"inspect.metal3.io/hardwaredetails": "{}"}
        host = {"apiVersion": METAL3, "kind": "BareMetalHost", "spec": {"online": True}}
        try:
            path = f"{PATHS[HOSTS]}?dryRun=All"
            self.client.call("POST", path, {**host, "metadata": {"name": "probe", "annotations": annotations}})
        except http.client.HTTPException:
            return True
        return False

    def _is_served(self, path: str) -> bool:
        try:
            self.client.call("GET", path)
        except http.client.HTTPException:
            return False
        return True


def _infrastructure() -> Object:
    return {"apiVersion": "config.openshift.io/v1", "kind": "Infrastructure", "metadata": {"name": "cluster"}}


def _crd(plural: str, kind: str, api: str, scope: str) -> Object:
    group, _, version = api.partition("/")
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    served = {"name": version, "served": True, "storage": True, "schema": schema, "subresources": {"status": {}}}
    names = {"kind": kind, "plural": plural, "singular": kind.lower()}
    spec = {"group": group, "scope": scope, "names": names, "versions": [served]}
    annotations = {"api-approved.kubernetes.io": "https://github.com/kubernetes/enhancements/pull/1111"}
    return {"metadata": {"name": f"{plural}.{group}", "annotations": annotations}, "spec": spec}


def _policy() -> Object:
    rule = {
        "apiGroups": ["metal3.io"],
        "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["baremetalhosts"],
    }
    validations = [{"expression": own, "message": text, "reason": "Forbidden"} for text, own in RULES.items()]
    spec = {"failurePolicy": "Fail", "matchConstraints": {"resourceRules": [rule]}, "validations": validations}
    return {"metadata": {"name": "baremetalhosts.metal3.io"}, "spec": spec}


@dataclass
class Rig:
    """The engine against the real API."""

    api: KubeApi
    vip: str
    metal3: Metal3
    spec: ServerObjectsSpec

    def engine(self, spec: ServerObjectsSpec | None = None) -> ServerObjectsEngine:
        """Return an engine while whose waits the controllers work."""
        clock = ControllersClock(FakeClock(0), self.metal3)
        own = (spec or self.spec).changed(api_vip=self.vip)
        return ServerObjectsEngine(self.api, own, clock, lambda _: None, pytest.fail)


def check(rig: Rig, store: RealStore) -> None:
    """Go through the life of the objects."""
    store.set_members("POST", *MASTERS[:2])
    with pytest.raises(Exception, match="not in etcd yet: okd-master-2, after 20 s"):
        rig.engine().ensure((), deadline_s=20)
    assert store.versions() == {}
    store.set_members("PUT", *MASTERS)
    rig.engine().ensure((), deadline_s=60)
    assert (rig.metal3.touched, rig.metal3.kept_out) == ([], [])
    written = store.versions()
    assert len(written) == len(rig.spec.objects) == 11
    rig.engine().ensure((), deadline_s=60)
    assert (store.versions(), rig.engine().drift()) == (written, [])

    (host,) = (each for each in store.list(HOSTS) if each["metadata"]["name"] == "okd-worker-0")
    assert "inspect.metal3.io/hardwaredetails" not in host["metadata"]["annotations"]
    host["metadata"]["annotations"]["baremetalhost.metal3.io/paused"] = ""
    del host["spec"]["consumerRef"]
    store.put(HOSTS, host)
    assert len(rig.engine().drift()) == 2
    rig.engine().ensure((), deadline_s=60)
    assert rig.engine().drift() == []

    refused = copy.deepcopy(rig.spec.objects["BareMetalHost/okd-worker-1"])
    refused["metadata"] |= {"name": "okd-worker-9"}
    del refused["metadata"]["annotations"]["inspect.metal3.io"]
    with pytest.raises(
        ConfigError, match=r"BareMetalHost/okd-worker-9: the API refuses it: status 403: .*inspection"
    ):
        rig.engine(rig.spec.changed(objects={"BareMetalHost/okd-worker-9": refused})).ensure((), deadline_s=60)

    gone = ("Machine/okd-worker-1", "BareMetalHost/okd-worker-1")
    fewer = {name: own for name, own in rig.spec.objects.items() if name not in gone}
    rig.engine(rig.spec.changed(objects=fewer)).ensure(gone, deadline_s=60)
    assert len(store.versions()) == len(fewer)
    assert "okd-worker-1" not in rig.metal3.nodes
    assert (rig.metal3.touched, rig.metal3.kept_out) == ([], [])


def test_the_objects_are_linked_on_a_real_api_and_no_server_is_touched(tmp_path: Path) -> None:
    payload = make_kubernetes_payload(load_site())
    write_payload(payload, tmp_path / "payload")
    kubeconfig = read_kubeconfig(str(tmp_path))  # an absolute path as the stack's name
    assert kubeconfig
    operator = Operator.of(tmp_path / "payload/auth/kubeconfig")

    def scenario() -> None:
        with cluster_of("rehearsal", tmp_path, "") as cluster:
            vip = str(cluster.vips[0])
            boot(cluster.bootstrap, payload.bootstrap, vip)
            cluster.bootstrap_keepalived = cluster.bootstrap.start_keepalived(cluster.vips)
            api = Api(DOMAIN, api_ca(payload.master.encode(), kubeconfig))
            until("the bootstrap's API through the VIP", lambda: api.is_ready(vip))
            store = RealStore(Client(vip, f"api.{DOMAIN}", operator.tls))
            store.prepare()
            until("the rules are in force", store.refuses_details)
            nodes = {server.name: str(server.address) for server in PLAN.servers}
            metal3 = Metal3(store, nodes, frozenset(MASTERS), {*MASTERS})
            spec = ServerObjectsSpec.of(PLAN, "prod")
            check(Rig(KubeApi.by(kubeconfig, f"api.{DOMAIN}"), vip, metal3, spec), store)
            store.client.close()

    in_own_network(scenario)
