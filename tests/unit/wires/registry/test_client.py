"""A registry that is busy, or for which no time is left, over real TLS and in simulated time."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from base.errors import PreflightError
from base.http_client import pool_through
from testing.certificates import authority
from testing.fakes.clock import FakeClock
from testing.fakes.https_server import https_server
from wires.registry.client import MOST_WAIT_S, WAIT_S, Repository
from wires.registry.logins import Challenge

ADDRESS = "127.0.0.1"


def answer(status: str, *headers: str, body: bytes = b"") -> bytes:
    head = "\r\n".join((f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "Connection: close"))
    return head.encode() + b"\r\n\r\n" + body


@contextmanager
def repository(
    folder: Path, answered: bytes, clock: FakeClock, until: float
) -> Iterator[tuple[Repository, list[bytes]]]:
    """Yield a repository of a server that gives one answer, and the requests that it gets."""
    pair = authority("registry-ca").issue(["registry.lab.test"], [IPv4Address(ADDRESS)])
    (folder / "server.pem").write_text(pair.certificate + pair.key)
    context = ssl.create_default_context(cadata=authority("registry-ca").pem)
    with https_server(str(folder / "server.pem"), answered) as server, pool_through("", 5, context) as pool:
        name = f"{ADDRESS}:{server.port}"
        yield Repository(name, "okd/content", "bG9naW4=", lambda _: pool, clock, until), server.requests


@pytest.mark.parametrize(
    ("headers", "waited_s"),
    [
        pytest.param((), [WAIT_S, WAIT_S], id="none"),
        pytest.param(("Retry-After: 7",), [7.0, 7.0], id="seconds"),
        pytest.param(("Retry-After: 3600",), [MOST_WAIT_S, MOST_WAIT_S], id="an-hour"),
        pytest.param(("Retry-After: Fri, 27 Nov 2026 12:00:00 GMT",), [WAIT_S, WAIT_S], id="a-date"),
    ],
)
def test_a_busy_registry_is_asked_again_as_it_says(
    tmp_path: Path, headers: tuple[str, ...], waited_s: list[float]
) -> None:
    clock = FakeClock()
    with repository(tmp_path, answer("429 Too Many Requests", *headers), clock, clock.now() + 60) as (
        asked,
        requests,
    ):
        with pytest.raises(PreflightError, match="answers 429 Too Many Requests"):
            asked.has("manifests/latest")
        assert (clock.slept, len(requests)) == (waited_s, 3)


def test_nobody_waits_for_what_would_come_too_late(tmp_path: Path) -> None:
    clock = FakeClock()
    with repository(tmp_path, answer("503 Service Unavailable"), clock, clock.now() + 1) as (asked, requests):
        with pytest.raises(PreflightError, match="answers 503 Service Unavailable"):
            asked.has("manifests/latest")
        assert (clock.slept, len(requests)) == ([], 1)


def test_without_time_nothing_is_asked(tmp_path: Path) -> None:
    clock = FakeClock()
    with repository(tmp_path, answer("200 OK"), clock, clock.now()) as (asked, requests):
        with pytest.raises(PreflightError, match="not asked: no time is left"):
            asked.has("manifests/latest")
        assert requests == []


def test_other_content_than_that_of_the_digest_is_refused(tmp_path: Path) -> None:
    clock = FakeClock()
    with repository(tmp_path, answer("200 OK", body=b"{}"), clock, clock.now() + 60) as (asked, _):
        with pytest.raises(PreflightError, match=f"sends other content than that of sha256:{'a' * 64}"):
            asked.manifest(f"sha256:{'a' * 64}")
        assert asked.manifest("latest") == b"{}"


def test_a_login_is_sent_to_no_token_server_without_tls(tmp_path: Path) -> None:
    clock, challenge = FakeClock(), 'WWW-Authenticate: Bearer realm="http://127.0.0.1:1/token"'
    with repository(tmp_path, answer("401 Unauthorized", challenge), clock, clock.now() + 60) as (asked, requests):
        with pytest.raises(PreflightError, match="has its tokens given without TLS, so no login is sent there"):
            asked.open()
        assert [b"authorization" in request.lower() for request in requests] == [False]


def test_a_login_does_not_follow_a_redirection_to_another_host(tmp_path: Path) -> None:
    """A blob that a registry keeps elsewhere is there, by the redirection alone."""
    clock = FakeClock()
    elsewhere = answer("307 Temporary Redirect", "Location: https://192.0.2.1/blob")
    with repository(tmp_path, elsewhere, clock, clock.now() + 60) as (asked, requests):
        assert asked.has("blobs/sha256:0")
        assert len(requests) == 1


@pytest.mark.parametrize(
    "given", [b'{"token": "s3cret\\r\\nX-Other: 1"}', b'{"token": "\\u00fc \\u2028"}', b'{"token": [1]}', b"{}", b"1"]
)
def test_a_token_that_no_header_can_have_is_none(tmp_path: Path, given: bytes) -> None:
    clock = FakeClock()
    answered, none = answer("200 OK", body=given), "its token server gives no token"
    with (
        repository(tmp_path, answered, clock, clock.now() + 60) as (asked, _),
        pytest.raises(PreflightError, match=none) as error,
    ):
        asked._token(Challenge(f"https://{asked.registry}/token"))
    assert "s3cret" not in str(error.value)


@pytest.mark.parametrize(
    "answered",
    [
        pytest.param(answer("401 Unauthorized", 'WWW-Authenticate: Bearer realm="https://["'), id="for-a-token"),
        pytest.param(answer("307 Temporary Redirect", "Location: https://["), id="elsewhere"),
    ],
)
def test_a_registry_that_leads_to_no_url_is_refused(tmp_path: Path, answered: bytes) -> None:
    clock, none = FakeClock(), "leads to a URL that is none"
    with (
        repository(tmp_path, answered, clock, clock.now() + 60) as (asked, _),
        pytest.raises(PreflightError, match=none),
    ):
        asked.open()
