"""Checks of bootstrap.ign: its platform and certificates, no second owner of servers, no file of this program."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from base.errors import ConfigError, PayloadError
from base.spec import Model
from base.yaml_text import parse_yaml, parse_yaml_documents
from cluster.values.address import parse_address
from cluster.values.platform import ClusterPlatform
from payload.of_servers import KINDS, QUADLETS, UNITS, unit_of
from payload.origin_checks import CONFIG_MANIFEST
from payload.pem import Certificates, is_issued_by, names_of
from payload.reading import (
    TAKE,
    IgnitionFile,
    again,
    certificates_in,
    data_of,
    first_reason,
    generate_it,
    host_of,
    other_cluster,
)

PLATFORM_MANIFEST = "/opt/openshift/manifests/cluster-infrastructure-02-config.yml"
MANIFESTS = tuple(
    f"/opt/openshift/{folder}/*.{kind}" for folder in ("manifests", "openshift") for kind in ("yaml", "yml", "json")
)
"""The manifests that the bootstrap applies (openshift/cluster-bootstrap, pkg/start/create.go)."""
TLS = "/opt/openshift/tls"
ROOT_CA = f"{TLS}/root-ca.crt"
LB_SIGNER = f"{TLS}/kube-apiserver-lb-signer.crt"
CORRECT = "correct that manifest, and generate the payload again"
OWNERS = ("ironic", "metal3", "image-customization")
"""The beginnings of the names of units that own servers."""


class _BareMetalStatus(Model):
    api: tuple[str, ...] = Field((), alias="apiServerInternalIPs")
    ingress: tuple[str, ...] = Field((), alias="ingressIPs")


class _PlatformStatus(Model):
    type: str
    baremetal: _BareMetalStatus | None = None


class InfrastructureStatus(Model):
    """The platform of the payload's cluster, and the URLs of its API."""

    platform: _PlatformStatus = Field(alias="platformStatus")
    internal_url: str = Field(alias="apiServerInternalURI")
    url: str = Field(alias="apiServerURL")


class _Infrastructure(Model):
    status: InfrastructureStatus


def check_target(where: Path, config: IgnitionFile) -> None:
    """Check that the file is that of `create ignition-configs`.

    Raises:
        PayloadError: It is that of a single node, which would install itself onto its own disk.
    """
    if any(unit.name == "install-to-disk.service" for unit in config.systemd.units):
        what = "made by `openshift-install create single-node-ignition-config`"
        raise PayloadError(what, where=str(where), fix="generate it with `openshift-install create ignition-configs`")


def read_status(where: Path, config: IgnitionFile) -> InfrastructureStatus:
    """Return the status in the payload's infrastructure manifest.

    Raises:
        PayloadError: The manifest is missing, or cannot be read.
    """
    text = data_of(where, PLATFORM_MANIFEST, config.contents(PLATFORM_MANIFEST).get(PLATFORM_MANIFEST))
    try:
        return _Infrastructure.model_validate(parse_yaml(text)).status
    except ValidationError as error:
        why = first_reason(error)
    except ConfigError as error:
        why = error.fault.what
    what = f"{PLATFORM_MANIFEST} in it is not an infrastructure manifest ({why})"
    raise PayloadError(what, where=str(where), fix=TAKE)


def check_platform(
    where: Path, config: IgnitionFile, status: InfrastructureStatus, domain: str, platform: ClusterPlatform
) -> None:
    """Check for the stack's platform, no second owner of the servers, and this cluster's names.

    Raises:
        PayloadError: The first fault only: all have one cause.
    """
    if status.platform.type != platform.in_status:
        what = f"generated for platform {status.platform.type}, not for {platform.in_status}"
        raise PayloadError(what, where=str(where), fix=generate_it(where))
    is_masked = platform is ClusterPlatform.BAREMETAL
    if owners := [found for found, unit in _units(config, is_strict=is_masked) if not (is_masked and unit in UNITS)]:
        what = f"brings {', '.join(owners)}, a second owner of the servers"
        fix = "name `platform: none`, or use an okd-baremetal that knows this release" if is_masked else ""
        raise PayloadError(what, where=str(where), fix=fix or generate_it(where))
    for url, wanted in ((status.internal_url, f"api-int.{domain}"), (status.url, f"api.{domain}")):
        if host_of(url) != wanted:
            raise other_cluster(where, host_of(url), wanted)


def _units(config: IgnitionFile, *, is_strict: bool) -> Iterator[tuple[str, str]]:
    """Yield what brings a unit that may own servers, and the unit; with `is_strict`, every quadlet does."""
    for quadlet in config.contents(QUADLETS):
        if is_strict or unit_of(quadlet).startswith(OWNERS):
            yield quadlet, unit_of(quadlet)
    yield from ((unit.name, unit.name) for unit in config.systemd.units if unit.name.startswith(OWNERS))


def check_vips(where: Path, status: InfrastructureStatus, api: Sequence[str], ingress: Sequence[str]) -> None:
    """Check that a payload of platform baremetal has this cluster's VIPs, which its nodes will claim.

    Raises:
        PayloadError: It has others.
    """
    if (found := status.platform.baremetal) is None or not api:  # the payload of another platform is one fault
        return
    for name, actual, wanted in (("apiVIPs", found.api, api), ("ingressVIPs", found.ingress, ingress)):
        if [*map(parse_address, actual)] != [*map(parse_address, wanted)]:
            what = f"made for {name} {', '.join(actual) or 'none'}, not for {', '.join(wanted)}"
            raise PayloadError(what, where=str(where), fix=generate_it(where))


def check_objects(where: Path, config: IgnitionFile, platform: ClusterPlatform) -> None:
    """Check that a payload of platform baremetal has no object by which the cluster would own a server.

    Raises:
        PayloadError: It has one.
    """
    if platform is ClusterPlatform.NONE:
        return  # the cluster has no Machine there, and a site may add what it manages itself
    found = [f"{document['kind']} (in {manifest})" for manifest, document in _objects(where, config, KINDS)]
    if found:
        what = f"brings {', '.join(found)}, by which the cluster would own servers"
        raise PayloadError(what, where=str(where), fix=generate_it(where))


def check_paths(where: Path, config: IgnitionFile, own_paths: Collection[str]) -> None:
    """Check that no file or unit of the payload, or of a MachineConfig in it, has the path of a file of this program.

    On the bootstrap, this program's file would replace it. On a node, the machine-config daemon would find a file
    that it did not write, and degrade the node.

    Raises:
        PayloadError: It has.
    """
    writers = {
        **dict.fromkeys(config.paths, ""),
        **{path: f" (in {manifest})" for manifest, path in _machine_config_paths(where, config)},
    }
    if both := [f"{path}{writers[path]}" for path in sorted(writers) if path in own_paths]:
        what = f"writes what this program writes: {', '.join(both)}"
        fix = "remove it from the manifests of the site, and generate the payload again"
        raise PayloadError(what, where=str(where), fix=fix)


def read_certificates(where: Path, config: IgnitionFile) -> dict[str, Certificates]:
    """Return the certificates of each file that has some, by path.

    Raises:
        PayloadError: A file cannot be read, or there is no root CA.
    """
    pems = {path: data_of(where, path, content) for path, content in config.contents(f"{TLS}/*.crt").items()}
    # Skip empty files, which the installer writes if there is no trust bundle.
    certificates = {path: certificates_in(where, path, pem) for path, pem in pems.items() if pem.strip()}
    if ROOT_CA not in certificates:
        raise PayloadError(f"no {ROOT_CA} in it", where=str(where), fix=TAKE)
    return certificates


def check_validity(where: Path, certificates: Mapping[str, Certificates], now: datetime) -> Certificates:
    """Check that all certificates are valid now, and return the root CA.

    Raises:
        PayloadError: One has expired, or is not valid yet.
    """
    path, ends = min(_times(certificates, lambda certificate: certificate.not_valid_after_utc), key=itemgetter(1))
    if ends < now:
        what = (
            f"useless since {ends:%Y-%m-%d %H:%M} UTC, when the first of its certificates expired ({path}); the time "
            f"here is {now:%Y-%m-%d %H:%M}"
        )
        fix = (
            "if that is wrong, correct the clock of this host; if not, generate the payload again, if no node of "
            f"this one runs: {again(where)}; else keep it, and set phase production, which does not read it"
        )
        raise PayloadError(what, where=str(where), fix=fix)
    path, begins = max(_times(certificates, lambda certificate: certificate.not_valid_before_utc), key=itemgetter(1))
    if begins > now:
        what = f"not valid before {begins:%Y-%m-%d %H:%M} UTC ({path}), but the time here is {now:%Y-%m-%d %H:%M}"
        fix = "correct the clock of this host, or generate the payload again on a host with a correct clock"
        raise PayloadError(what, where=str(where), fix=fix)
    return certificates[ROOT_CA]


def check_issuers(
    where: Path, certificates: Mapping[str, Certificates], status: InfrastructureStatus, pointer: str
) -> None:
    """Check that the API's and the config server's certificates are of the CAs that their clients trust.

    Args:
        where: The file.
        certificates: Those in it, by path.
        status: The names of the API.
        pointer: The address by which machines ask the config server. Empty: they ask by the internal name of the API.

    Raises:
        PayloadError: One is of another CA, or for other names.
    """
    for name, signer, host in (
        ("machine-config-server", ROOT_CA, pointer or host_of(status.internal_url)),
        ("kube-apiserver-lb-server", LB_SIGNER, host_of(status.url)),
        ("kube-apiserver-internal-lb-server", LB_SIGNER, host_of(status.internal_url)),
    ):
        path = f"{TLS}/{name}.crt"
        if path not in certificates or signer not in certificates:
            continue
        server = certificates[path][0]
        if not any(is_issued_by(server, authority) for authority in certificates[signer]):
            raise PayloadError(f"{path} in it is not signed by {signer}", where=str(where), fix=TAKE)
        if host not in (names := names_of(server)):
            what = f"{path} in it is for {', '.join(names) or 'no name'}, not for {host}"
            raise PayloadError(what, where=str(where), fix=TAKE)


def _machine_config_paths(where: Path, config: IgnitionFile) -> Iterator[tuple[str, str]]:
    for manifest, document in _objects(where, config, {"MachineConfig"}):
        yield from ((manifest, path) for path in _paths_in(where, manifest, document))


def _objects(where: Path, config: IgnitionFile, kinds: Collection[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the objects of some kinds in the payload's manifests, with the path of their manifest."""
    for pattern in MANIFESTS:
        for manifest, content in config.contents(pattern).items():
            if manifest in (PLATFORM_MANIFEST, CONFIG_MANIFEST):
                continue  # other checks read them
            for document in _documents(where, manifest, data_of(where, manifest, content)):
                for each in _flat(document):
                    if each.get("kind") in kinds:
                        yield manifest, each


def _flat(document: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the objects in a document: that of a list, each by itself."""
    if isinstance(document, dict) and isinstance(document.get("items"), list):
        for item in document["items"]:
            yield from _flat(item)
    elif isinstance(document, dict):
        yield document


def _documents(where: Path, manifest: str, content: bytes) -> list[Any]:
    try:
        return [json.loads(content)] if manifest.endswith(".json") else parse_yaml_documents(content)
    except (ConfigError, ValueError, RecursionError) as error:
        what = f"{manifest} in it is {error.fault.what if isinstance(error, ConfigError) else 'not valid JSON'}"
        raise PayloadError(what, where=str(where), fix=CORRECT) from None


def _paths_in(where: Path, manifest: str, machine_config: Mapping[str, Any]) -> list[str]:
    """Return the paths that a MachineConfig writes: none if it sets only, for example, kernel arguments."""
    try:
        ignition = (machine_config.get("spec") or {}).get("config")
        return IgnitionFile.model_validate(ignition).paths if ignition else []
    except (ValidationError, AttributeError):
        what = f"{manifest} in it is not a MachineConfig of Ignition spec 3"
        raise PayloadError(what, where=str(where), fix=CORRECT) from None


def _times(by_path: Mapping[str, Certificates], time_of: Callable[[Any], datetime]) -> list[tuple[str, datetime]]:
    return [(path, time_of(certificate)) for path, certificates in by_path.items() for certificate in certificates]
