"""TLS contexts for BMCs, and the certificate that a BMC shows."""

import hashlib
import socket
import ssl
from functools import lru_cache

from base.bounded_answer import TlsSocket
from base.errors import ConfigError, Fault
from wires.bmc.client import Certificate

LEGACY_CIPHERS = "DEFAULT:@SECLEVEL=0"
"""OpenSSL's default with RSA key exchange, which Python's lacks; from OpenSSL 3.0 on, TLS below 1.2 needs level 0."""


@lru_cache(maxsize=256)
def tls_context(ca_pem: str, *, verify: bool, legacy: bool = False) -> ssl.SSLContext:
    """Return the TLS context for BMCs. It is shared, because to build one takes 20 ms, in which it loads CAs.

    Args:
        ca_pem: PEM text of the CA that signed the BMCs' certificates. Empty: the system's CAs.
        verify: False: trust any certificate.
        legacy: Whether versions below 1.2, RSA key exchange and short keys will do.

    Raises:
        ConfigError: `ca_pem` holds no certificate.
    """
    try:
        context = ssl.create_default_context(cadata=ca_pem or None)
    except (ssl.SSLError, ValueError) as error:
        fault = Fault("bmc_ca", "is not a PEM certificate", "paste the CA's PEM text into it")
        raise ConfigError(fault) from error
    context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED if legacy else ssl.TLSVersion.TLSv1_2
    if legacy:
        context.set_ciphers(LEGACY_CIPHERS)
    context.sslsocket_class = TlsSocket
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def shown_certificate(host: str, port: int, timeout_s: float) -> Certificate | None:
    """Return the certificate that a server shows to anyone, without a request, by any TLS. None: it shows none.

    Raises:
        OSError: No connection.
    """
    from cryptography import x509  # noqa: PLC0415  (a preview reads no certificate)

    with socket.create_connection((host, port), timeout_s) as plain:
        try:
            with tls_context("", verify=False, legacy=True).wrap_socket(plain, server_hostname=host) as wire:
                shown = wire.getpeercert(binary_form=True) or b""
        except OSError:
            return None
    try:
        subject = x509.load_der_x509_certificate(shown).subject.rfc4514_string()
    except ValueError:  # OpenSSL takes certificates that are no proper DER, as some BMCs make them
        subject = ""
    return Certificate(subject, hashlib.sha256(shown).hexdigest())
