"""The kubeconfig that openshift-install writes beside the Ignition configs, where the site has put it."""

import ssl
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from cryptography import x509
from pydantic import Base64Bytes, BaseModel, Field, ValidationError

from assets.memory import in_memory, path_of
from assets.payload import PayloadError, payload_ca, payload_folder, stored_file
from providers.probe.kubernetes import KubeApi

INSIDE = "/opt/openshift/auth/kubeconfig"
"""The bootstrap's own, in the bootstrap.ign of openshift-install: another server, the same CAs."""


class _Cluster(BaseModel):
    server: str
    ca: Base64Bytes = Field(alias="certificate-authority-data")


class _User(BaseModel):
    certificate: Base64Bytes = Field(alias="client-certificate-data")
    key: Base64Bytes = Field(alias="client-key-data")


class _NamedCluster(BaseModel):
    cluster: _Cluster


class _NamedUser(BaseModel):
    user: _User


class _Clusters(BaseModel):
    clusters: tuple[_NamedCluster]


class _Config(_Clusters):
    """One cluster and one user, as the installer writes them."""

    users: tuple[_NamedUser]


@dataclass(frozen=True)
class Kubeconfig:
    """Its key is in `tls` alone."""

    host: str
    """Of its API."""
    ca_pem: str
    """Those that sign the API's certificates."""
    tls: ssl.SSLContext

    def api(self, domain: str) -> KubeApi:
        """The API of the cluster of this domain."""
        return KubeApi(f"api.{domain}", self.tls)


def kubeconfig_path(stack: str) -> Path:
    """Where it is, seen from the project, when it is there."""
    return payload_folder(stack) / "auth" / "kubeconfig"


def read_kubeconfig(stack: str) -> Kubeconfig | None:
    """`stacks/<stack>/payload/auth/kubeconfig`; None: it is not there.

    Raises:
        PayloadError: It is there, and of no use.
    """
    path = kubeconfig_path(stack)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PayloadError(f"{path}: cannot be read ({error.strerror})", "make it readable, or remove it") from None
    try:
        config = _Config.model_validate(yaml.safe_load(content))
        user, cluster = config.users[0].user, config.clusters[0].cluster
        ca_pem = cluster.ca.decode()
        tls = _context(ca_pem, user.certificate + b"\n" + user.key)
        return Kubeconfig(urlsplit(cluster.server).hostname or "", ca_pem, tls)
    except (yaml.YAMLError, ValidationError, ValueError, ssl.SSLError):  # their texts have the key
        what = f"{path}: not one cluster's CA with one user's client certificate and key"
        raise PayloadError(what, "take the file that openshift-install wrote, or remove it") from None


def check_kubeconfig(stack: str, bootstrap: bytes | None, domain: str, found: Kubeconfig | None) -> None:
    """The API of a stack's payload can be known by its kubeconfig, or needs none.

    Args:
        stack: Whose payload it is.
        bootstrap: The payload's bootstrap.ign, where the phase reads it.
        domain: The cluster's.
        found: What `read_kubeconfig` found.

    Raises:
        PayloadError: It is missing, or of another cluster or run; or bootstrap.ign cannot be read.
    """
    path, mend = kubeconfig_path(stack), "put auth/kubeconfig of the same run of openshift-install there"
    inside = stored_file(bootstrap, INSIDE) if bootstrap else None
    if found is None:
        if inside is None:
            return
        what = f"{path}: not there; this payload's API has CAs of its own, and is known by that file alone"
        raise PayloadError(what, mend)
    if found.host != (wanted := f"api.{domain}"):
        raise PayloadError(f"{path}: of another cluster: it names {found.host or 'no host'}, the plan {wanted}", mend)
    if inside is not None and not _authorities(found.ca_pem.encode()) & _authorities_of(inside):
        raise PayloadError(f"{path}: of another run than bootstrap.ign: they have no CA in common", mend)


def api_ca(payload: bytes, kubeconfig: Kubeconfig | None) -> str:
    """PEM of who signs the API's certificates: the CA of the payload, and those of the kubeconfig.

    OKD's own signs the config server alone.
    """
    return payload_ca(payload) + (kubeconfig.ca_pem if kubeconfig else "")


def _authorities_of(inside: bytes) -> frozenset[x509.Certificate]:
    try:
        return _authorities(_Clusters.model_validate(yaml.safe_load(inside)).clusters[0].cluster.ca)
    except (yaml.YAMLError, ValueError):  # their texts have the key
        what = f"bootstrap.ign: {INSIDE} in it is no kubeconfig"
        raise PayloadError(what, "take the file that openshift-install wrote") from None


def _authorities(pem: bytes) -> frozenset[x509.Certificate]:
    return frozenset(x509.load_pem_x509_certificates(pem))


def _context(ca_pem: str, client_pem: bytes) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=ca_pem)
    with in_memory(client_pem) as file:  # Python's ssl reads a key from a file alone
        context.load_cert_chain(path_of(file))
    return context
