"""Reads and changes resources of a Kubernetes API with a client certificate."""

import json
import ssl
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Self

from pydantic import ValidationError

from assets.contract import API_PORT
from base.memory import in_memory, path_of
from base.write_guard import make
from payload.kubeconfig import Kubeconfig
from wires.api.https import get, pool_at, send
from wires.api.resources import ChangedError, R
from wires.api.writes import to_api

TIMEOUT_S = 3
"""Limit of connect and of the handshake."""
ANSWER_S = 10
"""Limit of an answer: the list of a thousand nodes takes seconds."""

MERGE = "application/merge-patch+json"


@dataclass(frozen=True)
class KubeApi:
    """A Kubernetes API, at any address. Its certificate must be for `server_name` and signed by a CA of `tls`."""

    server_name: str
    tls: ssl.SSLContext
    """The trusted CAs, and the client's certificate."""
    port: int = API_PORT

    @classmethod
    def by(cls, kubeconfig: Kubeconfig, server_name: str) -> Self:
        """Return the API with this name, with the kubeconfig's user as its client."""
        context = ssl.create_default_context(cadata=kubeconfig.ca_pem)
        with in_memory(kubeconfig.client_pem) as file:  # Python's ssl reads a key only from a file
            context.load_cert_chain(path_of(file))
        return cls(server_name, context)

    def get(self, address: str, path: str, model: type[R]) -> R | None:
        """Read one resource, on a new connection. None: it does not exist.

        Raises:
            OSError: The connection or TLS failed, no answer came in time, the API refused, or the answer does not fit
                `model`.
        """
        status, content = get(pool_at(address, self.port, self.server_name, self.tls, TIMEOUT_S), path, ANSWER_S)
        if status == HTTPStatus.NOT_FOUND:
            return None
        if status != HTTPStatus.OK:
            raise ConnectionError(f"status {status}")
        try:
            return model.model_validate_json(content)
        except ValidationError:  # its text quotes the content
            raise ConnectionError("the answer is not the requested resource") from None

    def patch(self, address: str, path: str, change: dict[str, Any]) -> None:
        """Merge a change into one resource, on a new connection. See `KubernetesWriter`.

        Raises:
            ChangedError: It has changed since it was read.
            OSError: The connection or TLS failed, no answer came in time, or the API refused.
        """
        make(to_api(self.server_name, path))
        pool = pool_at(address, self.port, self.server_name, self.tls, TIMEOUT_S)
        status, _ = send(pool, "PATCH", path, ANSWER_S, json.dumps(change).encode(), MERGE)
        if status == HTTPStatus.CONFLICT:
            raise ChangedError(f"status {status}")
        if status != HTTPStatus.OK:
            raise ConnectionError(f"status {status}")
