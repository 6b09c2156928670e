"""sushy's connector with stricter rules: it logs in by itself, resends nothing, and remembers what it has read."""

import json
import logging
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import Any

import sushy
from pydantic import SecretStr
from sushy.connector import Connector

from cluster.values.bmc_url import BmcUrl
from wires.bmc.access import BmcAccess, Limits
from wires.redfish.client.adapter import SESSIONS, TOKEN, BmcAdapter
from wires.redfish.client.logins import Login
from wires.redfish.client.masking import TrafficMask
from wires.redfish.client.refusal_body import make_readable
from wires.redfish.client.tasks import document_of, task_path

IF_MATCH, NEXT_PAGE = "If-Match", "Members@odata.nextLink"
UNMATCHED = frozenset({HTTPStatus.PRECONDITION_FAILED, HTTPStatus.PRECONDITION_REQUIRED})
"""Answers to a change that does not name the version of what it changes."""
MOST_REDIRECTS = 5
MOST_PAGES = 100
SINGLE_ATTEMPT = 1  # for sushy's `server_side_retries`: 0 would mean three attempts, of POSTs too

# sushy logs a warning for what this program raises as an error. Without a handler, Python would print the warning.
logging.getLogger("sushy").addHandler(logging.NullHandler())


class BmcConnector(Connector):  # type: ignore[misc]
    """HTTP to one BMC. The first request logs in; `close` ends the session, if there is one."""

    def __init__(self, url: BmcUrl, access: BmcAccess, password: SecretStr, limits: Limits) -> None:
        super().__init__(
            url.base,
            verify=access.verify,
            server_side_retries=SINGLE_ATTEMPT,
            default_request_timeout=limits.answer_s,
            connect_timeout=limits.connect_s,
            response_callback=make_readable,
        )
        basic = b64encode(f"{access.username}:{password.get_secret_value()}".encode()).decode()
        login = Login.of(url.base, access.username, password, in_session=access.session)
        self.adapter = BmcAdapter(access, login, limits, TrafficMask(password, SecretStr(basic)))
        self._login: Callable[[], dict[str, str]] | None = None
        if access.session:
            self._login = lambda: {"UserName": access.username, "Password": password.get_secret_value()}
        self._token_path = ""
        self.task = ""
        """Path of the task that the last write has started; empty if none."""
        self._remembered: dict[str, Any] | None = None
        """The answers to reads by path since the last write; None: each read is sent."""
        session = self._session
        # Mount no other origin: a link in a BMC's answer must not carry the password to another server.
        session.adapters.clear()
        session.mount(f"{url.base.lower()}/", self.adapter)
        session.trust_env = False  # the operator's proxies and ~/.netrc are not meant for BMCs
        session.max_redirects = MOST_REDIRECTS
        # sushy closes each connection, and spends most of its time in one handshake per request.
        session.headers["Connection"] = "keep-alive"
        if not access.session:
            self.set_http_basic_auth(access.username.encode(), password.get_secret_value().encode())

    def remember(self) -> None:
        """Send no GET twice from now on, until something else is sent or this is called again."""
        self._remembered = {}

    def close_each(self) -> None:
        """Open a new connection for each request from now on."""
        self.adapter.keep_alive = False

    def close(self) -> None:
        """End the session, and close the connection."""
        if self._token_path:
            # If this fails, the BMC ends the session when it expires. The work is done either way.
            adapter = self.adapter
            with suppress(sushy.exceptions.SushyError), adapter.patience(self._connect_timeout), adapter.writing():
                self._once("DELETE", self._token_path)
            self._token_path = ""
        super().close()

    def _op(self, method: str, path: str = "", **kwargs: Any) -> Any:
        """Send a request of sushy's, read all pages of a collection, and note the task that a write starts."""
        if method == "GET":
            known = {} if self._remembered is None else self._remembered
            if path not in known:
                known[path] = self._with_all_pages(self._logged_in(method, path, **kwargs))
            return known[path]
        self.task = ""
        self._remembered = None if self._remembered is None else {}
        send: Callable[..., Any] = self._patch if method == "PATCH" else partial(self._logged_in, method)
        answer = send(path, **kwargs)
        self.task = task_path(answer)
        return answer

    def _with_all_pages(self, answer: Any) -> Any:
        """Give the answer of a collection the members of its further pages, and a list where it has null."""
        if b'"Members' in answer.content:
            document = document_of(answer)
            members, page, links = list(document.get("Members") or ()), document, set[str]()
            while (link := page.get(NEXT_PAGE)) and link not in links and len(links) < MOST_PAGES:
                links.add(link)
                page = document_of(self._logged_in("GET", link))
                members += page.get("Members") or ()
            listed = [member for member in members if isinstance(member, dict)]
            answer._content = json.dumps(document | {"Members": listed}).encode()
        return answer

    def _patch(self, path: str, *, headers: dict[str, str] | None = None, **kwargs: Any) -> Any:
        """Change a resource. Where the BMC wants its version named, name it: sushy reads that only from headers."""
        given = headers or {}
        try:
            return self._logged_in("PATCH", path, headers=given, **kwargs)
        except sushy.exceptions.HTTPError as error:
            if error.status_code not in UNMATCHED or given.get(IF_MATCH):
                raise
            refused = error
        read = self._logged_in("GET", path)
        tags = document_of(read).get("@odata.etag"), read.headers.get("ETag"), "*"
        for tag in dict.fromkeys(filter(None, tags)):
            try:
                return self._logged_in("PATCH", path, headers={**given, IF_MATCH: tag}, **kwargs)
            except sushy.exceptions.HTTPError as error:
                if error.status_code not in UNMATCHED:
                    raise
                refused = error
        raise refused

    def _logged_in(self, method: str, path: str, **kwargs: Any) -> Any:
        """Send a request. Log in first if necessary, and again if the session has expired."""
        if self._login is None:
            return self._once(method, path, **kwargs)
        answer = self._with_token(method, path, **kwargs) if TOKEN in self._session.headers else None
        if answer is None:
            self._log_in()
            answer = self._with_token(method, path, **kwargs)
        # An iLO may refuse a session that it has just opened, and accept it then.
        return self._once(method, path, **kwargs) if answer is None else answer

    def _with_token(self, method: str, path: str, **kwargs: Any) -> Any:
        """Send a request. None: the BMC does not know the session, and did nothing, so it may be sent again."""
        try:
            return self._once(method, path, **kwargs)
        except sushy.exceptions.AccessError as error:
            if error.status_code != HTTPStatus.UNAUTHORIZED:
                raise
        return None

    def _once(self, method: str, path: str, **kwargs: Any) -> Any:
        """Send one request once. By itself, sushy would resend some, and not only GETs."""
        return super()._op(method, path, **{**kwargs, "server_side_retries_left": 0})

    def _log_in(self) -> None:
        self._session.headers.pop(TOKEN, None)
        with self.adapter.writing():
            answer = self._once("POST", SESSIONS, data=self._login and self._login())
        if TOKEN not in answer.headers:
            raise sushy.exceptions.MissingXAuthToken("POST", SESSIONS, answer)
        self._token_path = answer.headers.get("Location", "")
        self.set_http_session_auth(answer.headers[TOKEN])
