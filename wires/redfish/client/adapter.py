"""Requests to one BMC as they are sent: one origin, one connection, one at a time, within a time, to the log."""

import logging
import threading
import time
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

from pydantic import SecretStr
from requests import PreparedRequest, Response, exceptions
from requests.adapters import HTTPAdapter
from urllib3.exceptions import ProtocolError
from urllib3.util import SKIP_HEADER

from base.bounded_answer import joined, time_limit
from base.bounded_pools import POOLS
from base.errors import UnplannedWriteError
from base.write_guard import make
from base.writes import Write
from wires.bmc.access import BmcAccess, Limits
from wires.redfish.client.logins import ACCEPTED, REFUSED, Login
from wires.redfish.client.masking import TrafficMask
from wires.redfish.client.reasons import REFUSED_LOGIN, reason_of
from wires.redfish.client.tls import tls_context
from wires.redfish.client.transport_errors import AnswerTooLongError, OutOfReadsError, OutOfTimeError, RedirectedError

ROOT = "/redfish/v1/"
"""Path of the service root, which every BMC shows to anyone."""
SESSIONS = "/redfish/v1/SessionService/Sessions"
TOKEN = "X-Auth-Token"  # noqa: S105 (a header's name)
CHUNK = 64 * 1024
MOVED = frozenset({HTTPStatus.MOVED_PERMANENTLY, HTTPStatus.FOUND})
"""Redirects after which requests makes a write a GET, as browsers do."""
SAME = "the same answer as before"
"""In place of an answer's body in the log."""

_turns: dict[str, threading.Lock] = {}
_log = logging.getLogger(__name__)


class BmcAdapter(HTTPAdapter):
    """An adapter that shares one TLS context, limits the whole answer, and sends one request at a time per BMC.

    urllib3 would load the system's CAs for each new connection, even without verification: 20 ms of CPU per request
    (measured 2026-11, sushy 5.14.0). The adapter also counts requests, and writes them to the log, secrets masked.
    """

    def __init__(self, access: BmcAccess, login: Login, limits: Limits, mask: TrafficMask) -> None:
        pinned = access.fingerprint if access.verify else ""
        context = tls_context(access.ca, verify=access.verify and not pinned, legacy=access.legacy_tls)
        self._tls: dict[str, Any] = {"ssl_context": context, "assert_fingerprint": pinned or None}
        self._base, self._limits, self.mask = login.endpoint, limits, mask
        self._login, self._in_session = login, access.session
        self._answer_s = limits.answer_s
        self._ends_at = time.monotonic() + limits.whole_s
        self._turn = _turns.setdefault(login.endpoint, threading.Lock())  # BMCs handle parallel requests badly
        self.sent = 0
        """Number of requests sent so far."""
        self.keep_alive = True
        """Whether a connection is used for several requests; no longer once one has broken."""
        self.allowed_s = limits.answer_s
        """Seconds that the last request had for its answer."""
        self._bare = False
        """Whether requests have only the headers without which none is understood."""
        self._writes: tuple[Write, ...] | None = None
        """What a request other than GET writes now: nothing, if it logs in or out. None: it may not be sent."""
        self.only_read = True
        """Whether the last request was a GET."""
        self.retry_after_s = 0.0
        """Seconds to wait, by the `Retry-After` of the last answer; 0 if it had none."""
        self._logged_last: tuple[Any, ...] = ()
        """The last request in the log, and its answer."""
        self.lacks_basic = False
        """Whether the last answer refused a Basic login as such, whatever the password."""
        super().__init__(pool_connections=1, pool_maxsize=1, max_retries=0)

    @contextmanager
    def patience(self, answer_s: float) -> Iterator[None]:
        """Allow `answer_s` seconds for each answer in the block."""
        before, self._answer_s = self._answer_s, answer_s
        try:
            yield
        finally:
            self._answer_s = before

    @contextmanager
    def writing(self, *writes: Write) -> Iterator[None]:
        """Let requests other than GET be sent in the block, as these writes. Without any, they log in or out."""
        before, self._writes = self._writes, writes
        try:
            yield
        finally:
            self._writes = before

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **kwargs: Any) -> None:
        """Give the TLS context to the pool."""
        super().init_poolmanager(connections, maxsize, block, **kwargs, **self._tls)
        self.poolmanager.pool_classes_by_scheme = POOLS

    def build_connection_pool_key_attributes(self, request: PreparedRequest, verify: Any, cert: Any = None) -> Any:
        """Keep the context's verification: the `verify` of a request would replace it."""
        host, _ = super().build_connection_pool_key_attributes(request, verify, cert)
        return host, {}

    def cert_verify(self, *args: Any, **kwargs: Any) -> None:
        """Keep the context's own CAs."""

    def send(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> Response:
        """Wait until no other request to this BMC is under way, send, and read the whole answer.

        A login that this process knows to be refused is not sent: its request gets the answer that refused it.
        """
        path = urlsplit(request.path_url).path.rstrip("/")  # a redirect may spell it in its own way
        has_login = not self._in_session or (request.method == "POST" and path == SESSIONS)
        with self._turn, time_limit(self._seconds_left()):
            exchange = partial(self._exchange, request, *args, **kwargs)
            if _log.isEnabledFor(logging.DEBUG):
                exchange = partial(self._logged, request, exchange)
            if request.method != "GET":
                exchange = partial(self._written, request, exchange)
            return self._with_login(request, exchange) if has_login else exchange()

    def _with_login(self, request: PreparedRequest, exchange: Callable[[], Response]) -> Response:
        """Send a request that has the login, once; once more if the BMC has accepted that login before."""
        login = self._login
        response = REFUSED.get(login)
        if response is None:
            response = exchange()
            if login in ACCEPTED and _is_refused_login(response):
                response = exchange()
        if response.status_code == HTTPStatus.UNAUTHORIZED:
            REFUSED[login] = response
        elif response.ok and not response.is_redirect and not ROOT.startswith(request.path_url):
            ACCEPTED.add(login)
        schemes = response.headers.get("WWW-Authenticate", "").lower()
        self.lacks_basic = not self._in_session and bool(schemes) and "basic" not in schemes
        return response

    def _seconds_left(self) -> float:
        self.allowed_s = min(self._answer_s, self._ends_at - time.monotonic())
        if self.allowed_s <= 0:
            raise OutOfTimeError
        return self.allowed_s

    def _exchange(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> Response:
        if request.method == "GET" and self.sent >= self._limits.reads:
            raise OutOfReadsError(self.sent)
        self.sent += 1
        self.only_read, self.retry_after_s = request.method == "GET", 0.0
        if not self.keep_alive:
            request.headers["Connection"] = "close"
            self.poolmanager.clear()  # some BMCs close a connection without saying so: do not use it again
        if self._bare:
            request.headers.pop("OData-Version", None)
            request.headers["User-Agent"] = SKIP_HEADER
        try:
            response = super().send(request, *args, **{**kwargs, "stream": True})
        except exceptions.ConnectionError as error:
            if isinstance(error.args[0], ProtocolError):
                self.keep_alive = False
            raise
        response._content = self._body(response)
        self.retry_after_s = _seconds(response.headers.get("Retry-After", ""))
        if response.status_code == HTTPStatus.NOT_ACCEPTABLE and not self._bare:
            # hshwang1994/server-exporter: an XCC3 accepts neither header. Nothing was done, so it is sent again.
            self._bare = True
            return self._exchange(request, *args, **kwargs)
        self._redirect(request, response)
        return response

    def _redirect(self, request: PreparedRequest, response: Response) -> None:
        """Prepare a redirect for requests: within this BMC, and with a write that stays one.

        Raises:
            RedirectedError: It leads to another server.
        """
        if not response.is_redirect:
            return
        target = urlsplit(urljoin(str(request.url), response.headers["Location"]))
        if _origin(target) != _origin(urlsplit(self._base)):
            raise RedirectedError(f"{target.scheme}://{target.netloc}")
        response.headers["Location"] = target._replace(scheme="", netloc="").geturl()
        if request.method != "GET" and response.status_code in MOVED:
            response.status_code = HTTPStatus.PERMANENT_REDIRECT

    def _written(self, request: PreparedRequest, exchange: Callable[[], Response]) -> Response:
        """Write the line of each write that a request makes, then send it.

        Raises:
            UnplannedWriteError: The run has a write plan without it, or no block of `writing` names it.
        """
        if self._writes is None:
            raise UnplannedWriteError(f"not made: a {request.method} that no write names", where=self._base)
        for write in self._writes:
            make(write)
        return exchange()

    def _logged(self, request: PreparedRequest, exchange: Callable[[], Response]) -> Response:
        """Write the request and its answer to the log, without their headers.

        Most answers are those to polls, and the same as the one before: of these, the line says only that.
        """
        request_line, began = f"{self._base} {request.method} {self.mask.text(request.path_url)}", time.monotonic()
        _log.debug("%s", f"{request_line} {self.mask.body(request.body)}".rstrip())
        try:
            response = exchange()
        except Exception as error:
            spent_s, reason = time.monotonic() - began, f"{type(error).__name__}: {error}"
            _log.debug("%s: no answer, %.3f s %s", request_line, spent_s, self.mask.body(reason))
            raise
        if token := response.headers.get(TOKEN):
            self.mask.learn(SecretStr(token))
        answered = f"HTTP {response.status_code}, {time.monotonic() - began:.3f} s"
        answer = request.method, request.url, response.status_code, response.content
        body = SAME if response.content and answer == self._logged_last else self.mask.body(response.content)
        self._logged_last = answer
        _log.debug("%s", f"{request_line}: {answered} {body}".rstrip())
        return response

    def _body(self, response: Response) -> bytes:
        body = joined(response.iter_content(CHUNK), self._limits.body_bytes)
        if body is None:
            response.close()
            raise AnswerTooLongError(self._limits.body_bytes)
        return body.removeprefix(BOM_UTF8).strip(b"\0")  # neither is JSON


def _origin(url: SplitResult) -> tuple[str, str | None, int | None]:
    return url.scheme, url.hostname, url.port or {"http": 80, "https": 443}.get(url.scheme)


def _is_refused_login(response: Response) -> bool:
    """Whether an answer refuses the login, and names no other reason, as the lack of a privilege."""
    status = response.status_code
    return status == HTTPStatus.UNAUTHORIZED and reason_of(status, response.text) is REFUSED_LOGIN


def _seconds(retry_after: str) -> float:
    """Return the seconds that a `Retry-After` header asks for, as a number or a date; 0 if it cannot be read."""
    text = retry_after.strip()
    if text.isdecimal():
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return 0.0
