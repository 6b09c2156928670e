"""HTTPS to an address whose certificate is for a name, on a fresh connection each time."""

import logging
import socket
import ssl
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from urllib3 import HTTPSConnectionPool
    from urllib3.exceptions import HTTPError

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Endpoint:
    """What is asked, whatever the address: the certificate must be for `server_name` and signed by the CA."""

    port: int
    path: str
    server_name: str
    ca_pem: str
    timeout_s: float = 3
    """Per step: connect, handshake, answer."""

    def problem(self, address: str) -> str | None:
        """Why a GET is not answered with 200; None: it is."""
        pool = pool_at(address, self.port, self.server_name, trusting(self.ca_pem), self.timeout_s)
        try:
            status, _ = get(pool, self.path)
        except OSError as error:
            return f"{type(error).__name__}: {error}"
        return None if status == HTTPStatus.OK else f"status {status}"

    def is_ready(self, address: str) -> bool:
        """Whether a GET is answered with 200."""
        return self.problem(address) is None


def pool_at(
    address: str, port: int, server_name: str, tls: ssl.SSLContext, timeout_s: float
) -> "HTTPSConnectionPool":
    """Connections to `address` for the server of that name; one at a time, and nothing is sent twice.

    Args:
        address: IPv4 or IPv6.
        port: TCP port.
        server_name: What the certificate must be for.
        tls: Whom to trust, and perhaps who asks.
        timeout_s: Per step: connect, handshake, answer.
    """
    from urllib3 import HTTPSConnectionPool  # noqa: PLC0415  (a preview connects to nothing)

    return HTTPSConnectionPool(
        address,
        port,
        maxsize=1,
        timeout=timeout_s,
        retries=False,
        headers={"Host": server_name},
        ssl_context=tls,
        server_hostname=server_name,
    )


def get(pool: "HTTPSConnectionPool", path: str) -> tuple[int, bytes]:
    """Status and content of one GET; the connection ends with it.

    Raises:
        OSError: No connection, no TLS, no HTTP, or no answer in time.
    """
    from urllib3.exceptions import HTTPError  # noqa: PLC0415

    asked = f"GET https://{f'[{pool.host}]' if ':' in pool.host else pool.host}:{pool.port}{path}"
    try:
        answer = pool.request("GET", path, headers={**pool.headers, "Connection": "close"})
    except HTTPError as error:
        reason = os_error(error)
        _log.debug("%s: %s: %s", asked, type(reason).__name__, reason)
        raise reason from None
    # What a cluster answers may hold secrets: no more than the status is traced.
    _log.debug("%s: status %d", asked, answer.status)
    return answer.status, answer.data


def os_error(error: "HTTPError") -> OSError:
    """What the operating system or TLS reported, out of what urllib3 wraps around it."""
    found: BaseException | None = error
    while found is not None:
        nested = (each for each in found.args if isinstance(each, BaseException))
        if isinstance(found, OSError):
            return found
        found = found.__cause__ or next(nested, None) or found.__context__
    return ConnectionError(f"the answer is no HTTP ({type(error).__name__})")


def connect_problem(address: str, port: int, *, timeout_s: float = 1) -> str | None:
    """Why a TCP connection is not accepted; None: it is."""
    try:
        socket.create_connection((address, port), timeout=timeout_s).close()
    except OSError as error:
        return f"{type(error).__name__}: {error}"
    return None


@lru_cache(maxsize=8)
def trusting(ca_pem: str) -> ssl.SSLContext:
    """A context that trusts these CAs alone."""
    return ssl.create_default_context(cadata=ca_pem)
