"""A real kubelet whose certificates expired while its cluster slept: what it does then, and what is approved.

No clock is moved: its signer makes the same certificates again, of 400 days ago. Two parts are stand-ins: a kubelet
over a pretended container runtime reports no system UUID, so the node gets one while it is off; no BMC is asked.
`make kubernetes` builds what it needs, and runs it. `make test` does not.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

from cluster.plan import Server
from lab.inventory import load_site
from lab.payload import Payload, make_kubernetes_payload, write_payload
from lab.rehearsal.client import Client
from lab.rehearsal.kube import Operator
from payload.kubeconfig import Kubeconfig, api_ca, read_kubeconfig
from providers.cluster_power.model import ClusterPowerSpec
from providers.joining.approvals import Joining
from providers.joining.certificates import APPROVED_HERE
from providers.node_joining import joining_of
from testing import clusters
from testing.certificate_requests import NODES, REQUESTS, client_request, serving_request
from testing.namespaces import in_own_network, needs_root
from testing.scene.cluster import DOMAIN, Cluster, cluster_of
from testing.scene.ignited import start_units
from testing.scene.machine import Machine, until
from tests.wire.test_kubernetes import boot, serving
from wires.bmc.client import Identity

pytestmark = [needs_root, pytest.mark.kubernetes]
HOST, UNIT = "okd-master-0", "lab-kubelet"
OWN = Identity("c0ffee00-0000-4000-8000-000000000000", "SERIAL-okd-master-0")
ANOTHER = Identity("c0ffee00-0000-4000-8000-00000000ffff", "SERIAL-of-another")
SLEPT, LIFE = timedelta(days=400), timedelta(days=30)
BEGINS = ("kubelet-client", "kubelet-server")


@dataclass
class Site:
    """The API, and its one node."""

    cluster: Cluster
    payload: Payload
    kubeconfig: Kubeconfig
    operator: Client
    bootstrapper: Client
    """Has the token that every server has, to become a node by."""
    warnings: list[str] = field(default_factory=list)

    @property
    def node(self) -> Machine:
        return self.cluster.nodes[HOST]

    @property
    def server(self) -> Server:
        (server,) = (server for server in self.cluster.plan.servers if server.name == HOST)
        return server

    def stop(self, machine: Machine, unit: str) -> None:
        machine.run("/usr/local/bin/systemctl", "stop", "--no-block", f"{unit}.service")

    def start_kubelet(self) -> None:
        start_units(self.node, self.payload.role_master, UNIT)

    def joining(self, machine: Identity) -> Joining:
        """Return what wakes the node, of which the BMC shows this machine."""
        spec = ClusterPowerSpec.of(clusters.plan("rehearsal", phase="production"), "prod")
        made = joining_of(spec.changed(urn="urn::power"), self.kubeconfig, {HOST: machine})
        made.warn = self.warnings.append
        return made

    def missing(self, joining: Joining) -> str | None:
        return joining.missing(HOST, str(self.server.address))

    def send(self, request: dict[str, Any]) -> None:
        """Send a certificate request with the bootstrapper's token, whoever it is for."""
        kind = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest"}
        spec = {key: request["spec"][key] for key in ("request", "signerName", "usages")}
        self.bootstrapper.call(
            "POST", REQUESTS, {**kind, "metadata": {"name": request["metadata"]["name"]}, "spec": spec}
        )

    def requests(self) -> dict[str, list[str]]:
        """Return the reasons of the conditions of each request; pending ones have none."""
        listed = self.operator.call("GET", REQUESTS)["items"]
        return {
            it["metadata"]["name"]: [each["reason"] for each in it["status"].get("conditions", [])] for it in listed
        }

    def pending(self) -> set[str]:
        return {name for name, reasons in self.requests().items() if not reasons}

    def certificates(self) -> dict[str, Path]:
        """Return the files of the kubelet's certificates, each with its key, by kind."""
        folder = self.node.folder / "lib/kubelet/pki"
        # The links are absolute, on the machine.
        links = {kind: folder / f"{kind}-current.pem" for kind in BEGINS}
        return {kind: folder / link.readlink().name for kind, link in links.items() if link.is_symlink()}

    def lives(self) -> list[datetime]:
        """Return when each of the kubelet's certificates ends."""
        files = self.certificates().values()
        return [x509.load_pem_x509_certificate(file.read_bytes()).not_valid_after_utc for file in files]


def expire(site: Site) -> None:
    """Put in place of each certificate the same one of 400 days ago, by its own signer."""
    tls = site.cluster.bootstrap.folder / "opt/openshift/tls"
    signer = load_pem_private_key((tls / "kubelet-signer.key").read_bytes(), None)
    begin = datetime.now(UTC) - SLEPT
    for file in site.certificates().values():
        pem = file.read_text()
        now, key = x509.load_pem_x509_certificate(pem.encode()), pem[pem.index("-----BEGIN EC PRIVATE KEY") :]
        made = x509.CertificateBuilder(
            now.issuer, now.subject, now.public_key(), now.serial_number, begin, begin + LIFE, [*now.extensions]
        )
        signed = made.sign(signer, hashes.SHA256())  # type: ignore[arg-type]
        file.write_text(signed.public_bytes(Encoding.PEM).decode() + key)


@contextmanager
def slept(folder: Path) -> Iterator[Site]:
    """Yield a node whose kubelet is off, and whose certificates have expired; nobody approves requests any more."""
    payload = make_kubernetes_payload(load_site())
    write_payload(payload, folder / "payload")
    kubeconfig = read_kubeconfig(str(folder))  # an absolute path as the stack's name
    assert kubeconfig
    with cluster_of("rehearsal", folder, "") as cluster:
        vip = str(cluster.vips[0])
        serving(cluster, payload, api_ca(payload.master.encode(), kubeconfig))
        boot(cluster.nodes[HOST], payload.role_master, vip, UNIT)
        operator = Client(vip, f"api.{DOMAIN}", Operator.of(folder / "payload/auth/kubeconfig").tls)
        own = Operator.of(cluster.nodes[HOST].folder / "etc/kubernetes/kubeconfig")
        site = Site(cluster, payload, kubeconfig, operator, Client(vip, f"api-int.{DOMAIN}", own.tls))
        until("the bootstrap has approved both requests", lambda: len(site.certificates()) == len(BEGINS))
        site.stop(cluster.bootstrap, "lab-bootkube")
        site.stop(site.node, UNIT)
        expire(site)
        yield site
        for client in (site.operator, site.bootstrapper):
            client.close()


def check(site: Site) -> None:
    """Wake the node: first as another machine, then as itself."""
    assert all(end < datetime.now(UTC) - timedelta(days=360) for end in site.lives())
    before = {*site.requests()}
    joining = site.joining(ANOTHER)
    own_machine = {"status": {"nodeInfo": {"systemUUID": OWN.uuid}}}
    joining.api.patch(joining.nodes.vip, f"{NODES}/{HOST}/status", own_machine)
    address = str(site.server.address)
    site.send(client_request("okd-master-9", name="another-name"))
    site.send(serving_request(HOST, address, name="not-of-the-node"))
    site.start_kubelet()
    until("its kubelet has asked", lambda: len(site.pending()) == 3)
    (asked,) = site.pending() - {"another-name", "not-of-the-node"}
    assert asked not in before
    assert site.missing(joining) == f"node {HOST} has not reported since it slept"
    assert site.pending() == {asked, "another-name", "not-of-the-node"}
    assert any(f"{asked} of " in line and f"node {HOST} has joined already" in line for line in site.warnings)

    joining = site.joining(OWN)
    until("the node is awake", lambda: site.missing(joining) is None)
    client, serving = joining.approved[HOST]
    assert client.request == asked
    told = site.requests()
    assert told[client.request] == told[serving.request] == [APPROVED_HERE]
    assert site.pending() == {"another-name", "not-of-the-node"}
    for refused in ("another-name", "not-of-the-node"):
        assert any(line.startswith(f"{refused} of ") for line in site.warnings), site.warnings
    assert all(end > datetime.now(UTC) for end in site.lives())

    site.send(client_request(HOST, name="once-more"))
    joining = site.joining(OWN)
    until("it was seen alive", lambda: site.missing(joining) is None)
    assert site.pending() == {"another-name", "not-of-the-node", "once-more"}


def test_a_kubelet_whose_certificates_expired_joins_again(tmp_path: Path) -> None:
    def scenario() -> None:
        with slept(tmp_path) as site:
            check(site)

    in_own_network(scenario)
