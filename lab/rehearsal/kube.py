"""A real Kubernetes behind the VIP, with the operator's kubeconfig."""

import base64
import http.client
import ssl
import tempfile
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

from cluster.files import read_yaml
from lab.rehearsal.client import Client
from wires.api.resources import ETCD

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PREFIX = "rehearsal-"


@dataclass(frozen=True)
class Kube:
    """A `Store` in a real Kubernetes API."""

    client: Client

    def put(self, key: str) -> None:
        """See `Store`. A key that exists already was written, and its acknowledgement was lost."""
        try:
            self.client.call("POST", CONFIG_MAPS, {"metadata": {"name": f"{PREFIX}{key}"}})
        except http.client.HTTPException as error:
            if error.args[:1] != (HTTPStatus.CONFLICT,):
                raise

    def keys(self) -> set[str]:
        """See `Store`."""
        self.client.close()
        names = (config_map["metadata"]["name"] for config_map in self._list(CONFIG_MAPS, 20))
        return {name.removeprefix(PREFIX) for name in names if name.startswith(PREFIX)}

    def ready_since(self) -> dict[str, str]:
        """Return the time since which each Ready node has been so, by name."""
        conditions = {
            node["metadata"]["name"]: condition
            for node in self._list("/api/v1/nodes")
            for condition in node["status"].get("conditions", [])
            if condition["type"] == "Ready"
        }
        return {
            name: ready["lastTransitionTime"]
            for name, ready in sorted(conditions.items())
            if ready.get("status") == "True"
        }

    def nodes(self) -> list[str]:
        """Return the names of all nodes, Ready or not."""
        return sorted(node["metadata"]["name"] for node in self._list("/api/v1/nodes"))

    def cordoned(self) -> list[str]:
        """Return the names of the nodes that take no new pod."""
        nodes = self._list("/api/v1/nodes")
        return sorted(node["metadata"]["name"] for node in nodes if node["spec"].get("unschedulable"))

    def etcd_conditions(self) -> set[str]:
        """Return the conditions of the etcd operator that are True."""
        status = self.client.call("GET", ETCD, timeout_s=5).get("status", {})
        return {each["type"] for each in status.get("conditions", []) if each["status"] == "True"}

    def report_on_etcd(self, condition: str, status: str) -> None:
        """Change a condition of the etcd operator, in its place."""
        etcd = self.client.call("GET", ETCD)
        for each in etcd["status"]["conditions"]:
            if each["type"] == condition:
                each["status"] = status
        self.client.call("PUT", f"{ETCD}/status", etcd)

    def _list(self, path: str, timeout_s: float = 5) -> list[dict[str, Any]]:
        return list(self.client.call("GET", path, timeout_s=timeout_s)["items"])


@dataclass(frozen=True)
class Operator:
    """The access that a kubeconfig gives."""

    ca_pem: str
    """The CAs that sign the API's certificates."""
    tls: ssl.SSLContext
    """Trusts these CAs, and presents the client's certificate."""

    @classmethod
    def of(cls, kubeconfig: Path) -> "Operator":
        """Read the installer's kubeconfig."""
        config = read_yaml(kubeconfig)
        ca_pem = _text(config["clusters"][0]["cluster"]["certificate-authority-data"])
        user, tls = config["users"][0]["user"], ssl.create_default_context(cadata=ca_pem)
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as pair:
            pair.write(_text(user["client-certificate-data"]) + _text(user["client-key-data"]))
            pair.flush()
            tls.load_cert_chain(pair.name)
        return cls(ca_pem, tls)


def _text(data: str) -> str:
    return base64.b64decode(data).decode()
