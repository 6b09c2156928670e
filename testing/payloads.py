"""Payloads like those of openshift-install on platform none, with real certificates, for tests to change."""

import json
import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from assets.ignition import Config, File, Resource, Unit

DOMAIN = "okd.lab.test"
MADE = datetime(2026, 11, 20, 14, 3, tzinfo=UTC)
NOW = MADE + timedelta(hours=2)
TLS = "/opt/openshift/tls"
MANIFEST = "/opt/openshift/manifests/cluster-infrastructure-02-config.yml"

Files = dict[str, Any]
"""Parsed Ignition configs by name: `bootstrap`, `master`, `worker`."""


@cache
def certificate(name: str, begins: datetime = MADE, ends: datetime = MADE + timedelta(days=3650)) -> str:
    """Return the PEM of a self-signed certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    with warnings.catch_warnings(action="ignore"):  # the name of the installer's kubelet-client is too long
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name, _validate=False)])
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number(), begins, ends)
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM).decode()


@cache
def root_ca() -> str:
    """Return the PEM of the CA of all three files."""
    return certificate("root-ca")


def manifest(platform: str = "None", domain: str = DOMAIN) -> str:
    """Return the Infrastructure manifest of a cluster."""
    urls = f"apiServerInternalURI: https://api-int.{domain}:6443\n  apiServerURL: https://api.{domain}:6443"
    return f"kind: Infrastructure\nstatus:\n  {urls}\n  platform: x\n  platformStatus:\n    type: {platform}\n"


def pointer(source: str, authority: str) -> str:
    """Return a config that merges `source`, with the CA of that config server."""
    return Config(merge=(Resource(source),), certificate_authorities=(Resource.inline(authority),)).to_json()


def good() -> Files:
    """Return a payload without faults, parsed."""
    day = certificate("aggregator-signer", MADE, MADE + timedelta(days=1))
    files = {
        f"{TLS}/root-ca.crt": root_ca(),
        f"{TLS}/aggregator-signer.crt": day,
        f"{TLS}/kubelet-client.crt": certificate("c" * 73),
        f"{TLS}/kube-apiserver-complete-client-ca-bundle.crt": root_ca() + certificate("admin") + day,
        f"{TLS}/root-ca.key": "a key",
        "/etc/pki/ca-trust/source/anchors/ca.crt": "",
        f"{TLS}/no-bundle.crt": "",
        MANIFEST: manifest(),
    }
    stored = tuple(File(path, Resource.inline(text)) for path, text in files.items())
    bootstrap = Config(stored, (Unit("bootkube.service", "[Unit]\n"),)).to_json()
    url = f"https://api-int.{DOMAIN}:22623/config"
    pointers = {role: pointer(f"{url}/{role}", root_ca()) for role in ("master", "worker")}
    return {name: json.loads(text) for name, text in {"bootstrap": bootstrap, **pointers}.items()}


def payload(change: Callable[[Files], object] = lambda files: None) -> dict[str, bytes]:
    """Return the files of the good payload after a change."""
    files = good()
    change(files)
    return {name: each if isinstance(each, bytes) else json.dumps(each).encode() for name, each in files.items()}


def without(files: Files, path: str) -> None:
    """Remove a file from bootstrap.ign."""
    storage = files["bootstrap"]["storage"]
    storage["files"] = [each for each in storage["files"] if each["path"] != path]


def put(files: Files, path: str, content: str) -> None:
    """Put a file last into bootstrap.ign, in place of one with the same path."""
    without(files, path)
    file = {"path": path, "contents": {"source": Resource.inline(content).source}}
    files["bootstrap"]["storage"]["files"].append(file)
