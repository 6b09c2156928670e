"""A client that reads one repository of a registry.

OCI Distribution 1.1; tokens as in github.com/distribution/distribution, docs/content/spec/auth/token.md. Why no
library: docs/adr/0075.
"""

import hashlib
import json
import re
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from base.bounded_answer import joined, time_limit
from base.clock import Clock
from base.errors import MISSHAPEN, PreflightError
from base.http_client import os_error
from cluster.values.image_reference import DEFAULT_REGISTRY
from wires.registry.logins import Challenge

if TYPE_CHECKING:
    from urllib3 import PoolManager

MANIFESTS = ", ".join(
    (
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    )
)
MOST_MANIFEST = 4 << 20
"""Bytes; registries refuse larger ones (OCI Distribution 1.1, "Pushing Manifests")."""
REQUEST_S = 20.0
"""Limit of one answer."""
TRIES = 3
BUSY = (HTTPStatus.TOO_MANY_REQUESTS, *range(500, 600))
WAIT_S = 2.0
"""Before a busy registry is asked again, where it names no other time."""
MOST_WAIT_S = 10.0
DENIED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
HOSTS = {DEFAULT_REGISTRY: "registry-1.docker.io"}
"""Registries whose name is not that of their host (containers/image, docker/docker_client.go)."""
_TOKEN = re.compile("[!-~]+")
"""What a header can have; RFC 6750, 2.1, allows less."""
AGAIN = "see that it runs, and that this machine reaches it; then repeat the command"


class Answer(NamedTuple):
    """An answer of a registry."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Blob(NamedTuple):
    """What a manifest says of a blob."""

    digest: str
    size: int


@dataclass
class Repository:
    """A repository, asked by as many threads as its pools have connections.

    Args:
        registry: Host, with a port if one is named.
        path: The repository's name there.
        login: Base64 of `user:password`; empty: none.
        pool: Returns the pool for a host, which may lead through a proxy.
        until: When the clock passes this, nothing more is asked.
    """

    registry: str
    path: str
    login: str = field(repr=False)
    pool: Callable[[str], "PoolManager"]
    clock: Clock
    until: float
    _authorization: dict[str, str] = field(default_factory=dict, repr=False)

    def open(self) -> None:
        """Log in, as the registry asks for it.

        Raises:
            PreflightError: It cannot be reached, is no registry, or refuses the login.
        """
        url = f"https://{self.host}/v2/"
        answer = self._ask("GET", url, {})
        if answer.status == HTTPStatus.OK:
            return
        if answer.status in BUSY:
            raise PreflightError(f"answers {_named(answer.status)}", where=self.registry, fix=AGAIN)
        if answer.status != HTTPStatus.UNAUTHORIZED:
            what = f"answers {_named(answer.status)} at /v2/, so it is no registry of images"
            raise PreflightError(what, where=self.registry, fix="correct its host and port in the install-config")
        challenge = Challenge.of(answer.headers.get("WWW-Authenticate", ""))
        if challenge is None:
            raise PreflightError("asks for a login in an unknown way", where=self.registry, fix=AGAIN)
        self._authorization = self._token(challenge) if challenge.realm else self._basic()

    def manifest(self, version: str) -> bytes | None:
        """Return a manifest by its digest or tag; None: the repository has none.

        Raises:
            PreflightError: The registry refuses, or sends other content than that of the digest.
        """
        answer = self._read("GET", f"manifests/{version}", {"Accept": MANIFESTS}, MOST_MANIFEST)
        if answer.status == HTTPStatus.NOT_FOUND:
            return None
        self._check_content(version, answer.body)
        return answer.body

    def has(self, what: str) -> bool:
        """Return whether the repository has `blobs/<digest>` or `manifests/<digest or tag>`, without reading it.

        Raises:
            PreflightError: The registry refuses.
        """
        return self._read("HEAD", what, {"Accept": MANIFESTS}).status != HTTPStatus.NOT_FOUND

    def blob(self, blob: Blob) -> bytes | None:
        """Return the content of a blob; None: the repository has none.

        Raises:
            PreflightError: The registry refuses, or sends other content.
        """
        answer = self._read("GET", f"blobs/{blob.digest}", {}, blob.size)
        if answer.status == HTTPStatus.NOT_FOUND:
            return None
        self._check_content(blob.digest, answer.body)
        return answer.body

    @property
    def host(self) -> str:
        """The host that is asked."""
        return HOSTS.get(self.registry, self.registry)

    @property
    def name(self) -> str:
        """The repository as an install-config has it."""
        return f"{self.registry}/{self.path}"

    def _read(self, method: str, what: str, headers: Mapping[str, str], most: int = 0) -> Answer:
        answer = self._ask(method, f"https://{self.host}/v2/{self.path}/{what}", headers, most)
        if answer.status in DENIED:
            whose = "the login of the pull secret" if self.login else "a client without a login"
            fix = "give that login the right to pull" if self.login else "add a login for it to the pull secret"
            raise PreflightError(f"refuses {whose} ({_named(answer.status)})", where=self.name, fix=fix)
        if answer.status >= HTTPStatus.BAD_REQUEST and answer.status != HTTPStatus.NOT_FOUND:
            raise PreflightError(f"answers {_named(answer.status)}", where=self.name, fix=AGAIN)
        return answer

    def _basic(self) -> dict[str, str]:
        if not self.login:
            what = "wants a login, and the pull secret has none for it"
            raise PreflightError(what, where=self.registry, fix="add one to the pull secret")
        return {"Authorization": f"Basic {self.login}"}

    def _token(self, challenge: Challenge) -> dict[str, str]:
        """Return the header with a token; the login, if there is one, goes to who gives tokens, over TLS only."""
        if not challenge.realm.startswith("https://"):
            what = "has its tokens given without TLS, so no login is sent there"
            raise PreflightError(what, where=self.registry, fix="set its token server up with TLS")
        headers = self._basic() if self.login else {}
        answer = self._ask("GET", challenge.token_url(self.path), headers, MOST_MANIFEST)
        if answer.status != HTTPStatus.OK:
            whose = "the login of the pull secret" if self.login else "a client without a login"
            what = f"its token server refuses {whose} ({_named(answer.status)})"
            raise PreflightError(what, where=self.name, fix="correct the login for it in the pull secret")
        with suppress(*MISSHAPEN):
            given = json.loads(answer.body)
            token = given.get("token") or given["access_token"]
            if _TOKEN.fullmatch(token):
                return {"Authorization": f"Bearer {token}"}
        raise PreflightError("its token server gives no token", where=self.registry, fix=AGAIN)

    def _ask(self, method: str, url: str, headers: Mapping[str, str], most: int = MOST_MANIFEST) -> Answer:
        """Return the answer to one request, which is repeated while the registry is busy, and there is time."""
        for _ in range(TRIES - 1):
            answer = self._once(method, url, headers, most)
            wait_s = _wait_s(answer.headers.get("Retry-After", ""))
            if answer.status not in BUSY or self.clock.now() + wait_s >= self.until:
                return answer
            self.clock.sleep(wait_s)
        return self._once(method, url, headers, most)

    def _once(self, method: str, url: str, headers: Mapping[str, str], most: int) -> Answer:
        from urllib3.exceptions import HTTPError  # noqa: PLC0415  (a preview asks no registry)

        left_s = self.until - self.clock.now()
        if left_s <= 0:
            raise PreflightError("not asked: no time is left", where=self.name, fix="repeat the command")
        sent = {**self._authorization, **headers}
        try:
            with time_limit(min(left_s, REQUEST_S)):
                # A redirection of HEAD means that it is there; a token is not sent to other hosts.
                got = self.pool(urlsplit(url).hostname or "").request(
                    method, url, headers=sent, redirect=method == "GET", preload_content=False
                )
                body = joined(got.stream(1 << 16), most) if method == "GET" else b""
                (got.close if body is None else got.release_conn)()
        except HTTPError as error:
            raise _unreachable(self.registry, os_error(error)) from None
        except OSError as error:
            raise _unreachable(self.registry, error) from None
        except ValueError:  # of urllib.parse
            raise PreflightError("leads to a URL that is none", where=self.registry, fix=AGAIN) from None
        if body is None:
            what = f"sends more than {most:,} bytes of {url.rpartition('/')[2]}"
            raise PreflightError(what, where=self.name, fix="copy the release there again")
        return Answer(got.status, got.headers, body)

    def _check_content(self, digest: str, content: bytes) -> None:
        if digest.startswith("sha256:") and hashlib.sha256(content).hexdigest() != digest.removeprefix("sha256:"):
            fix = "copy the release there again"
            raise PreflightError(f"sends other content than that of {digest}", where=self.name, fix=fix)


def _unreachable(registry: str, error: OSError) -> PreflightError:
    if isinstance(error, ssl.SSLCertVerificationError):
        what = f"the cluster does not trust the certificate that it shows: {error.verify_message}"
        fix = "write the CA that signed it into additionalTrustBundle; or give it a certificate for this name"
        return PreflightError(what, where=registry, fix=fix)
    reason = "no complete answer in time" if isinstance(error, TimeoutError) else error.strerror or str(error)
    return PreflightError(f"cannot be asked: {reason}", where=registry, fix=AGAIN)


def _named(status: int) -> str:
    """Return a status with its name."""
    known = {each.value: each.phrase for each in HTTPStatus}
    return f"{status} {known[status]}" if status in known else str(status)


def _wait_s(retry_after: str) -> float:
    return min(float(retry_after), MOST_WAIT_S) if retry_after.isascii() and retry_after.isdecimal() else WAIT_S
