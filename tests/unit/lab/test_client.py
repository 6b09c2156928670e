"""The rehearsal's client of a Kubernetes API: when it makes another connection."""

import http.client
import ssl
from unittest.mock import Mock, create_autospec

import pytest

from lab.rehearsal.client import IDLE_S, Client


@pytest.mark.parametrize(("rest_s", "connections"), [(IDLE_S - 1, 1), (IDLE_S + 1, 2)], ids=["in-use", "rested"])
def test_a_connection_that_rested_is_not_used_again(
    rest_s: float, connections: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """haproxy had ended it: the drill of a worker that leaves broke off (2026-11-27)."""
    clock, connect = Mock(return_value=1000.0), Mock(side_effect=lambda *_: connection())
    monkeypatch.setattr("time.monotonic", clock)
    monkeypatch.setattr(Client, "_connect", connect)
    client = Client("192.168.111.5", "api.okd.lab.test", ssl.create_default_context())
    client.call("GET", "/readyz")
    clock.return_value += rest_s
    client.call("GET", "/readyz")
    assert connect.call_count == connections


def connection() -> Mock:
    made: Mock = create_autospec(http.client.HTTPConnection, instance=True)
    made.getresponse.return_value = create_autospec(http.client.HTTPResponse, instance=True, status=http.client.OK)
    made.getresponse.return_value.read.return_value = b"{}"
    return made
