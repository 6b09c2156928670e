"""A cluster whose servers are switched off and on: kubelets with certificates that expire, nodes, and an API.

Traits, each of kubernetes 1.36: a node keeps what it reported last, Ready too, until its kubelet reports again
(lifecycle of nodes marks it 50 s later, which is left out: the harder case), and renews its lease every 10 s
(pkg/kubelet/kubelet.go); a kubelet whose client certificate has expired asks by its bootstrap token for a new one
(cmd/kubelet/app/server.go), and serves by none that has expired (client-go util/certificate, `Current`); a merge
patch removes what is null (RFC 7396).

Of openshift/cluster-kube-apiserver-operator c813e820b: the API's own certificate lives for 30 days, and is renewed
after 15 (certrotationcontroller.go, external-loadbalancer-serving-certkey); one that has expired is served until
`cert-regeneration-controller`, beside each API server, has made another by a certificate of ten years
(bindata/assets/kube-apiserver/pod.yaml; kubeconfig-cm.yaml: localhost-recovery).
"""

import base64
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes

from providers.joining.nodes import LEASES
from testing.certificate_requests import NODES, REQUESTS, client_request, serving_request
from testing.certificates import authority
from testing.fakes.bmc import FakeBmc
from testing.fakes.clock import FakeClock
from wires.api.https import CertificateExpiredError
from wires.api.resources import ETCD, R

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
LIFE_DAYS = 30
"""Of a kubelet's certificate, as OKD's signer has it."""
RENEWS_S = 60.0
"""Seconds from an API that runs until its own certificate is a new one."""
REPORTS_S = 10.0
"""Seconds from a system that is up until its kubelet reports."""


@dataclass
class Kubelet:
    """The kubelet of one server, with a real certificate of each kind."""

    host: str
    address: str
    bmc: FakeBmc
    client: x509.Certificate
    serving: x509.Certificate
    boot: int = 1
    up_since: float | None = None
    requests: list[str] = field(default_factory=list)


@dataclass
class SleepingCluster:
    """Implements `wires.api.resources.KubernetesWriter`, by the servers that are on."""

    clock: FakeClock
    kubelets: dict[str, Kubelet] = field(default_factory=dict)
    with_etcd: set[str] = field(default_factory=set)
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    requests: dict[str, dict[str, Any]] = field(default_factory=dict)
    leases: dict[str, str] = field(default_factory=dict)
    """When each was renewed."""
    on_change: Callable[[str, dict[str, Any]], None] = lambda _path, _change: None
    """Called before each change; may raise."""
    changes: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    renews: bool = True
    """Whether OKD renews the API's own certificate; one that a person has given it stays."""
    _certified_until: datetime = BEGIN + timedelta(days=LIFE_DAYS)
    _serves_since: float | None = None

    def now(self) -> datetime:
        """Return the time of its machines."""
        return BEGIN + timedelta(seconds=self.clock.now())

    def add(self, host: str, address: str, bmc: FakeBmc, *, has_etcd: bool) -> None:
        """Add a server that runs, as a node that is ready."""
        client, serving = (self._signed(it) for it in (client_request(host), serving_request(host, address)))
        self.kubelets[host] = Kubelet(host, address, bmc, client, serving, up_since=self.clock.now())
        if has_etcd:
            self.with_etcd.add(host)
        self.leases[host] = self.now().isoformat()
        info = {"systemUUID": bmc.machine.uuid}
        ready = [{"type": "Ready", "status": "True"}]
        self.nodes[host] = {"metadata": {"name": host}, "spec": {}, "status": {"conditions": ready, "nodeInfo": info}}

    @property
    def answers(self) -> bool:
        """Whether a majority of etcd is up, so that the API answers."""
        return sum(self.kubelets[host].bmc.is_up() for host in self.with_etcd) * 2 > len(self.with_etcd)

    @property
    def is_certified(self) -> bool:
        """Whether the API's own certificate is one by which its clients know it, kubelets too."""
        return self.now() < self._certified_until

    def tick(self) -> None:
        """Let the API and each kubelet do what they do by now."""
        self._serves_since = (self._serves_since or self.clock.now()) if self.answers else None
        aged = self.now() >= self._certified_until - timedelta(days=LIFE_DAYS / 2)
        if self.renews and aged and self._serves_since and self.clock.now() >= self._serves_since + RENEWS_S:
            self._certified_until = self.now() + timedelta(days=LIFE_DAYS)
        for kubelet in self.kubelets.values():
            if not kubelet.bmc.is_up():
                kubelet.up_since = None
                continue
            if kubelet.up_since is None:
                kubelet.up_since, kubelet.boot = self.clock.now(), kubelet.boot + 1
            if self.answers and self.is_certified and self.clock.now() >= kubelet.up_since + REPORTS_S:
                self._report(kubelet)

    def _report(self, kubelet: Kubelet) -> None:
        host = kubelet.host
        if self._is_over(kubelet.client):
            kubelet.client = self._asked("client", kubelet) or kubelet.client
            return
        self.leases[host] = self.now().isoformat()
        if self._is_over(kubelet.serving):
            kubelet.serving = self._asked("serving", kubelet) or kubelet.serving

    def _is_over(self, certificate: x509.Certificate) -> bool:
        return certificate.not_valid_after_utc <= self.now()

    def _asked(self, kind: str, kubelet: Kubelet) -> x509.Certificate | None:
        """Return the new certificate once its request is approved; the request is made if there is none."""
        name = f"csr-{kind}-{kubelet.host}-{kubelet.boot}"
        if name not in self.requests:
            host, address = kubelet.host, kubelet.address
            made = client_request(host, name=name) if kind == "client" else serving_request(host, address, name=name)
            made["metadata"]["creationTimestamp"] = self.now().isoformat()
            self.requests[name] = made
            kubelet.requests.append(name)
        if not self.requests[name]["status"]:
            return None
        return self._signed(self.requests[name])

    def _signed(self, request: dict[str, Any]) -> x509.Certificate:
        """Return the certificate that kube-controller-manager makes of a request that was approved."""
        csr = x509.load_pem_x509_csr(base64.b64decode(request["spec"]["request"]))
        signer = authority("csr-signer")
        return (
            x509.CertificateBuilder()
            .subject_name(csr.subject)
            .issuer_name(signer.certificate.subject)
            .public_key(csr.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(self.now())
            .not_valid_after(self.now() + timedelta(days=LIFE_DAYS))
            .sign(signer.key, hashes.SHA256())
        )

    def kubelet_problem(self, address: str) -> str | None:
        """Return why the kubelet at an address shows no serving certificate; None if it does."""
        self.tick()
        (kubelet,) = (it for it in self.kubelets.values() if it.address == address)
        if not kubelet.bmc.is_up():
            return "timed out"
        return "internal error" if self._is_over(kubelet.serving) else None

    # The API.
    def get(self, _address: str, path: str, model: type[R]) -> R | None:
        """Return a list, or what etcd's operator reports."""
        self._reach()
        whole = len(self.with_etcd) == sum(self.kubelets[host].bmc.is_up() for host in self.with_etcd)
        degraded = [{"type": "EtcdMembersDegraded", "status": str(not whole), "message": "a member is unhealthy"}]
        answers: dict[str, dict[str, Any]] = {
            NODES: {"items": [*self.nodes.values()]},
            REQUESTS: {"items": [*self.requests.values()]},
            LEASES: {
                "items": [{"metadata": {"name": it}, "spec": {"renewTime": at}} for it, at in self.leases.items()]
            },
            ETCD: {"status": {"conditions": degraded}},
        }
        return model.model_validate(answers[path])

    def patch(self, _address: str, path: str, change: dict[str, Any]) -> None:
        """Merge a change into a node or a request."""
        self._reach()
        self.on_change(path, change)
        self.changes.append((path, change))
        if path.startswith(NODES):
            merge(self.nodes[path.rpartition("/")[2]], change)
        else:
            merge(self.requests[path.split("/")[-2]], {"status": change["status"]})

    def _reach(self) -> None:
        self.tick()
        if not self.answers:
            raise ConnectionError("no route to host")
        if not self.is_certified:
            raise CertificateExpiredError

    @property
    def approved(self) -> list[str]:
        """Names of the requests that were approved."""
        return [path.split("/")[-2] for path, _ in self.changes if path.startswith(REQUESTS)]

    @property
    def cordoned(self) -> list[str]:
        """Names of the nodes that are cordoned."""
        return [name for name, node in self.nodes.items() if node["spec"].get("unschedulable")]


def _lease(host: str, renewed: str) -> dict[str, Any]:
    return {"metadata": {"name": host}, "spec": {"renewTime": renewed}}


def merge(into: dict[str, Any], change: dict[str, Any]) -> None:
    """Merge a change into an object, as RFC 7396 has it."""
    for key, value in change.items():
        if value is None:
            into.pop(key, None)
        elif isinstance(value, dict):
            merge(into.setdefault(key, {}), value)
        else:
            into[key] = value
