"""Resources of a Kubernetes API, as the holder of a client certificate reads them."""

import http.client
import socket
import ssl
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from wires.api.api import API_PORT

TIMEOUT_S = 3
"""Per step: connect, handshake, answer."""

_Resource = TypeVar("_Resource", bound=BaseModel)


@dataclass(frozen=True)
class KubeApi:
    """An API, whatever the address: its certificate must be for `server_name` and signed by a CA of `tls`."""

    server_name: str
    tls: ssl.SSLContext
    """With the client's certificate."""
    port: int = API_PORT

    def get(self, address: str, path: str, model: type[_Resource]) -> _Resource | None:
        """One resource, on a fresh connection; None: there is none.

        Raises:
            OSError: No connection, no TLS, no answer in time, a refusal, or another thing than `model`.
        """
        try:
            status, content = self._ask(address, path)
        except http.client.HTTPException:
            raise ConnectionError("the answer is no HTTP") from None
        if status == http.client.NOT_FOUND:
            return None
        if status != http.client.OK:
            raise ConnectionError(f"status {status}")
        try:
            return model.model_validate_json(content)
        except ValidationError:  # its text has the content
            raise ConnectionError("the answer is another thing") from None

    def _ask(self, address: str, path: str) -> tuple[int, bytes]:
        with (
            socket.create_connection((address, self.port), timeout=TIMEOUT_S) as plain,
            self.tls.wrap_socket(plain, server_hostname=self.server_name) as wire,
        ):
            connection = http.client.HTTPConnection(self.server_name)
            connection.sock = wire
            connection.request("GET", path, headers={"Accept": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read()
