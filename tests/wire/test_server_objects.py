"""The objects of servers on a real kube-apiserver, with the kinds of OKD, rules of its web hook, and its controllers.

`make kubernetes` builds what it needs, and runs it. `make test` does not.
"""

import copy
import http.client
from dataclasses import dataclass
from pathlib import Path

import pytest

from base.errors import ConfigError
from cluster.plan import Role
from lab.inventory import load_site
from lab.payload import make_kubernetes_payload, write_payload
from lab.rehearsal.client import Client
from lab.rehearsal.kube import Operator
from lab.rehearsal.okd import infrastructure
from lab.rehearsal.okd_api import PATHS, OkdApi
from payload.kubeconfig import api_ca, read_kubeconfig
from providers.server_objects.engine import ServerObjectsEngine
from providers.server_objects.model import ServerObjectsSpec
from testing import clusters
from testing.fakes.clock import FakeClock
from testing.fakes.etcd import NAMESPACE, numbered, told_of_members
from testing.fakes.metal3 import HOSTS, Metal3
from testing.fakes.object_store import ControllersClock
from testing.namespaces import in_own_network, needs_root
from testing.scene.cluster import DOMAIN, cluster_of
from testing.scene.machine import until
from tests.wire.test_kubernetes import serving
from wires.api.kubernetes import KubeApi
from wires.api.resources import ETCD_MEMBERS

pytestmark = [needs_root, pytest.mark.kubernetes]
PLAN = clusters.plan("baremetal")
MASTERS = [server.name for server in PLAN.of(Role.CONTROL_PLANE)]


def versions(api: OkdApi) -> dict[str, str]:
    """Return the version of each object of a server."""
    found = {kind: api.list(kind) for kind in PATHS}
    return {
        f"{kind}/{own['metadata']['name']}": own["metadata"]["resourceVersion"]
        for kind, listed in found.items()
        for own in listed
    }


def set_members(api: OkdApi, *names: str) -> None:
    """Have these servers, and no others, be members of etcd."""
    api.ensure("/api/v1/namespaces", {"metadata": {"name": NAMESPACE.rpartition("/")[2]}})
    members = numbered(str(server.address) for server in PLAN.servers if server.name in names)
    collection, _, name = ETCD_MEMBERS.rpartition("/")
    api.keep(collection, {"metadata": {"name": name}, **told_of_members(members)})


def is_prepared(api: OkdApi) -> bool:
    """Make what OKD has, and return whether the API serves all of it."""
    try:
        api.prepare(infrastructure(PLAN))
    except http.client.HTTPException:
        return False
    return api.refuses_details()


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


def check(rig: Rig, store: OkdApi) -> None:
    """Go through the life of the objects."""
    set_members(store, *MASTERS[:2])
    with pytest.raises(Exception, match="not in etcd yet: okd-master-2, after 20 s"):
        rig.engine().ensure((), deadline_s=20)
    assert versions(store) == {}
    set_members(store, *MASTERS)
    rig.engine().ensure((), deadline_s=60)
    assert (rig.metal3.touched, rig.metal3.kept_out) == ([], [])
    written = versions(store)
    assert len(written) == len(rig.spec.objects) == 11
    rig.engine().ensure((), deadline_s=60)
    assert (versions(store), rig.engine().drift()) == (written, [])

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
    assert len(versions(store)) == len(fewer)
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
            serving(cluster, payload, api_ca(payload.master.encode(), kubeconfig))
            store = OkdApi(Client(vip, f"api.{DOMAIN}", operator.tls))
            until("all kinds are served, and the rules in force", lambda: is_prepared(store))
            nodes = {server.name: str(server.address) for server in PLAN.servers}
            metal3 = Metal3(store, nodes, frozenset(MASTERS), {*MASTERS})
            spec = ServerObjectsSpec.of(PLAN, "prod")
            check(Rig(KubeApi.by(kubeconfig, f"api.{DOMAIN}"), vip, metal3, spec), store)
            store.client.close()

    in_own_network(scenario)
