"""The kubeconfig that openshift-install writes beside the Ignition configs, if the operator has put it there."""

from base64 import b64encode
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import Base64Bytes, Field

from base.errors import ConfigError, PayloadError
from base.files import read_file, write_private
from base.spec import Model
from base.yaml_text import parse_yaml
from payload.pem import Certificates, certificates_in_text, certificates_of, check_pair, system_authorities
from payload.reading import TAKE, payload_ca, payload_folder, stored_file

INSIDE = "/opt/openshift/auth/kubeconfig"
"""Path of the bootstrap VM's own kubeconfig in bootstrap.ign. It names another server, but the same CAs."""

PUT_THERE = (
    "put the cluster's there, which `pulumi stack output kubeconfig --show-secrets` prints if the state has it"
)
"""For a cluster that runs, but cannot be asked by a file that is missing."""


class _ApiServer(Model):
    server: str
    ca: Base64Bytes = Field(b"", alias="certificate-authority-data")
    ca_file: str = Field("", alias="certificate-authority")
    unverified: bool = Field(False, alias="insecure-skip-tls-verify")


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
    """A file with one cluster and one user, as the installer writes it."""

    users: tuple[_NamedUser]


@dataclass(frozen=True)
class Kubeconfig:
    """The CAs of the cluster's API, and the certificate of its client."""

    host: str
    """Host name of the API."""
    ca_pem: str
    """PEM of the CAs that sign the API's certificates: those in the file, or else those that this machine trusts."""
    client_pem: bytes = field(repr=False)
    """The client's certificate and its key; secret."""
    has_own_ca: bool = True
    """Whether the CAs are in the file."""


def kubeconfig_path(stack: str) -> Path:
    """Return the path of a stack's kubeconfig, relative to the project. The file may be missing."""
    return payload_folder(stack) / "auth" / "kubeconfig"


def read_kubeconfig(stack: str) -> Kubeconfig | None:
    """Read `stacks/<stack>/payload/auth/kubeconfig`. None: it is missing.

    Raises:
        PayloadError: The file cannot be read, or is not a kubeconfig of the installer. Its CA may have been replaced
            or taken out, as a certificate of the API's own needs it.
    """
    path, content = kubeconfig_path(stack), kubeconfig_text(stack)
    if content is None:
        return None
    try:
        config = _KubeconfigFile.model_validate(parse_yaml(content))
        user, cluster = config.users[0].user, config.clusters[0].cluster
        check_pair(user.certificate, user.key)
        host = urlsplit(cluster.server).hostname or ""
    except (ConfigError, ValueError, TypeError):  # their texts may quote the key
        what = "not one cluster with one user's client certificate and key"
        raise PayloadError(what, where=str(path), fix=f"{TAKE}, or remove it") from None
    return Kubeconfig(host, _authorities(path, cluster), user.certificate + b"\n" + user.key, bool(cluster.ca))


def _authorities(path: Path, cluster: _ApiServer) -> str:
    if cluster.ca:
        try:
            certificates_of(cluster.ca)
        except ValueError:
            what, fix = "its `certificate-authority-data` is not PEM", "put the base64 of PEM certificates into it"
            raise PayloadError(what, where=str(path), fix=fix) from None
        return certificates_in_text(cluster.ca)
    if cluster.unverified or cluster.ca_file:
        key = "insecure-skip-tls-verify" if cluster.unverified else "certificate-authority"
        what = f"it has `{key}`, but this program verifies the API, by CAs in the file or by those of this machine"
        fix = "put the PEM of the API's CA, in base64, into `certificate-authority-data` instead"
        raise PayloadError(what, where=str(path), fix=fix)
    if authorities := system_authorities():
        return authorities
    what, fix = "it has no `certificate-authority-data`, and this machine trusts no CA", "install ca-certificates"
    raise PayloadError(what, where=str(path), fix=fix)


def kubeconfig_text(stack: str) -> str | None:
    """Return the content of a stack's kubeconfig, which is secret. None: it is missing.

    Raises:
        PayloadError: The file cannot be read.
    """
    path = kubeconfig_path(stack)
    try:
        return read_file(path).decode(errors="replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        what = f"cannot be read ({error.strerror})"
        raise PayloadError(what, where=str(path), fix="make it readable, or remove it") from None


def add_authority(stack: str, pem: str) -> bool:
    """Have a stack's kubeconfig trust more CAs, as openshift-install has it trust the routers' when OKD is complete.

    A kubeconfig without CAs, by which a client trusts those of its machine, stays as it is.

    Args:
        stack: The stack.
        pem: Certificates; those that the file has already are not added again.

    Returns:
        Whether the file has them now, or needs none.
    """
    path = kubeconfig_path(stack)
    try:
        content = read_file(path)
        cluster = _Clusters.model_validate(parse_yaml(content)).clusters[0].cluster
        if not cluster.ca or {*certificates_of(pem.encode())} <= {*certificates_of(cluster.ca)}:
            return True
        before, after = b64encode(cluster.ca), b64encode(pem.encode().rstrip() + b"\n" + cluster.ca)
        if before in content:
            write_private(path, content.replace(before, after))
        return before in content
    except (OSError, ConfigError, ValueError):
        return False


def needed(stack: str, kubeconfig: Kubeconfig | None, option: str, *, removable: bool = True) -> Kubeconfig:
    """Return the result of `read_kubeconfig` where an option has OKD asked, which may be `removable`.

    Raises:
        PayloadError: It is missing.
    """
    if kubeconfig is None:
        what, fix = (
            f"missing, but `{option}` asks OKD with it",
            f"{TAKE}, or remove that option" if removable else TAKE,
        )
        raise PayloadError(what, where=str(kubeconfig_path(stack)), fix=fix)
    return kubeconfig


def check_kubeconfig(stack: str, bootstrap: bytes | None, domain: str, kubeconfig: Kubeconfig | None) -> None:
    """Check that the kubeconfig verifies the API of a stack's payload, or that the payload needs none.

    Args:
        stack: The stack of the payload.
        bootstrap: The payload's bootstrap.ign. None: the phase does not read it.
        domain: The cluster's domain.
        kubeconfig: The result of `read_kubeconfig`.

    Raises:
        PayloadError: The kubeconfig is missing, or of another cluster or run; or bootstrap.ign cannot be read.
    """
    where, fix = str(kubeconfig_path(stack)), "put auth/kubeconfig of the same run of openshift-install there"
    inside = stored_file(bootstrap, INSIDE) if bootstrap else None
    if kubeconfig is None:
        if inside is None:
            return
        what = "missing, but only this file has the CAs of this payload's API"
        raise PayloadError(what, where=where, fix=fix)
    if kubeconfig.host != (wanted := f"api.{domain}"):
        what = f"of another cluster: it names {kubeconfig.host or 'no host'}, the plan names {wanted}"
        raise PayloadError(what, where=where, fix=fix)
    if inside is not None and not kubeconfig.has_own_ca:
        what = "it has no `certificate-authority-data`, but the bootstrap's API has no certificate of yours"
        raise PayloadError(what, where=where, fix=fix)
    if inside is not None and {*certificates_of(kubeconfig.ca_pem.encode())}.isdisjoint(_authorities_of(inside)):
        what = "of another run than bootstrap.ign: they have no CA in common"
        raise PayloadError(what, where=where, fix=fix)


def api_ca(pointer: bytes, kubeconfig: Kubeconfig | None) -> str:
    """Return the PEM of the CAs that sign the API's certificates: the payload's CA, and those of the kubeconfig.

    With OKD, the payload's CA signs only the config server's certificate.
    """
    return payload_ca(pointer) + (kubeconfig.ca_pem if kubeconfig else "")


def _authorities_of(inside: bytes) -> Certificates:
    try:
        return certificates_of(_Clusters.model_validate(parse_yaml(inside)).clusters[0].cluster.ca)
    except (ConfigError, ValueError):  # their texts may quote the key
        what = f"{INSIDE} in it is not a kubeconfig"
        raise PayloadError(what, where="bootstrap.ign", fix=TAKE) from None
