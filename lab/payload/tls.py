"""Certificates, keys and kubeconfigs of a payload with a real Kubernetes, as openshift-install 4.21 makes them."""

import base64
from dataclasses import dataclass
from ipaddress import IPv4Address

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from base.yaml_text import yaml_of
from cluster.values.address import Network
from testing.certificates import Authority, Pair

TLS = "/opt/openshift/tls"
CONTROLLERS = "kube-control-plane-kube-controller-manager-client"
_CLIENT_CAS, SERVER_CAS = (f"kube-apiserver-complete-{kind}-ca-bundle.crt" for kind in ("client", "server"))
_ADMIN = ("system:admin", "system:masters")
_BOOTSTRAPPERS = "system:serviceaccounts:openshift-machine-config-operator"
_NODE_BOOTSTRAPPER = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"


@dataclass(frozen=True)
class ClusterTls:
    """The CAs that API servers, clients and kubelets of one cluster trust, and their own certificates."""

    files: dict[str, str]
    """PEM by file name, for the folder `TLS` of bootstrap and control plane."""
    kubeconfig: str
    """The operator's."""
    internal_kubeconfig: str
    """The same user's on the bootstrap, where the API has its internal name."""
    bootstrap_kubeconfig: str
    """The kubelets' until they have certificates of their own."""

    @property
    def client_cas(self) -> str:
        """PEM of the CAs of all clients of API and kubelets."""
        return self.files[_CLIENT_CAS]


def make_tls(domain: str, services: Network) -> ClusterTls:
    """Create CAs and the certificates that they sign. Only the key of the CA `kubelet-signer` is returned."""
    local, service, balanced = servers = [
        Authority.create(f"kube-apiserver-{name}-signer") for name in ("localhost", "service-network", "lb")
    ]
    admin, to_kubelet, controllers, bootstrapper, kubelets = clients = [
        Authority.create(f"{name}-signer")
        for name in (
            *("admin-kubeconfig", "kube-apiserver-to-kubelet", "kube-control-plane"),
            *("kubelet-bootstrap-kubeconfig", "kubelet"),
        )
    ]
    api, internal, of_services = f"api.{domain}", f"api-int.{domain}", ["kubernetes", "kubernetes.default.svc"]
    pairs = {
        "kube-apiserver-localhost-server": local.issue(["localhost"], [IPv4Address("127.0.0.1")]),
        "kube-apiserver-service-network-server": service.issue(of_services, [services[1]]),
        "kube-apiserver-lb-server": balanced.issue([api]),
        "kube-apiserver-internal-lb-server": balanced.issue([internal]),
        "kube-apiserver-to-kubelet-client": to_kubelet.issue_client("system:kube-apiserver", "kube-master"),
        CONTROLLERS: controllers.issue_client(*_ADMIN),
        "kubelet-signer": kubelets.pair,
        "service-account": _service_account(),
    }
    server_cas = "".join(ca.pem for ca in servers)
    operator = admin.issue_client(*_ADMIN)
    kubelet = bootstrapper.issue_client(_NODE_BOOTSTRAPPER, _BOOTSTRAPPERS, "system:serviceaccounts")
    return ClusterTls(
        {
            **{f"{name}.key": pair.key for name, pair in pairs.items()},
            **{f"{name}.{'pub' if name == 'service-account' else 'crt'}": pairs[name].certificate for name in pairs},
            "kube-apiserver-lb-signer.crt": balanced.pem,
            SERVER_CAS: server_cas,
            _CLIENT_CAS: "".join(ca.pem for ca in clients),
        },
        _kubeconfig(api, server_cas, operator),
        _kubeconfig(internal, server_cas, operator),
        _kubeconfig(internal, server_cas, kubelet),
    )


def loopback_kubeconfig() -> str:
    """Return the kubeconfig of the controllers, which use the API server on their machine."""
    return _kubeconfig_of(
        {"server": "https://localhost:6443", "certificate-authority": f"{TLS}/{SERVER_CAS}"},
        {"client-certificate": f"{TLS}/{CONTROLLERS}.crt", "client-key": f"{TLS}/{CONTROLLERS}.key"},
    )


def _kubeconfig(host: str, cas: str, client: Pair) -> str:
    return _kubeconfig_of(
        {"server": f"https://{host}:6443", "certificate-authority-data": _data(cas)},
        {"client-certificate-data": _data(client.certificate), "client-key-data": _data(client.key)},
    )


def _kubeconfig_of(cluster: dict[str, str], user: dict[str, str]) -> str:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "okd", "cluster": cluster}],
        "users": [{"name": "user", "user": user}],
        "contexts": [{"name": "user", "context": {"cluster": "okd", "user": "user"}}],
        "current-context": "user",
    }
    return yaml_of(config)


def _service_account() -> Pair:
    """Return the key pair by which tokens are signed; its public key is where a pair has its certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return Pair(
        public.decode(), key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()
    )


def _data(pem: str) -> str:
    return base64.b64encode(pem.encode()).decode()
