"""The kubeconfig that openshift-install writes beside the Ignition configs, where the site has put it."""

import ssl
from dataclasses import dataclass

import yaml
from pydantic import Base64Bytes, BaseModel, Field, ValidationError

from assets.memory import in_memory, path_of
from assets.payload import PayloadError, payload_ca, payload_folder
from providers.probe.kubernetes import KubeApi


class _Cluster(BaseModel):
    ca: Base64Bytes = Field(alias="certificate-authority-data")


class _User(BaseModel):
    certificate: Base64Bytes = Field(alias="client-certificate-data")
    key: Base64Bytes = Field(alias="client-key-data")


class _NamedCluster(BaseModel):
    cluster: _Cluster


class _NamedUser(BaseModel):
    user: _User


class _Config(BaseModel):
    """One cluster and one user, as the installer writes them."""

    clusters: tuple[_NamedCluster]
    users: tuple[_NamedUser]


@dataclass(frozen=True)
class Kubeconfig:
    """Its key is in `tls` alone."""

    ca_pem: str
    """Those that sign the API's certificates."""
    tls: ssl.SSLContext

    def api(self, domain: str) -> KubeApi:
        """The API of the cluster of this domain."""
        return KubeApi(f"api.{domain}", self.tls)


def read_kubeconfig(stack: str) -> Kubeconfig | None:
    """`stacks/<stack>/payload/auth/kubeconfig`; None: it is not there.

    Raises:
        PayloadError: It is there, and of no use.
    """
    path = payload_folder(stack) / "auth" / "kubeconfig"
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PayloadError(f"{path}: cannot be read ({error.strerror})", "make it readable, or remove it") from None
    try:
        config = _Config.model_validate(yaml.safe_load(content))
        user, ca_pem = config.users[0].user, config.clusters[0].cluster.ca.decode()
        return Kubeconfig(ca_pem, _context(ca_pem, user.certificate + b"\n" + user.key))
    except (yaml.YAMLError, ValidationError, ValueError, ssl.SSLError):  # their texts have the key
        what = f"{path}: not one cluster's CA with one user's client certificate and key"
        raise PayloadError(what, "take the file that openshift-install wrote, or remove it") from None


def api_ca(payload: bytes, kubeconfig: Kubeconfig | None) -> str:
    """PEM of who signs the API's certificates: the CA of the payload, and those of the kubeconfig.

    OKD's own signs the config server alone.
    """
    return payload_ca(payload) + (kubeconfig.ca_pem if kubeconfig else "")


def _context(ca_pem: str, client_pem: bytes) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=ca_pem)
    with in_memory(client_pem) as file:  # Python's ssl reads a key from a file alone
        context.load_cert_chain(path_of(file))
    return context
