"""The operators of an OKD of platform baremetal: what they report through the lab's Kubernetes, and metal3.

The version is complete once each operator has what it needs in OKD: etcd its members, the API its servers, Ingress a
node. Until then it is `Failing` from `FAILING_S` on, as that of the real operator is (measured with
openshift/cluster-version-operator 6e719331f). metal3 and machine-api are those of `testing.fakes.metal3`; what they
would do to a server is recorded.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cached_property

from base.yaml_text import parse_yaml
from cluster.plan import Intent
from lab.payload.ignition import text
from lab.rehearsal.etcd_operator import EtcdOperator
from lab.rehearsal.okd_api import CONFIG, OPERATORS, VERSIONS, OkdApi
from lab.rehearsal.operators import EVERY_S, Operators
from testing.certificates import authority
from testing.fakes.metal3 import PROVISIONINGS, Metal3, Object
from testing.fakes.okd_kinds import SINCE, history_entry

VERSION = "4.21.0-okd-lab"
RELEASE = {"version": VERSION, "image": f"quay.io/okd/scos-release@sha256:{'0' * 64}"}
FAILING_S = 15.0
_SPECS = {"ClusterVersion": {"clusterID": "3f8c2c0a-7d0e-4b8e-9a53-0c6a5d2f1e47"}, "ClusterOperator": {}}
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
    _looks: int = field(default=0, init=False)
    """At the operators, so far."""
    _is_prepared: bool = field(default=False, init=False)
    _is_complete: bool = field(default=False, init=False)

    @cached_property
    def metal3(self) -> Metal3:
        """The owners of servers."""
        return Metal3(self.api, {}, frozenset(server.name for server in self.plan.holders_of_etcd), set())

    @property
    def router_ca(self) -> str:
        """The PEM of the CA that signs the routers' certificates."""
        return authority("ingress-operator").pem

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
            states = {"Available": not missing, "Progressing": bool(missing), "Degraded": False}
            conditions = [_condition(kind, missing, is_so=is_so) for kind, is_so in states.items()]
            self._status("ClusterOperator", OPERATORS, name, {"conditions": conditions})
        if not lacks["ingress"]:
            # As the real operator does (cluster-ingress-operator, controller/names.go).
            published = {"ca-bundle.crt": self.router_ca}
            self._give("router CA", published, lambda: self.api.publish("default-ingress-cert", published))
        waiting = [name for name, missing in lacks.items() if missing]
        self._is_complete |= not waiting
        self._looks += 1
        status = {
            "availableUpdates": None,
            "conditions": self._installing(waiting, len(lacks)),
            "desired": RELEASE,
            "history": [history_entry(**RELEASE, state="Completed" if self._is_complete else "Partial")],
            "observedGeneration": 1,
            "versionHash": "",
        }
        self._status("ClusterVersion", VERSIONS, "version", status)

    def _installing(self, waiting: Collection[str], total: int) -> list[Object]:
        """Return what the version reports of its installation."""
        is_failing = not self._is_complete and self._looks * EVERY_S > FAILING_S
        kind, verb = ("operator", "is") if len(waiting) == 1 else ("operators", "are")
        operators = f"{kind} {', '.join(waiting)} {verb}"
        if self._is_complete:
            says = f"Cluster version is {VERSION}"
        elif is_failing:
            what = f"the cluster {operators}" if len(waiting) == 1 else "some cluster operators are"
            says = f"Unable to apply {VERSION}: {what} not available"
        else:
            done = total - len(waiting)
            says = f"Working towards {VERSION}: {done} of {total} done ({100 * done // total}% complete)"
        return [
            _condition("Available", "", is_so=self._is_complete),
            _condition("Failing", f"Cluster {operators} not available" if is_failing else "", is_so=is_failing),
            _condition("Progressing", says, is_so=not self._is_complete),
        ]

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
        head = {"apiVersion": CONFIG, "kind": kind, "metadata": {"name": name}}
        wanted = {**head, "spec": _SPECS[kind], "status": status}
        self._give(name, status, lambda: self.api.report(collection, wanted))

    def _give(self, name: str, value: object, write: Callable[[], object]) -> None:
        """Write only what has changed: most looks find nothing new."""
        if self._reported.get(name) != value:
            write()
            self._reported[name] = value


def infrastructure(plan: Intent) -> Object:
    """Return the object of the payload's manifest, which OKD's bootstrap applies."""
    return dict(parse_yaml(text("infrastructure.yml.j2", plan=plan)))


def _condition(kind: str, message: str, *, is_so: bool) -> Object:
    return {"type": kind, "status": str(is_so), "message": message, "lastTransitionTime": SINCE}


def _listed(what: str, names: Collection[str]) -> str:
    return f"{what}: {', '.join(sorted(names))}" if names else ""


def _is_ready(node: Object) -> bool:
    conditions = node["status"].get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _address(node: Object) -> str:
    """Return the address by which the nodelink controller knows a node."""
    addresses = node["status"].get("addresses", [])
    return next((str(each["address"]) for each in addresses if each["type"] == "InternalIP"), "")
