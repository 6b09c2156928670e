"""HTTP requests to a server that an operator names by its URL."""

import ssl
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from base.bounded_answer import TlsSocket

if TYPE_CHECKING:
    from urllib3 import PoolManager
    from urllib3.exceptions import HTTPError


def pool_for(url: str, timeout_s: float) -> "PoolManager":
    """Return a pool for requests to a URL's server, which repeats none of them, and keeps the thread's `time_limit`.

    It uses the proxy that the environment names (`https_proxy`, `no_proxy`, …), which urllib3 does not read.

    Args:
        url: Of HTTP or HTTPS.
        timeout_s: Limit of connect, and of each wait for a part of the answer.

    Raises:
        urllib3.exceptions.HTTPError: The URL or that of the proxy is invalid.
    """
    # A preview sends no request, and must not wait for these imports.
    from urllib.request import getproxies  # noqa: PLC0415

    from requests.utils import should_bypass_proxies  # noqa: PLC0415
    from urllib3.util import parse_url  # noqa: PLC0415

    proxy = getproxies().get(parse_url(url).scheme or "", "")
    # As curl, and unlike urllib, this knows networks in no_proxy: 10.0.0.0/8.
    return pool_through("" if proxy and should_bypass_proxies(url, no_proxy=None) else proxy, timeout_s)


def pool_through(
    proxy: str, timeout_s: float, context: ssl.SSLContext | None = None, connections: int = 1
) -> "PoolManager":
    """Return a pool as `pool_for` does, through a proxy that the caller names.

    Args:
        proxy: Its URL, which may hold a login; empty: none.
        timeout_s: Limit of connect, and of each wait for a part of the answer.
        context: Whom it trusts. None: the system's CAs.
        connections: How many to each server are kept, for as many threads.

    Raises:
        urllib3.exceptions.HTTPError: The URL of the proxy is invalid.
    """
    from urllib3 import PoolManager, ProxyManager, Retry  # noqa: PLC0415
    from urllib3.util import make_headers, parse_url  # noqa: PLC0415

    from base.bounded_pools import POOLS  # noqa: PLC0415

    # Redirections only: a server that asks to be asked again (Retry-After) may name hours.
    retries = Retry(connect=0, read=0, other=0, respect_retry_after_header=False)
    context = context or ssl.create_default_context()
    context.sslsocket_class = TlsSocket
    settings: dict[str, Any] = {"timeout": timeout_s, "retries": retries, "maxsize": connections}
    if not proxy:
        pool = PoolManager(ssl_context=context, **settings)
    else:
        address = proxy if "://" in proxy else f"http://{proxy}"
        login = parse_url(address).auth
        headers = make_headers(proxy_basic_auth=unquote(login)) if login else None
        pool = ProxyManager(address, proxy_headers=headers, ssl_context=context, **settings)
    pool.pool_classes_by_scheme = POOLS
    return pool


def os_error(error: "HTTPError") -> OSError:
    """Return the error of the operating system or TLS that urllib3's exception wraps."""
    wrapped = next((cause for cause in causes(error) if isinstance(cause, OSError)), None)
    return wrapped or ConnectionError(f"the answer is not HTTP ({type(error).__name__})")


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception, and what it wraps, outermost first. urllib3 and requests often wrap by an argument only."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        arguments = (argument for argument in cause.args if isinstance(argument, BaseException))
        cause = cause.__cause__ or next(arguments, None) or cause.__context__
