"""HTTP to one BMC: one origin, one TLS context, nothing from the environment, every request counted."""

import ssl
from typing import Any

from requests import PreparedRequest, Response, Session
from requests.adapters import HTTPAdapter

from providers.errors import BmcError


def tls_context(ca_pem: str, *, verify: bool) -> ssl.SSLContext:
    """The context for a BMC's certificate.

    Args:
        ca_pem: PEM text of the CA that signed it; empty: the system's CAs.
        verify: False trusts any certificate (`disableCertificateVerification` of the install-config).

    Raises:
        BmcError: `ca_pem` holds no certificate.
    """
    try:
        context = ssl.create_default_context(cadata=ca_pem or None)
    except (ssl.SSLError, ValueError) as error:
        raise BmcError("is no PEM certificate", where="bmc_ca", hint="Paste the CA's PEM text into it") from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


class OneContextAdapter(HTTPAdapter):
    """An adapter with a ready context.

    urllib3 would load the system's CAs for each new connection, also without verification: 20 ms of CPU per request
    (measured 2026-11, sushy 5.14.0). It also counts what passes.
    """

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self.sent = 0
        super().__init__(pool_connections=1, pool_maxsize=1, max_retries=0)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Hand the context to the pool."""
        super().init_poolmanager(*args, **kwargs, ssl_context=self._context)

    def build_connection_pool_key_attributes(self, request: PreparedRequest, verify: Any, cert: Any = None) -> Any:
        """Keep the context's own judgement: the `verify` of a request would replace it."""
        host, _ = super().build_connection_pool_key_attributes(request, verify, cert)
        return host, {}

    def cert_verify(self, *args: Any, **kwargs: Any) -> None:
        """Keep the context's own CAs."""

    def send(self, *args: Any, **kwargs: Any) -> Response:
        """Count and send."""
        self.sent += 1
        return super().send(*args, **kwargs)


def confine(session: Session, base: str, adapter: OneContextAdapter) -> None:
    """Let `session` speak to `base` only: a link in a BMC's answer must not carry its password elsewhere."""
    session.adapters.clear()
    session.mount(f"{base.lower()}/", adapter)
    session.trust_env = False  # proxies and ~/.netrc of the operator are not meant for BMCs
    # sushy closes each connection; a handshake per request is what most of its time goes into.
    session.headers["Connection"] = "keep-alive"
