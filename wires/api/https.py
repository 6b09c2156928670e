"""HTTPS to an address whose certificate is for a name, with a new connection for each request."""

import logging
import socket
import ssl
from dataclasses import dataclass
from functools import lru_cache, partial
from http import HTTPStatus
from typing import TYPE_CHECKING

from base.bounded_answer import TlsSocket, joined, time_limit
from base.errors import words_of
from base.http_client import os_error
from cluster.values.address import url_host
from wires.certificates import EARLY, EXPIRED, CertificateTimeError

if TYPE_CHECKING:
    from urllib3 import HTTPSConnectionPool

_log = logging.getLogger(__name__)
PROBE_S = 3.0
"""A probe's limit of each step."""
MOST_BYTES = 64 << 20
"""The longest answer: twice the list of a thousand nodes."""
CHUNK = 64 * 1024


class CertificateExpiredError(CertificateTimeError):
    """It has expired."""

    def __init__(self) -> None:
        super().__init__("its certificate, or that of its CA, has expired: see docs/how-to/what-changed.md")


class CertificateEarlyError(CertificateTimeError):
    """It is not valid yet."""

    def __init__(self) -> None:
        super().__init__(
            "by this machine's clock, its certificate, or that of its CA, is not valid yet: "
            "see docs/how-to/what-changed.md"
        )


TIMES: dict[int, type[CertificateTimeError]] = {EARLY: CertificateEarlyError, EXPIRED: CertificateExpiredError}


@dataclass(frozen=True)
class Endpoint:
    """One HTTPS page, at any address. The certificate must be for `server_name` and signed by the CA."""

    port: int
    path: str
    server_name: str
    ca_pem: str
    timeout_s: float = PROBE_S
    """Limit of each step: connect, handshake, answer."""

    def problem(self, address: str) -> str | None:
        """Return why a GET does not get the answer 200. None: it does."""
        pool = pool_at(address, self.port, self.server_name, trusting(self.ca_pem), self.timeout_s)
        try:
            status, _ = get(pool, self.path, self.timeout_s)
        except OSError as error:
            return words_of(error)
        return None if status == HTTPStatus.OK else f"status {status}"

    def is_ready(self, address: str) -> bool:
        """Return whether a GET gets the answer 200."""
        return self.problem(address) is None


def pool_at(
    address: str, port: int, server_name: str, tls: ssl.SSLContext, timeout_s: float
) -> "HTTPSConnectionPool":
    """Return a pool of one connection to the server at `address`. It resends nothing.

    Args:
        address: IPv4 or IPv6.
        port: TCP port.
        server_name: The name that the certificate must be for.
        tls: The trusted CAs and, if needed, the client's certificate.
        timeout_s: Limit of connect and of the handshake.
    """
    from urllib3 import HTTPSConnectionPool  # noqa: PLC0415  (a preview connects to nothing)

    tls.sslsocket_class = TlsSocket
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


def get(pool: "HTTPSConnectionPool", path: str, answer_s: float) -> tuple[int, bytes]:
    """Send one GET, see `send`."""
    return send(pool, "GET", path, answer_s)


def send(  # noqa: PLR0913, PLR0917  (the parts of a request)
    pool: "HTTPSConnectionPool", method: str, path: str, answer_s: float, body: bytes = b"", kind: str = ""
) -> tuple[int, bytes]:
    """Send one request, and return its status and content. The connection ends with it.

    Args:
        pool: The connection, of `pool_at`.
        method: GET, PATCH, …
        path: Path of the resource.
        answer_s: Limit of the whole answer, even if it trickles in.
        body: Content, if there is any.
        kind: Its media type.

    Raises:
        CertificateTimeError: See there.
        OSError: The connection, TLS or HTTP failed, or the answer is late, or longer than `MOST_BYTES`.
    """
    from urllib3.exceptions import HTTPError  # noqa: PLC0415

    request_line = f"{method} https://{url_host(pool.host)}:{pool.port}{path}"
    headers = {**pool.headers, "Connection": "close", **({"Content-Type": kind} if kind else {})}
    try:
        request = partial(pool.request, method, path, body=body or None, headers=headers, preload_content=False)
        with time_limit(answer_s), request() as answer:
            content = joined(answer.stream(CHUNK), MOST_BYTES)
    except HTTPError as error:
        reason = _named(os_error(error))
        _log.debug("%s: %s: %s", request_line, type(reason).__name__, reason)
        raise reason from None
    if content is None:
        raise ConnectionError(f"the answer is longer than {MOST_BYTES >> 20} MiB")
    # Log only the status, because the answer may hold secrets.
    _log.debug("%s: status %d", request_line, answer.status)
    return answer.status, content


def _named(reason: OSError) -> OSError:
    """Return an error by what a person can do about it, if that differs."""
    wrong_time = TIMES.get(reason.verify_code) if isinstance(reason, ssl.SSLCertVerificationError) else None
    return wrong_time() if wrong_time else reason


def connect_problem(address: str, port: int, *, timeout_s: float = 1) -> str | None:
    """Return why a TCP connection is not accepted. None: it is accepted."""
    try:
        socket.create_connection((address, port), timeout=timeout_s).close()
    except OSError as error:
        return words_of(error)
    return None


def handshake_problem(address: str, port: int, *, timeout_s: float = PROBE_S) -> str | None:
    """Return why a TLS server does not show a certificate, of whatever signer. None: it shows one."""
    try:
        with socket.create_connection((address, port), timeout=timeout_s) as plain:
            _trusting_all().wrap_socket(plain).close()
    except OSError as error:
        return words_of(error)
    return None


@lru_cache(maxsize=8)
def trusting(ca_pem: str) -> ssl.SSLContext:
    """Return a TLS context that trusts only these CAs."""
    return ssl.create_default_context(cadata=ca_pem)


@lru_cache(maxsize=1)
def _trusting_all() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
