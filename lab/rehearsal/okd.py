"""The operators of an OKD of platform baremetal: what they report through the lab's Kubernetes, and metal3.

The version is complete once each operator has what it needs in OKD: etcd its members, the API its servers, Ingress a
node. Its fields are those of openshift/api 2a3d73913 (config/v1) that this program reads; unlike that of the real
operator, it is never `Failing` meanwhile. metal3 and machine-api are those of `testing.fakes.metal3`; what they would
do to a server is recorded.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cached_property

from base.yaml_text import parse_yaml
from cluster.plan import Intent
from lab.payload.ignition import text
from lab.rehearsal.etcd_operator import EtcdOperator
from lab.rehearsal.okd_api import CONFIG, OPERATORS, VERSIONS, OkdApi
from lab.rehearsal.operators import Operators
from testing.fakes.metal3 import PROVISIONINGS, Metal3, Object

VERSION = "4.21.0-okd-lab"
RELEASE = {"version": VERSION, "image": f"quay.io/okd/scos-release@sha256:{'0' * 64}"}
_NODES = "/api/v1/nodes"
_SERVERS = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"


@dataclass
class Okd(Operators):
    """The operators of one cluster."""

    plan: Intent
    api: OkdApi
    etcd_operator: EtcdOperator
    _reported: dict[str, object] = field(default_factory=dict, init=False)
    """What each object was last given."""
    _is_prepared: bool = field(default=False, init=False)
    _is_complete: bool = field(default=False, init=False)

    @cached_property
    def metal3(self) -> Metal3:
        """The owners of servers."""
        return Metal3(self.api, {}, frozenset(server.name for server in self.plan.holders_of_etcd), set())

    def step(self) -> None:
        """See `Operators`."""
        if not self._is_prepared:
            self.api.prepare(infrastructure(self.plan))
            self._is_prepared = True
        nodes, voters = (
            self.api.client.call("GET", _NODES)["items"],
            {voter.name for voter in self.etcd_operator.look()},
        )
        self._report({node["metadata"]["name"] for node in nodes if _is_ready(node)}, voters)
        self.metal3.nodes = {node["metadata"]["name"]: _address(node) for node in nodes}
        self.metal3.members = voters & self.metal3.holders_of_etcd
        self.metal3.step()

    def _report(self, ready: Collection[str], voters: Collection[str]) -> None:
        """Report each operator, then the version, which stays complete."""
        lacks = {name: needs(ready, voters) for name, needs in self._operators.items()}
        for name, missing in lacks.items():
            self._status("ClusterOperator", OPERATORS, name, {"conditions": _conditions(missing, "Degraded")})
        waiting = [name for name, missing in lacks.items() if missing]
        self._is_complete |= not waiting
        has_all = len(lacks) - len(waiting)
        done = f"{has_all} of {len(lacks)} done ({100 * has_all // len(lacks)}% complete)"
        what = "" if self._is_complete else f"Working towards {VERSION}: {done}, waiting on {', '.join(waiting)}"
        entry = {"state": "Completed" if self._is_complete else "Partial", **RELEASE}
        status = {
            "conditions": _conditions(what, "Failing"),
            "desired": RELEASE,
            "history": [entry],
            "observedGeneration": 1,
        }
        self._status("ClusterVersion", VERSIONS, "version", status)

    @property
    def _operators(self) -> dict[str, Callable[[Collection[str], Collection[str]], str]]:
        """What each of them lacks, by the Ready nodes and the members of etcd; nothing if it is available."""
        holders = {server.name for server in self.plan.holders_of_etcd}
        routed = {server.name for server in self.plan.of(self.plan.ingress_role)}
        return {
            "baremetal": lambda *_: "" if self.metal3.works or not self.api.list(PROVISIONINGS) else "paused",
            "etcd": lambda _, voters: _listed("members", holders ^ {*voters}),
            "ingress": lambda ready, _: "" if routed & {*ready} else "no node for the router",
            "kube-apiserver": lambda *_: _listed("no API server", self._without_server()),
        }

    def _without_server(self) -> set[str]:
        found = self.api.client.call("GET", _SERVERS).get("endpoints") or []
        serving = {address for endpoint in found for address in endpoint["addresses"]}
        return {server.name for server in self.plan.control_plane if str(server.address) not in serving}

    def _status(self, kind: str, collection: str, name: str, status: Object) -> None:
        wanted = {"apiVersion": CONFIG, "kind": kind, "metadata": {"name": name}, "status": status}
        self._give(name, status, lambda: self.api.report(collection, wanted))

    def _give(self, name: str, value: object, write: Callable[[], object]) -> None:
        """Write only what has changed: most looks find nothing new."""
        if self._reported.get(name) != value:
            write()
            self._reported[name] = value


def infrastructure(plan: Intent) -> Object:
    """Return the object of the payload's manifest, which OKD's bootstrap applies."""
    return dict(parse_yaml(text("infrastructure.yml.j2", plan=plan)))


def _conditions(missing: str, never: str) -> list[Object]:
    """Return what an operator or the version reports; `never` is what is never so here."""
    states = {"Available": not missing, "Progressing": bool(missing), never: False}
    return [{"type": kind, "status": str(is_so), "message": missing} for kind, is_so in states.items()]


def _listed(what: str, names: Collection[str]) -> str:
    return f"{what}: {', '.join(sorted(names))}" if names else ""


def _is_ready(node: Object) -> bool:
    conditions = node["status"].get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _address(node: Object) -> str:
    """Return the address by which the nodelink controller knows a node."""
    addresses = node["status"].get("addresses", [])
    return next((str(each["address"]) for each in addresses if each["type"] == "InternalIP"), "")
