"""The kubeconfig that openshift-install writes beside the Ignition configs, where the site has put it."""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from pydantic import Base64Bytes, Field, ValidationError

from payload.pem import Certificates, certificates_of, check_pair
from payload.reading import TAKE, payload_ca, payload_folder, stored_file
from providers.base.errors import PayloadError
from providers.base.spec import Model

INSIDE = "/opt/openshift/auth/kubeconfig"
"""The bootstrap's own, in the bootstrap.ign of openshift-install: another server, the same CAs."""


class _ApiServer(Model):
    server: str
    ca: Base64Bytes = Field(alias="certificate-authority-data")


class _ClientPair(Model):
    certificate: Base64Bytes = Field(alias="client-certificate-data")
    key: Base64Bytes = Field(alias="client-key-data", repr=False)


class _NamedCluster(Model):
    cluster: _ApiServer


class _NamedUser(Model):
    user: _ClientPair


class _Clusters(Model):
    clusters: tuple[_NamedCluster]


class _KubeconfigFile(_Clusters):
    """One cluster and one user, as the installer writes them."""

    users: tuple[_NamedUser]


@dataclass(frozen=True)
class Kubeconfig:
    """Whom to trust at the cluster's API, and who asks."""

    host: str
    """Of its API."""
    ca_pem: str
    """Those that sign the API's certificates."""
    client_pem: bytes = field(repr=False)
    """The client's certificate and its key; secret."""


def kubeconfig_path(stack: str) -> Path:
    """Where it is, seen from the project, when it is there."""
    return payload_folder(stack) / "auth" / "kubeconfig"


def read_kubeconfig(stack: str) -> Kubeconfig | None:
    """`stacks/<stack>/payload/auth/kubeconfig`; None: it is missing.

    Raises:
        PayloadError: It is of no use.
    """
    path = kubeconfig_path(stack)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        what = f"cannot be read ({error.strerror})"
        raise PayloadError(what, where=str(path), fix="make it readable, or remove it") from None
    try:
        config = _KubeconfigFile.model_validate(yaml.safe_load(content))
        user, cluster = config.users[0].user, config.clusters[0].cluster
        check_pair(user.certificate, user.key)
        certificates_of(cluster.ca)
        host = urlsplit(cluster.server).hostname or ""
        return Kubeconfig(host, cluster.ca.decode(), user.certificate + b"\n" + user.key)
    except (yaml.YAMLError, ValidationError, ValueError, TypeError):  # their texts have the key
        what = "not one cluster's CA with one user's client certificate and key"
        raise PayloadError(what, where=str(path), fix=f"{TAKE}, or remove it") from None


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
    where, fix = str(kubeconfig_path(stack)), "put auth/kubeconfig of the same run of openshift-install there"
    inside = stored_file(bootstrap, INSIDE) if bootstrap else None
    if found is None:
        if inside is None:
            return
        what = "missing; this payload's API has CAs of its own, and is known by that file alone"
        raise PayloadError(what, where=where, fix=fix)
    if found.host != (wanted := f"api.{domain}"):
        what = f"of another cluster: it names {found.host or 'no host'}, the plan {wanted}"
        raise PayloadError(what, where=where, fix=fix)
    if inside is not None and {*certificates_of(found.ca_pem.encode())}.isdisjoint(_authorities_of(inside)):
        what = "of another run than bootstrap.ign: they have no CA in common"
        raise PayloadError(what, where=where, fix=fix)


def api_ca(pointer: bytes, kubeconfig: Kubeconfig | None) -> str:
    """PEM of who signs the API's certificates: the CA of the payload, and those of the kubeconfig.

    OKD's own signs the config server alone.
    """
    return payload_ca(pointer) + (kubeconfig.ca_pem if kubeconfig else "")


def _authorities_of(inside: bytes) -> Certificates:
    try:
        return certificates_of(_Clusters.model_validate(yaml.safe_load(inside)).clusters[0].cluster.ca)
    except (yaml.YAMLError, ValueError):  # their texts have the key
        what = f"{INSIDE} in it is not a kubeconfig"
        raise PayloadError(what, where="bootstrap.ign", fix=TAKE) from None
