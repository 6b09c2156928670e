"""TLS contexts for BMCs."""

import ssl
from functools import lru_cache

from base.bounded_answer import TlsSocket
from base.errors import ConfigError, Fault

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
