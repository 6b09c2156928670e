"""Kubeconfigs like those of openshift-install, with real certificates, for tests to change."""

import base64
from pathlib import Path
from typing import Any

import yaml

from testing.certificates import Authority, authority


def kubeconfig(client_ca: Authority, domain: str = "okd.lab.test") -> dict[str, Any]:
    """Return one with a client certificate signed by this CA, for an API whose certificate `test-ca` signed."""
    name = domain.partition(".")[0]
    client = client_ca.issue(["system:admin"])
    user = {"client-certificate-data": _data(client.certificate), "client-key-data": _data(client.key)}
    cluster = {
        "certificate-authority-data": _data(authority("test-ca").pem),
        "server": f"https://api.{domain}:6443",
    }
    return {
        "clusters": [{"name": name, "cluster": cluster}],
        "contexts": [{"name": "admin", "context": {"cluster": name, "user": "admin"}}],
        "current-context": "admin",
        "users": [{"name": "admin", "user": user}],
    }


def write_kubeconfig(payload: Path, content: dict[str, Any] | None = None) -> Path:
    """Write a kubeconfig beside a payload's files."""
    path = payload / "auth" / "kubeconfig"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(content or kubeconfig(authority("test-ca"))))
    return path


def _data(pem: str) -> str:
    return base64.b64encode(pem.encode()).decode()
