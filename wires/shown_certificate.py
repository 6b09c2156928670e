"""Reads the certificate that a server shows to everybody."""

import hashlib
import socket
from datetime import UTC, datetime

from wires.certificates import Certificate, Life
from wires.redfish.client.tls import tls_context

PROBE_S = 3.0
"""Limit of each step: connect, handshake."""


def shown_certificate(host: str, port: int, timeout_s: float = PROBE_S, server_name: str = "") -> Certificate | None:
    """Return the certificate that a server shows to anyone, without a request, by any TLS. None: it shows none.

    Args:
        host: Name or address.
        port: TCP port.
        timeout_s: Limit of each step.
        server_name: The name that is asked for; empty for `host`.

    Raises:
        OSError: No connection.
    """
    from cryptography import x509  # noqa: PLC0415  (a preview reads no certificate)

    with socket.create_connection((host, port), timeout_s) as plain:
        try:
            tls = tls_context("", verify=False, legacy=True)
            with tls.wrap_socket(plain, server_hostname=server_name or host) as wire:
                shown = wire.getpeercert(binary_form=True) or b""
        except OSError:
            return None
    subject, life = "", None
    try:
        read = x509.load_der_x509_certificate(shown)
        life, subject = Life.of(read), read.subject.rfc4514_string()
    except (ValueError, x509.InvalidVersion):  # OpenSSL takes more than proper DER, as some BMCs make them
        pass
    return Certificate(subject, hashlib.sha256(shown).hexdigest(), life)


def expiry_warning(host: str, port: int, server_name: str = "") -> str | None:
    """Return the line on a server's certificate that has expired, or soon will. None: it will not, or shows none.

    Args:
        host: Name or address.
        port: TCP port.
        server_name: The name that is asked for; empty for `host`.
    """
    try:
        certificate = shown_certificate(host, port, server_name=server_name)
    except OSError:
        return None
    return certificate.life.warning(datetime.now(UTC)) if certificate and certificate.life else None
