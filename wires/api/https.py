"""Whether an HTTPS endpoint behind an address is ready, on a fresh connection each time."""

import socket
import ssl
from dataclasses import dataclass
from functools import lru_cache

OK = 200


@dataclass(frozen=True)
class Endpoint:
    """What is asked, whatever the address: the certificate must be for `server_name` and signed by the CA."""

    port: int
    path: str
    server_name: str
    ca_pem: str
    timeout_s: float = 3
    """Per step: connect, handshake, answer."""

    def get(self, address: str) -> int:
        """Status of one GET.

        Raises:
            OSError: No connection, no TLS, or no answer in time.
        """
        with (
            socket.create_connection((address, self.port), timeout=self.timeout_s) as plain,
            _context(self.ca_pem).wrap_socket(plain, server_hostname=self.server_name) as wire,
        ):
            wire.sendall(
                f"GET {self.path} HTTP/1.1\r\nHost: {self.server_name}\r\nConnection: close\r\n\r\n".encode()
            )
            _, _, rest = wire.recv(1024).partition(b" ")
        status = rest[:3]
        if not status.isdigit():
            raise ConnectionError("the answer is no HTTP")
        return int(status)

    def problem(self, address: str) -> str | None:
        """Why a GET is not answered with 200; None: it is."""
        try:
            status = self.get(address)
        except OSError as error:
            return f"{type(error).__name__}: {error}"
        return None if status == OK else f"status {status}"

    def is_ready(self, address: str) -> bool:
        """Whether a GET is answered with 200."""
        return self.problem(address) is None


def connect_problem(address: str, port: int, *, timeout_s: float = 1) -> str | None:
    """Why a TCP connection is not accepted; None: it is."""
    try:
        socket.create_connection((address, port), timeout=timeout_s).close()
    except OSError as error:
        return f"{type(error).__name__}: {error}"
    return None


@lru_cache(maxsize=8)
def _context(ca_pem: str) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=ca_pem)
