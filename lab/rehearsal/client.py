"""A client of JSON over HTTPS at one address. It shares no code with the program's own."""

import http.client
import json
import socket
import ssl
import time
from dataclasses import dataclass, field
from typing import Any

STEP_S = 10
"""The limit for the connection, for the handshake and for the answer; client-go waits as long for a handshake."""
IDLE_S = 30.0
"""Half of the time after which the control plane's haproxy ends a connection on which nothing is sent."""


@dataclass
class Client:
    """Requests to one address, whose certificate is for a name. A connection serves until it fails or rests."""

    address: str
    server_name: str
    tls: ssl.SSLContext
    port: int = 6443
    _connection: http.client.HTTPConnection | None = field(default=None, init=False)
    _used_at: float = field(default=0.0, init=False)

    def call(self, method: str, path: str, body: object = None, timeout_s: float = STEP_S) -> dict[str, Any]:
        """Send one request, and return the answer.

        Raises:
            OSError: No connection, or no answer in time.
            http.client.HTTPException: The answer is not HTTP, or not a success.
        """
        if time.monotonic() - self._used_at > IDLE_S:
            self.close()
        is_kept = self._connection is not None
        self._connection = self._connection or self._connect(timeout_s)
        headers = {"Content-Type": "application/json"} if body is not None else {}
        try:
            self._connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = self._connection.getresponse()
            content = answer.read()
            if answer.status not in (http.client.OK, http.client.CREATED):
                raise http.client.HTTPException(answer.status, content[:200])
        except (OSError, http.client.HTTPException) as error:
            self.close()
            if is_kept and method == "GET" and isinstance(error, ConnectionError):
                return self.call(method, path, timeout_s=timeout_s)  # as Go's: it was ended since its last answer
            raise
        self._used_at = time.monotonic()
        return dict(json.loads(content))

    def close(self) -> None:
        """Have the next request make a new connection: the open one may have broken meanwhile."""
        if self._connection:
            self._connection.close()
        self._connection = None

    def _connect(self, timeout_s: float) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection(self.server_name)
        with socket.create_connection((self.address, self.port), timeout=timeout_s) as plain:
            connection.sock = self.tls.wrap_socket(plain, server_hostname=self.server_name)
        return connection
