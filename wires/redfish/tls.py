"""Whom to trust, and sockets that keep a limit on a whole answer."""

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from providers.base.errors import BmcError

_limit = threading.local()


@lru_cache(maxsize=256)
def tls_context(ca_pem: str, *, verify: bool) -> ssl.SSLContext:
    """The context for BMCs' certificates, shared by all that trust alike: building one loads CAs for 20 ms.

    Args:
        ca_pem: PEM text of the CA that signed them; empty: the system's CAs.
        verify: False trusts any certificate.

    Raises:
        BmcError: `ca_pem` holds no certificate.
    """
    try:
        context = ssl.create_default_context(cadata=ca_pem or None)
    except (ssl.SSLError, ValueError) as error:
        raise BmcError("is not a PEM certificate", where="bmc_ca", fix="paste the CA's PEM text into it") from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.sslsocket_class = TlsSocket
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Have every read of this thread's sockets end at one moment, not each after a time-out of its own."""
    _limit.until = time.monotonic() + seconds
    try:
        yield
    finally:
        _limit.until = None


class _Limited(socket.socket):
    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        until = getattr(_limit, "until", None)
        if until is not None:
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self.settimeout(left)
        return super().recv_into(*args, **kwargs)


class TlsSocket(_Limited, ssl.SSLSocket):
    """Of a limited answer."""


class PlainSocket(_Limited):
    """Of a limited answer."""

    @classmethod
    def over(cls, plain: socket.socket) -> "PlainSocket":
        """Take a connected socket over."""
        timeout = plain.gettimeout()
        limited = cls(fileno=plain.detach())
        limited.settimeout(timeout)
        return limited
