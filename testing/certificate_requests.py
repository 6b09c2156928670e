"""Certificate requests as kubelets send them, for tests to change, and a Kubernetes API that has some."""

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from ipaddress import ip_address
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from wires.api.resources import ChangedError, R

CLIENT, SERVING = "kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving"
BOOTSTRAPPER = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"
ACCOUNTS = ("system:serviceaccounts", "system:serviceaccounts:openshift-machine-config-operator")
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
NODES = "/api/v1/nodes"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"

Attribute = tuple[x509.ObjectIdentifier, str]
Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@cache
def key() -> ec.EllipticCurvePrivateKey:
    """Return the key of all requests, of the kind that kubelets make."""
    return ec.generate_private_key(ec.SECP256R1())


@cache
def rsa_key() -> rsa.RSAPrivateKey:
    """Return a key of another kind."""
    return rsa.generate_private_key(65537, 2048)


def subject_of(host: str) -> list[Attribute]:
    """Return the subject that a kubelet asks for."""
    return [(NameOID.ORGANIZATION_NAME, "system:nodes"), (NameOID.COMMON_NAME, f"system:node:{host}")]


def pem(
    subject: Iterable[Attribute],
    names: Iterable[x509.GeneralName] = (),
    extensions: Iterable[x509.ExtensionType] = (),
    signed_with: Key | None = None,
) -> bytes:
    """Return a signed request in PEM."""
    built = x509.CertificateSigningRequestBuilder().subject_name(
        x509.Name([x509.NameAttribute(oid, value) for oid, value in subject])
    )
    if names := list(names):
        built = built.add_extension(x509.SubjectAlternativeName(names), critical=False)
    for extension in extensions:
        built = built.add_extension(extension, critical=False)
    return built.sign(signed_with or key(), hashes.SHA256()).public_bytes(Encoding.PEM)


def client_pem(host: str) -> bytes:
    """Return the content of a kubelet's first request."""
    return pem(subject_of(host))


def serving_pem(host: str, *addresses: str) -> bytes:
    """Return the content of a kubelet's second request."""
    return pem(
        subject_of(host), [x509.DNSName(host), *(x509.IPAddress(ip_address(address)) for address in addresses)]
    )


def client_request(
    host: str, *, content: bytes | None = None, name: str = "csr-client", **spec: Any
) -> dict[str, Any]:
    """Return a kubelet's first request, as the API shows it."""
    usages = ["digital signature", "client auth"]
    groups = [*ACCOUNTS, "system:authenticated"]
    return _request(name, content or client_pem(host), CLIENT, BOOTSTRAPPER, groups, usages, spec)


def serving_request(
    host: str, *addresses: str, content: bytes | None = None, name: str = "csr-serving", **spec: Any
) -> dict[str, Any]:
    """Return a kubelet's second request, as the API shows it."""
    usages = ["digital signature", "server auth"]
    groups = ["system:nodes", "system:authenticated"]
    text = content or serving_pem(host, *addresses)
    return _request(name, text, SERVING, f"system:node:{host}", groups, usages, spec)


def _request(  # noqa: PLR0917  (all are fields)
    name: str,
    content: bytes,
    signer: str,
    username: str,
    groups: list[str],
    usages: list[str],
    changes: Mapping[str, Any],
) -> dict[str, Any]:
    spec = {
        "request": base64.b64encode(content).decode(),
        "signerName": signer,
        "username": username,
        "groups": groups,
        "usages": usages,
        "uid": "of the requestor",
    }
    return {
        "metadata": {"name": name, "uid": f"uid-of-{name}", "resourceVersion": "7"},
        "spec": {**spec, **changes},
        "status": {},
    }


def node(name: str, *, ready: str = "True", message: str = "", uuid: str = "") -> dict[str, Any]:
    """Return a node with one condition; its kubelet reports the system UUID (core/v1, NodeSystemInfo)."""
    conditions = [{"type": "DiskPressure", "status": "False"}, {"type": "Ready", "status": ready, "message": message}]
    info = {"systemUUID": uuid}
    return {"metadata": {"name": name}, "status": {"conditions": conditions, "addresses": [], "nodeInfo": info}}


@dataclass
class FakeCluster:
    """Implements `wires.api.resources.KubernetesWriter` for requests and nodes."""

    requests: list[dict[str, Any]] = field(default_factory=list)
    nodes: list[dict[str, Any]] = field(default_factory=list)
    down: OSError | None = None
    """The error of every request to the API."""
    refuses: OSError | None = None
    """The error of every change."""
    reads: list[str] = field(default_factory=list)
    changes: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def get(self, _address: str, path: str, model: type[R]) -> R | None:
        """Return a list, or a node."""
        self.reads.append(path)
        if self.down:
            raise self.down
        if path.startswith(f"{NODES}/"):
            found = [each for each in self.nodes if path == f"{NODES}/{each['metadata']['name']}"]
            return model.model_validate(found[0]) if found else None
        return model.model_validate({"items": {REQUESTS: self.requests, NODES: self.nodes, LEASES: []}[path]})

    def patch(self, _address: str, path: str, change: dict[str, Any]) -> None:
        """Approve a request as the API does: only the one that was read."""
        if self.refuses:
            raise self.refuses
        self.changes.append((path, change))
        (request,) = (own for own in self.requests if path == f"{REQUESTS}/{own['metadata']['name']}/approval")
        read = {key: request["metadata"][key] for key in ("uid", "resourceVersion")}
        if change["metadata"] != read:
            raise ChangedError("status 409")
        request["status"] = change["status"]

    @property
    def approved(self) -> list[str]:
        """Names of the requests that were approved."""
        return [path.split("/")[-2] for path, _ in self.changes]
