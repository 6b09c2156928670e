"""Readiness of an API, by a real TLS server on loopback."""

import gzip
import logging
import select
import socket
import struct
import threading
import time
import tracemalloc
from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path

import pytest

from testing.certificates import authority
from testing.fakes.fleet.certificates import expired as ended
from testing.fakes.https_server import UNAVAILABLE, https_server
from wires.api.api import Api
from wires.api.https import Endpoint, connect_problem, get, handshake_problem, pool_at, trusting

NAME, LOCAL = "api.okd.lab.test", "127.0.0.1"


def endpoint(port: int, *, name: str = NAME, ca: str = "test-ca", timeout_s: float = 3) -> Endpoint:
    return Endpoint(port, "/readyz", name, authority(ca).pem, timeout_s)


def test_an_api_that_answers_200_under_its_name_and_ca_is_ready(certificate: str) -> None:
    with https_server(certificate) as server:
        assert endpoint(server.port).is_ready(LOCAL)
        assert server.names == [NAME]
        request, *headers = server.requests[0].split(b"\r\n")
        assert request == b"GET /readyz HTTP/1.1"
        assert [header for header in headers if header.startswith(b"Host:")] == [b"Host: api.okd.lab.test"]
        assert b"Connection: close" in headers


def test_an_api_at_an_ipv6_address_is_ready(certificate: str) -> None:
    with https_server(certificate, address="::1") as server:
        assert endpoint(server.port).is_ready("::1")
        assert server.names == [NAME]
        assert connect_problem("::1", server.port) is None
    assert "refused" in str(connect_problem("::1", server.port))


def test_each_request_opens_a_new_connection(certificate: str) -> None:
    with https_server(certificate) as server:
        assert all(endpoint(server.port).is_ready(LOCAL) for _ in range(3))
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("name", "ca"), [("api.other.test", "test-ca"), (NAME, "other-ca")], ids=["wrong-name", "wrong-ca"]
)
def test_an_api_with_another_name_or_ca_is_not_ready(certificate: str, name: str, ca: str) -> None:
    with https_server(certificate) as server:
        asked = endpoint(server.port, name=name, ca=ca)
        assert not asked.is_ready(LOCAL)
        assert str(asked.problem(LOCAL)).startswith("certificate verify failed: ")
        assert server.requests == []


@pytest.fixture
def expired(tmp_path: Path) -> str:
    """Path of a key and certificate as `certificate`'s, which has expired."""
    pair = ended(authority("test-ca"), authority("test-ca").issue([NAME]))
    (tmp_path / "api.pem").write_text(pair.key + pair.certificate)
    return str(tmp_path / "api.pem")


def test_an_api_whose_certificate_has_expired_is_told_from_another_one(expired: str) -> None:
    with https_server(expired) as server:
        says = "its certificate, or that of its CA, has expired: see docs/how-to/what-changed.md"
        assert endpoint(server.port).problem(LOCAL) == says
        assert str(endpoint(server.port, ca="other-ca").problem(LOCAL)).startswith("certificate verify failed: ")
        assert server.requests == []


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        pytest.param(UNAVAILABLE, 503, id="503"),
        pytest.param(b"HTTP/1.0 403 Forbidden\r\n\r\n", 403, id="403"),
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", 204, id="204"),
        pytest.param(b"HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 0\r\n\r\n", 302, id="302"),
    ],
)
def test_another_status_is_not_ready(certificate: str, answer: bytes, status: int) -> None:
    with https_server(certificate, answer) as server:
        assert endpoint(server.port).problem(LOCAL) == f"status {status}"
        assert len(server.requests) == 1
        assert not endpoint(server.port).is_ready(LOCAL)


@pytest.mark.parametrize(
    "answer", [b"SSH-2.0-OpenSSH\r\n", b"\x00\x01\x02", b"HTTP/1.1 2"], ids=["ssh", "binary", "torn"]
)
def test_a_server_that_does_not_speak_http_is_not_ready(certificate: str, answer: bytes) -> None:
    with https_server(certificate, answer) as server:
        assert not endpoint(server.port).is_ready(LOCAL)


def test_a_silent_server_costs_no_more_than_the_timeout(certificate: str) -> None:
    with https_server(certificate, b"") as server:
        started = time.monotonic()
        assert not endpoint(server.port, timeout_s=0.2).is_ready(LOCAL)
        assert time.monotonic() - started < 2


def test_a_machine_that_hangs_costs_no_more_than_the_timeout() -> None:
    """Its kernel accepts the connection, and nobody answers the handshake."""
    with socket.create_server((LOCAL, 0)) as silent:
        started = time.monotonic()
        assert not endpoint(silent.getsockname()[1], timeout_s=0.2).is_ready(LOCAL)
        assert time.monotonic() - started < 2


def dripping(answer: bytes) -> Iterator[bytes]:
    """Yield the bytes of an answer, one every 20 ms."""
    for byte in answer:
        yield bytes([byte])
        threading.Event().wait(0.02)


HEAD = b"HTTP/1.1 200 OK\r\n"
DRIPS = {
    "body": HEAD + b"Content-Length: 400\r\n\r\n" + b"x" * 400,
    "headers": HEAD + b"X-Header: of some length\r\n" * 20,
    "chunks": HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 80,
    "early-answers": b"HTTP/1.1 100 Continue\r\n\r\n" * 20,
}


@pytest.mark.parametrize("answer", DRIPS.values(), ids=DRIPS)
def test_an_answer_that_trickles_in_ends_at_its_limit(certificate: str, answer: bytes) -> None:
    """S10. Each byte comes in time; all of them would take over 8 s."""
    with https_server(certificate, dripping(answer)) as server:
        started = time.monotonic()
        problem = str(endpoint(server.port, timeout_s=0.3).problem(LOCAL))
        assert problem.endswith(("timed out", "in time"))
        assert time.monotonic() - started < 4


ENDLESS = {
    "body": HEAD + b"\r\n",
    "chunks": HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"7fffffff\r\n",
    "gzip": HEAD + b"Content-Encoding: gzip\r\n\r\n" + 64 * gzip.compress(bytes(1 << 20)),
}


@pytest.mark.parametrize("begin", ENDLESS.values(), ids=ENDLESS)
def test_an_answer_without_end_is_read_up_to_its_limit(
    certificate: str, begin: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S10."""
    monkeypatch.setattr("wires.api.https.MOST_BYTES", 1 << 20)
    tracemalloc.start()
    try:
        with https_server(certificate, chain([begin], repeat(bytes(1 << 16)))) as server:
            problem = endpoint(server.port, timeout_s=10).problem(LOCAL)
        assert problem == "the answer is longer than 1 MiB"
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_a_server_without_tls_is_not_ready() -> None:
    with socket.create_server((LOCAL, 0)) as listener:
        assert not endpoint(listener.getsockname()[1], timeout_s=0.2).is_ready(LOCAL)


def test_a_closed_port_neither_connects_nor_is_ready() -> None:
    with socket.create_server((LOCAL, 0)) as listener:
        port = listener.getsockname()[1]
        assert connect_problem(LOCAL, port) is None
    assert "refused" in str(connect_problem(LOCAL, port))
    assert not endpoint(port).is_ready(LOCAL)


def test_a_peer_that_resets_the_connection_before_tls_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has just lost the VIP does so. Python leaves that socket open, see `filterwarnings`."""
    with socket.create_server((LOCAL, 0)) as listener:
        connect = socket.create_connection

        def connect_to_be_reset(*_: object, **__: object) -> socket.socket:
            connection = connect(listener.getsockname())
            accepted, _ = listener.accept()
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            accepted.close()
            select.select([connection], [], [], 3)
            return connection

        monkeypatch.setattr("urllib3.util.connection.create_connection", connect_to_be_reset)
        assert endpoint(1).problem(LOCAL) == "Connection reset by peer"


def test_the_api_and_the_config_server_are_verified_by_their_own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[object, ...]] = []

    class Noted(Endpoint):
        def problem(self, address: str) -> str | None:
            asked.append((address, self.port, self.path, self.server_name, self.ca_pem, self.timeout_s))
            return "status 503"

    monkeypatch.setattr("wires.api.api.Endpoint", Noted)
    api = Api("okd.lab.test", "a PEM")
    assert api.problem("192.0.2.5") == "status 503"
    assert api.problem("192.0.2.5", timeout_s=10) == "status 503"
    assert not api.is_ready("192.0.2.6")
    assert not api.serves_config("192.0.2.7")
    assert asked == [
        ("192.0.2.5", 6443, "/readyz", "api.okd.lab.test", "a PEM", 3),
        ("192.0.2.5", 6443, "/readyz", "api.okd.lab.test", "a PEM", 10),
        ("192.0.2.6", 6443, "/readyz", "api.okd.lab.test", "a PEM", 3),
        ("192.0.2.7", 22623, "/healthz", "api-int.okd.lab.test", "a PEM", 3),
    ]


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG, "wires.api.https")
    return caplog


@pytest.mark.parametrize(("address", "host"), [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]")], ids=["ipv4", "ipv6"])
def test_the_log_has_the_url_and_status_and_no_content(
    certificate: str, logged: pytest.LogCaptureFixture, address: str, host: str
) -> None:
    answer = b"HTTP/1.1 200 OK\r\nX-Token: canary-1\r\nContent-Length: 8\r\n\r\ncanary-2"
    with https_server(certificate, answer, address=address) as server:
        pool = pool_at(address, server.port, NAME, trusting(authority("test-ca").pem), 3)
        assert get(pool, "/readyz", 3) == (200, b"canary-2")
        assert logged.messages == [f"GET https://{host}:{server.port}/readyz: status 200"]


def test_the_log_has_the_error_that_took_the_place_of_an_answer(logged: pytest.LogCaptureFixture) -> None:
    with socket.create_server((LOCAL, 0)) as listener:
        port = listener.getsockname()[1]
    assert not endpoint(port).is_ready(LOCAL)
    (line,) = logged.messages
    assert line.startswith(f"GET https://127.0.0.1:{port}/readyz: ConnectionRefusedError: ")


def test_a_server_that_shows_a_certificate_of_any_signer_and_name_serves(certificate: str) -> None:
    with https_server(certificate) as server:
        assert handshake_problem(LOCAL, server.port) is None
    assert handshake_problem(LOCAL, server.port) == "Connection refused"


def test_a_kubelet_without_a_certificate_does_not_serve() -> None:
    with https_server("") as server:
        assert str(handshake_problem(LOCAL, server.port)) == "sslv3 alert handshake failure"


def test_a_kubelet_that_says_nothing_does_not_serve() -> None:
    with socket.create_server((LOCAL, 0)) as listener:
        port = listener.getsockname()[1]
        assert handshake_problem(LOCAL, port, timeout_s=0.2) == "The handshake operation timed out"
