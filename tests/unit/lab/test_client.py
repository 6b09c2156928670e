"""The rehearsal's client of a Kubernetes API: when it makes another connection."""

import http.client
import ssl
from contextlib import AbstractContextManager, nullcontext
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


@pytest.mark.parametrize(
    ("method", "answers", "fails"),
    [
        pytest.param("GET", 1, False, id="read-on-a-kept-one"),
        pytest.param("PUT", 1, True, id="write-on-a-kept-one"),
        pytest.param("GET", 0, True, id="read-on-a-new-one"),
    ],
)
def test_a_read_whose_connection_ended_meanwhile_is_made_again(
    method: str, answers: int, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The VIP had moved on from a node that was resumed: the rehearsal of a pair broke off (2026-11-29)."""
    ended, made = connection(), connection()
    ended.getresponse.side_effect = [ended.getresponse.return_value] * answers + [
        http.client.RemoteDisconnected("ended")
    ]
    monkeypatch.setattr(Client, "_connect", Mock(side_effect=[ended, made]))
    client = Client("192.168.111.5", "api.okd.lab.test", ssl.create_default_context())
    for _ in range(answers):
        client.call("GET", "/readyz")
    outcome: AbstractContextManager[object] = (
        pytest.raises(http.client.RemoteDisconnected) if fails else nullcontext()
    )
    with outcome:
        client.call(method, "/readyz")
    assert made.request.called is not fails


def connection() -> Mock:
    made: Mock = create_autospec(http.client.HTTPConnection, instance=True)
    made.getresponse.return_value = create_autospec(http.client.HTTPResponse, instance=True, status=http.client.OK)
    made.getresponse.return_value.read.return_value = b"{}"
    return made
