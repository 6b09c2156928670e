"""Payloads like those of openshift-install on platform none, with real certificates, for tests to change."""

import json
import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from assets.ignition import Config, File, Resource, Unit
from base.yaml_text import yaml_of
from cluster.install_config import InstallConfig, read
from cluster.values.role import payload_files
from testing import plans

DOMAIN = "okd.lab.test"
MADE = datetime(2026, 11, 20, 14, 3, tzinfo=UTC)
NOW = MADE + timedelta(hours=2)
TEN_YEARS = timedelta(days=3650)
TLS = "/opt/openshift/tls"
MANIFEST = "/opt/openshift/manifests/cluster-infrastructure-02-config.yml"
CONFIG_MANIFEST = "/opt/openshift/manifests/cluster-config.yaml"
RELEASE_FILE = "/usr/local/bin/release-image-download.sh"
PULL_SECRET_FILE = "/root/.docker/config.json"

Files = dict[str, Any]
"""Parsed Ignition configs by name: `bootstrap`, `master`, `worker`; with an arbiter, `arbiter`."""


@cache
def _key(name: str) -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def certificate(name: str, begins: datetime = MADE, ends: datetime = MADE + TEN_YEARS) -> str:
    """Return the PEM of a self-signed certificate; one name has one key."""
    return _signed(name, name, (), begins, ends)


def issued(issuer: str, *hosts: str, made: datetime = MADE) -> str:
    """Return the PEM of a server's certificate, signed by the key of the certificate with the name `issuer`."""
    return _signed(hosts[0], issuer, hosts, made, made + timedelta(days=1))


@cache
def _signed(name: str, issuer: str, hosts: tuple[str, ...], begins: datetime, ends: datetime) -> str:
    with warnings.catch_warnings(action="ignore"):  # the installer's kubelet-client has a name that is too long
        names = [x509.NameAttribute(NameOID.COMMON_NAME, text, _validate=False) for text in (name, issuer)]
    subject, signer = (x509.Name([attribute]) for attribute in names)
    builder = x509.CertificateBuilder(
        signer, subject, _key(name).public_key(), x509.random_serial_number(), begins, ends
    )
    if hosts:
        served = x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts])
        builder = builder.add_extension(served, critical=False)
    return builder.sign(_key(issuer), hashes.SHA256()).public_bytes(Encoding.PEM).decode()


def root_ca() -> str:
    """Return the PEM of the CA of all three files."""
    return certificate("root-ca")


def manifest(platform: str = "None", domain: str = DOMAIN) -> str:
    """Return the Infrastructure manifest of a cluster."""
    urls = f"apiServerInternalURI: https://api-int.{domain}:6443\n  apiServerURL: https://api.{domain}:6443"
    return f"kind: Infrastructure\nstatus:\n  {urls}\n  platform: x\n  platformStatus:\n    type: {platform}\n"


def config_of(change: Callable[[dict[str, Any]], object] = lambda config: None) -> InstallConfig:
    """Return the rehearsal's install-config, with all defaults, after a valid change."""
    config = plans.install_config()
    change(config)
    reading = read(plans.written(config))
    assert not reading.faults
    return reading.config


def cluster_config(config: InstallConfig) -> str:
    """Return the ConfigMap `cluster-config-v1` of an install-config, with all defaults and without its pull secret.

    As openshift-install writes it (pkg/asset/manifests/operators_test.go, TestRedactedInstallConfig): an empty
    `platform` in each pool, an empty `pullSecret`, compute of the control plane's architecture.
    """
    left_out = {"api_version", "kind", "platform", "pull_secret"}
    written = config.model_dump(mode="json", by_alias=True, exclude=left_out, exclude_defaults=True)
    for pool in (written["controlPlane"], *written["compute"]):
        pool.update(platform={}, architecture=config.control_plane.architecture)
    if config.arbiter:
        written["arbiter"].update(platform={}, architecture=config.arbiter.architecture)
    written["metadata"]["creationTimestamp"] = None
    written |= {"apiVersion": "v1", "platform": {"none": {}}, "pullSecret": ""}
    metadata = {"name": "cluster-config-v1", "namespace": "kube-system"}
    data = {"install-config": yaml_of(written)}
    return yaml_of({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


def origin(config: InstallConfig, release: str = "") -> dict[str, str]:
    """Return the files of bootstrap.ign that tell what it was made from; see `good`."""
    release = release or plans.options()["images"]["release"]
    return {
        CONFIG_MANIFEST: cluster_config(config),
        RELEASE_FILE: f"#!/usr/bin/env bash\nRELEASE_IMAGE={release}\n",
        PULL_SECRET_FILE: config.pull_secret.get_secret_value(),
    }


def machine_config(*paths: str, unit: str = "site.service") -> str:
    """Return a MachineConfig that writes these files and a unit."""
    storage = {"files": [{"path": path, "contents": {"source": "data:,"}} for path in paths]}
    config = {"ignition": {"version": "3.2.0"}, "storage": storage, "systemd": {"units": [{"name": unit}]}}
    return yaml.safe_dump({"kind": "MachineConfig", "spec": {"config": config}})


def pointer(source: str, authority: str) -> str:
    """Return a config that merges `source`, with the CA of that config server."""
    return Config(merge=(Resource(source),), certificate_authorities=(Resource.inline(authority),)).to_json()


def good(made: datetime = MADE, config: InstallConfig | None = None, *, release: str = "", beside: str = "") -> Files:
    """Return a payload without faults, parsed.

    Args:
        made: When openshift-install ran.
        config: The install-config that it is made from. None: the rehearsal's.
        release: The release image. Empty: that of the rehearsal's stack.
        beside: The PEM of another CA that all three files trust.
    """
    config = config or config_of()
    domain = f"{config.metadata.name}.{config.base_domain}"
    root, lb = (certificate(name, made, made + TEN_YEARS) for name in ("root-ca", "kube-apiserver-lb-signer"))
    root += beside
    day = certificate("aggregator-signer", made, made + timedelta(days=1))
    files = {
        f"{TLS}/root-ca.crt": root,
        f"{TLS}/aggregator-signer.crt": day,
        f"{TLS}/kubelet-client.crt": certificate("c" * 73, made, made + TEN_YEARS),
        f"{TLS}/kube-apiserver-complete-client-ca-bundle.crt": root
        + certificate("admin", made, made + TEN_YEARS)
        + day,
        f"{TLS}/root-ca.key": "a key",
        "/etc/pki/ca-trust/source/anchors/ca.crt": "",
        f"{TLS}/no-bundle.crt": "",
        MANIFEST: manifest(domain=domain),
        **origin(config, release),
        "/opt/openshift/openshift/99-site.yaml": machine_config("/etc/chrony.conf"),
        f"{TLS}/machine-config-server.crt": issued("root-ca", f"api-int.{domain}", made=made),
        f"{TLS}/kube-apiserver-lb-signer.crt": lb,
        f"{TLS}/kube-apiserver-lb-server.crt": issued("kube-apiserver-lb-signer", f"api.{domain}", made=made),
        f"{TLS}/kube-apiserver-internal-lb-server.crt": issued(
            "kube-apiserver-lb-signer", f"api-int.{domain}", made=made
        ),
    }
    stored = tuple(File(path, Resource.inline(text)) for path, text in files.items())
    bootstrap = Config(stored, (Unit("bootkube.service", "[Unit]\n"),)).to_json()
    url = f"https://api-int.{domain}:22623/config"
    _, *pools = payload_files(has_arbiter=config.arbiter is not None)
    pointers = {pool: pointer(f"{url}/{pool}", root) for pool in pools}
    return {name: json.loads(text) for name, text in {"bootstrap": bootstrap, **pointers}.items()}


def payload(change: Callable[[Files], object] = lambda files: None) -> dict[str, bytes]:
    """Return the files of the good payload after a change."""
    files = good()
    change(files)
    return written(files)


def written(files: Files) -> dict[str, bytes]:
    """Return the files as openshift-install writes them."""
    return {name: file if isinstance(file, bytes) else json.dumps(file).encode() for name, file in files.items()}


def without(files: Files, path: str) -> None:
    """Remove a file from bootstrap.ign."""
    storage = files["bootstrap"]["storage"]
    storage["files"] = [file for file in storage["files"] if file["path"] != path]


def put(files: Files, path: str, content: str) -> None:
    """Put a file last into bootstrap.ign, in place of one with the same path."""
    without(files, path)
    file = {"path": path, "contents": {"source": Resource.inline(content).source}}
    files["bootstrap"]["storage"]["files"].append(file)
