"""A Kubernetes API on loopback with nodes and certificate requests, for clients that have a certificate of its CA.

Like the real one, it records the sender of a request: the user of the headers `Impersonate-*`, else its client.
"""

import http.server
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Protocol

from testing.fakes.serving import serving

MERGE = "application/merge-patch+json"
APPROVAL = "/approval"

Answer = tuple[int, dict[str, Any]]


class Served(Protocol):
    """What is served."""

    def get(self, path: str) -> Answer:
        """Return one resource, or those of a collection."""
        ...

    def create(self, path: str, sent: dict[str, Any], user: str, groups: list[str]) -> Answer:
        """Create a resource."""
        ...

    def patch(self, path: str, change: dict[str, Any]) -> Answer:
        """Merge a change into a resource."""
        ...

    def delete(self, path: str) -> Answer:
        """Delete a resource."""
        ...


@dataclass
class Store:
    """The resources, by path."""

    resources: dict[str, dict[str, Any]] = field(default_factory=dict)
    _version: int = 1
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, path: str) -> Answer:
        """Return one resource, or those of a collection."""
        with self._lock:
            if resource := self.resources.get(path):
                return HTTPStatus.OK, resource
            listed = [resource for key, resource in self.resources.items() if key.rpartition("/")[0] == path]
        known = path.rpartition("/")[2] in {"nodes", "certificatesigningrequests"}
        return (HTTPStatus.OK, {"kind": "List", "items": listed}) if known else (HTTPStatus.NOT_FOUND, {})

    def create(self, path: str, sent: dict[str, Any], user: str, groups: list[str]) -> Answer:
        """Create a resource. A certificate request gets the user that sends it, whatever its own fields say."""
        with self._lock:
            own_path = f"{path}/{sent['metadata']['name']}"
            if own_path in self.resources:
                return HTTPStatus.CONFLICT, {}
            if path.endswith("certificatesigningrequests"):
                sender = {"username": user, "groups": [*groups, "system:authenticated"]}
                sent = {**sent, "spec": {**sent["spec"], **sender}, "status": {}}
            self._store(own_path, sent, f"uid-{self._version}")
            return HTTPStatus.CREATED, self.resources[own_path]

    def patch(self, path: str, change: dict[str, Any]) -> Answer:
        """Merge the conditions into a request, if its uid and version are those of the change."""
        own_path = path.removesuffix(APPROVAL)
        with self._lock:
            request = self.resources.get(own_path)
            if request is None or not path.endswith(APPROVAL):
                return HTTPStatus.NOT_FOUND, {}
            known, read = request["metadata"], {**request["metadata"], **change.get("metadata", {})}
            if read["uid"] != known["uid"]:
                return HTTPStatus.UNPROCESSABLE_ENTITY, {}
            if read["resourceVersion"] != known["resourceVersion"]:
                return HTTPStatus.CONFLICT, {}
            self._store(own_path, {**request, "status": {**request["status"], **change["status"]}}, known["uid"])
            return HTTPStatus.OK, self.resources[own_path]

    def delete(self, path: str) -> Answer:
        """Delete a resource."""
        with self._lock:
            return (HTTPStatus.OK, {}) if self.resources.pop(path, None) else (HTTPStatus.NOT_FOUND, {})

    def _store(self, path: str, content: dict[str, Any], uid: str) -> None:
        self._version += 1
        metadata = {**content["metadata"], "uid": uid, "resourceVersion": str(self._version)}
        self.resources[path] = {**content, "metadata": metadata}


class _Handler(http.server.BaseHTTPRequestHandler):
    store: Served

    def do_GET(self) -> None:
        self._answer(*self.store.get(self.path))

    def do_POST(self) -> None:
        user = self.headers.get("Impersonate-User", "system:admin")
        groups = self.headers.get_all("Impersonate-Group", ["system:masters"])
        self._answer(*self.store.create(self.path, self._sent(), user, groups))

    def do_PATCH(self) -> None:
        change = self._sent()
        if self.headers["Content-Type"] != MERGE:
            self._answer(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, {})
        else:
            self._answer(*self.store.patch(self.path, change))

    def do_DELETE(self) -> None:
        self._answer(*self.store.delete(self.path))

    def _sent(self) -> dict[str, Any]:
        return dict(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _answer(self, status: int, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        """Write no log."""


@contextmanager
def kube_api(
    certificate: str, client_ca: str, served: Served | None = None, at: tuple[str, int] = ("127.0.0.1", 0)
) -> Iterator[int]:
    """Serve; yield the port.

    Args:
        certificate: Path of the server's key and certificate.
        client_ca: PEM of the CA of its clients' certificates.
        served: What to serve; None: an empty store.
        at: Address and port; port 0 is a free one.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.load_verify_locations(cadata=client_ca)
    context.verify_mode = ssl.CERT_REQUIRED
    handler = type("Handler", (_Handler,), {"store": served or Store()})
    server = http.server.ThreadingHTTPServer(at, handler)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    with serving(server):
        yield server.server_address[1]
