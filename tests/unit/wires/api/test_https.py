"""Readiness, asked of a real TLS server on loopback."""

import socket
import ssl
import time

import pytest

from testing.certificates import authority
from testing.fakes.https_server import UNAVAILABLE, https_server
from wires.api.api import API_PORT, CONFIG_PORT, Api
from wires.api.https import Endpoint, connect_problem

NAME, LOCAL = "api.okd.lab.test", "127.0.0.1"


def endpoint(port: int, *, name: str = NAME, ca: str = "test-ca", timeout_s: float = 3) -> Endpoint:
    return Endpoint(port, "/readyz", name, authority(ca).pem, timeout_s)


def test_an_api_that_answers_200_under_its_name_and_ca_is_ready(certificate: str) -> None:
    with https_server(certificate) as server:
        assert endpoint(server.port).is_ready(LOCAL)
        assert server.names == [NAME]
        assert server.requests[0].startswith(b"GET /readyz HTTP/1.1\r\nHost: api.okd.lab.test\r\n")


def test_an_ipv6_address_is_asked_alike(certificate: str) -> None:
    with https_server(certificate, address="::1") as server:
        assert endpoint(server.port).is_ready("::1")
        assert server.names == [NAME]
        assert connect_problem("::1", server.port) is None
    assert "refused" in str(connect_problem("::1", server.port))


def test_each_question_is_a_fresh_connection(certificate: str) -> None:
    with https_server(certificate) as server:
        assert all(endpoint(server.port).is_ready(LOCAL) for _ in range(3))
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("name", "ca"), [("api.other.test", "test-ca"), (NAME, "other-ca")], ids=["wrong-name", "wrong-ca"]
)
def test_a_certificate_of_somebody_else_is_not_ready(certificate: str, name: str, ca: str) -> None:
    with https_server(certificate) as server:
        asked = endpoint(server.port, name=name, ca=ca)
        assert not asked.is_ready(LOCAL)
        with pytest.raises(ssl.SSLCertVerificationError):
            asked.get(LOCAL)
        assert server.requests == []


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        pytest.param(UNAVAILABLE, 503, id="503"),
        pytest.param(b"HTTP/1.0 403 Forbidden\r\n\r\n", 403, id="403"),
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", 204, id="204"),
    ],
)
def test_another_status_is_not_ready(certificate: str, answer: bytes, status: int) -> None:
    with https_server(certificate, answer) as server:
        assert endpoint(server.port).get(LOCAL) == status
        assert not endpoint(server.port).is_ready(LOCAL)


@pytest.mark.parametrize(
    "answer", [b"SSH-2.0-OpenSSH\r\n", b"\x00\x01\x02", b"HTTP/1.1 2"], ids=["ssh", "binary", "torn"]
)
def test_what_is_no_http_is_not_ready(certificate: str, answer: bytes) -> None:
    with https_server(certificate, answer) as server:
        assert not endpoint(server.port).is_ready(LOCAL)


def test_a_silent_server_costs_no_more_than_the_timeout(certificate: str) -> None:
    with https_server(certificate, b"") as server:
        started = time.monotonic()
        assert not endpoint(server.port, timeout_s=0.2).is_ready(LOCAL)
        assert time.monotonic() - started < 2


def test_a_server_without_tls_is_not_ready() -> None:
    with socket.create_server((LOCAL, 0)) as listener:
        assert not endpoint(listener.getsockname()[1], timeout_s=0.2).is_ready(LOCAL)


def test_a_closed_port_neither_connects_nor_is_ready() -> None:
    with socket.create_server((LOCAL, 0)) as listener:
        port = listener.getsockname()[1]
        assert connect_problem(LOCAL, port) is None
    assert "refused" in str(connect_problem(LOCAL, port))
    assert not endpoint(port).is_ready(LOCAL)


def test_a_cluster_s_api_and_config_server_are_asked_by_their_own_names() -> None:
    api = Api("okd.lab.test", authority("test-ca").pem)
    asked = [(each.port, each.path, each.server_name) for each in (api._ready, api._config)]
    assert asked == [
        (API_PORT, "/readyz", "api.okd.lab.test"),
        (CONFIG_PORT, "/healthz", "api-int.okd.lab.test"),
    ]
