"""sushy's connector, tuned: one origin, one connection, one request at a time, nothing sent twice."""

import logging
import socket
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

import sushy
from pydantic import SecretStr
from requests import PreparedRequest, RequestException, Response
from requests.adapters import HTTPAdapter
from sushy.connector import Connector
from urllib3.connection import HTTPConnection
from urllib3.connectionpool import HTTPConnectionPool

from cluster.values.bmc_url import BmcUrl
from providers.base.errors import BmcError
from wires.redfish.access import BmcAccess, Limits
from wires.redfish.masking import Mask
from wires.redfish.tls import PlainSocket, time_limit, tls_context

SESSIONS = "/redfish/v1/SessionService/Sessions"
TOKEN = "X-Auth-Token"  # noqa: S105 (a header's name)
CHUNK = 64 * 1024
SINGLE_ATTEMPT = 1  # of sushy's `server_side_retries`: 0 would mean three, and POSTs are sent again as well

_turns: dict[str, threading.Lock] = {}
_log = logging.getLogger(__name__)

# sushy warns about what we turn into errors; without a handler Python would print that to the operator.
logging.getLogger("sushy").addHandler(logging.NullHandler())


class BmcConnector(Connector):  # type: ignore[misc]
    """HTTP to one BMC. Logs in with the first request; the session, where one is wanted, ends with `close`."""

    def __init__(self, url: BmcUrl, access: BmcAccess, password: SecretStr, limits: Limits) -> None:
        super().__init__(
            url.base,
            verify=access.verify,
            server_side_retries=SINGLE_ATTEMPT,
            default_request_timeout=limits.answer_s,
            connect_timeout=limits.connect_s,
        )
        basic = b64encode(f"{access.username}:{password.get_secret_value()}".encode()).decode()
        self.adapter = BmcAdapter(url.base, access, limits, Mask(password, SecretStr(basic)))
        self._login: Callable[[], dict[str, str]] | None = None
        if access.session:
            self._login = lambda: {"UserName": access.username, "Password": password.get_secret_value()}
        self._token_path = ""
        session = self._session
        # A link in a BMC's answer must not carry its password elsewhere: no other origin is mounted.
        session.adapters.clear()
        session.mount(f"{url.base.lower()}/", self.adapter)
        session.trust_env = False  # proxies and ~/.netrc of the operator are not meant for BMCs
        # sushy closes each connection; a handshake per request is what most of its time goes into.
        session.headers["Connection"] = "keep-alive"
        if not access.session:
            self.set_http_basic_auth(access.username.encode(), password.get_secret_value().encode())

    def close_each(self) -> None:
        """Use a connection per request from now on."""
        self._session.headers["Connection"] = "close"

    def close(self) -> None:
        """End the session, and drop the connection."""
        if self._token_path:
            # A session that cannot be ended now is ended by the BMC; the work is done either way.
            with suppress(sushy.exceptions.SushyError, BmcError):
                self._once("DELETE", self._token_path)
            self._token_path = ""
        super().close()

    def _op(self, method: str, path: str = "", **kwargs: Any) -> Any:
        """What sushy asks for."""
        if self._login is None:
            return self._once(method, path, **kwargs)
        fresh = TOKEN not in self._session.headers
        if fresh:
            self._log_in()
        try:
            return self._once(method, path, **kwargs)
        except sushy.exceptions.AccessError as error:
            if fresh or error.status_code != HTTPStatus.UNAUTHORIZED:
                raise
        # The session has expired: what was refused for that was not done.
        self._log_in()
        return self._once(method, path, **kwargs)

    def _once(self, method: str, path: str, **kwargs: Any) -> Any:
        """One request; sushy would send some again on its own, also ones that are no GET."""
        return super()._op(method, path, **{**kwargs, "server_side_retries_left": 0})

    def _log_in(self) -> None:
        self._session.headers.pop(TOKEN, None)
        answer = self._once("POST", SESSIONS, data=self._login and self._login())
        if TOKEN not in answer.headers:
            raise sushy.exceptions.MissingXAuthToken("POST", SESSIONS, answer)
        self._token_path = answer.headers.get("Location", "")
        self.set_http_session_auth(answer.headers[TOKEN])


class BmcAdapter(HTTPAdapter):
    """An adapter with a ready context, a limit on the whole answer, and turns.

    urllib3 would load the system's CAs for each new connection, also without verification: 20 ms of CPU per request
    (measured 2026-11, sushy 5.14.0). It also counts what passes, and writes it to the trace, secrets masked.
    """

    def __init__(self, base: str, access: BmcAccess, limits: Limits, mask: Mask) -> None:
        pinned = access.fingerprint if access.verify else ""
        context = tls_context(access.ca, verify=access.verify and not pinned)
        self._tls: dict[str, Any] = {"ssl_context": context, "assert_fingerprint": pinned or None}
        self._base, self._limits, self.mask = base, limits, mask
        self._answer_s = limits.answer_s
        self._turn = _turns.setdefault(base, threading.Lock())  # BMCs answer one at a time, or badly
        self.sent = 0
        self.only_looked = True
        """Whether the last request was a GET."""
        self.retry_after_s = 0.0
        """What the last answer asked for."""
        super().__init__(pool_connections=1, pool_maxsize=1, max_retries=0)

    @contextmanager
    def patience(self, answer_s: float) -> Iterator[None]:
        """Allow for slower answers."""
        before, self._answer_s = self._answer_s, answer_s
        try:
            yield
        finally:
            self._answer_s = before

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **kwargs: Any) -> None:
        """Hand the context to the pool."""
        super().init_poolmanager(connections, maxsize, block, **kwargs, **self._tls)
        self.poolmanager.pool_classes_by_scheme = {**self.poolmanager.pool_classes_by_scheme, "http": _PlainPool}

    def build_connection_pool_key_attributes(self, request: PreparedRequest, verify: Any, cert: Any = None) -> Any:
        """Keep the context's own judgement: the `verify` of a request would replace it."""
        host, _ = super().build_connection_pool_key_attributes(request, verify, cert)
        return host, {}

    def cert_verify(self, *args: Any, **kwargs: Any) -> None:
        """Keep the context's own CAs."""

    def send(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> Response:
        """Wait for the turn, count, send, and read the whole answer."""
        with self._turn, time_limit(self._answer_s):
            if not _log.isEnabledFor(logging.DEBUG):
                return self._exchange(request, *args, **kwargs)
            return self._traced(request, lambda: self._exchange(request, *args, **kwargs))

    def _exchange(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> Response:
        self.sent += 1
        self.only_looked, self.retry_after_s = request.method == "GET", 0.0
        response = super().send(request, *args, **{**kwargs, "stream": True})
        response._content = self._body(response)
        self.retry_after_s = _seconds(response.headers.get("Retry-After", ""))
        return response

    def _traced(self, request: PreparedRequest, exchange: Callable[[], Response]) -> Response:
        """Write the request and its answer to the trace; of their headers, nothing."""
        asked, began = f"{self._base} {request.method} {self.mask.text(request.path_url)}", time.monotonic()
        _log.debug("%s", f"{asked} {self.mask.body(request.body)}".rstrip())
        try:
            response = exchange()
        except Exception as error:
            spent_s, reason = time.monotonic() - began, f"{type(error).__name__}: {error}"
            _log.debug("%s: no answer, %.3f s %s", asked, spent_s, self.mask.body(reason))
            raise
        if token := response.headers.get(TOKEN):
            self.mask.learn(SecretStr(token))
        answered = f"HTTP {response.status_code}, {time.monotonic() - began:.3f} s"
        _log.debug("%s", f"{asked}: {answered} {self.mask.body(response.content)}".rstrip())
        return response

    def _body(self, response: Response) -> bytes:
        body = bytearray()
        for piece in response.iter_content(CHUNK):
            body += piece
            if len(body) > self._limits.body_bytes:
                response.close()
                raise AnswerTooLongError(self._limits.body_bytes)
        return bytes(body)


def _seconds(retry_after: str) -> float:
    """What the header asks for: seconds or a date; 0 where it cannot be read."""
    text = retry_after.strip()
    if text.isdigit():
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return 0.0


class AnswerTooLongError(RequestException):
    """No Redfish resource is that long."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"its answer goes on after {limit // 1024:,} KiB")


class _PlainConnection(HTTPConnection):
    def _new_conn(self) -> socket.socket:
        return PlainSocket.over(super()._new_conn())


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _PlainConnection
