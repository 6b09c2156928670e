"""How requests go out: to the BMC alone, one at a time, each with its limit."""

import ssl
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from pydantic import SecretStr
from requests import Response

from base.errors import BmcAuthError, BmcRefusedError, BmcTransientError
from testing.fakes.fleet.fleet import Fault, Fleet, Options, Pace, running
from tests.unit.wires.redfish.one_bmc import MANAGER, SYSTEM, OneBmc, one_bmc
from wires.redfish.bmc import Power
from wires.redfish.client import connector
from wires.redfish.client.access import LIMITS, BmcAccess, Limits
from wires.redfish.sushy_bmc import SushyBmc

INSERT = f"POST {MANAGER}/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia"


@pytest.mark.parametrize("variable", ["http_proxy", "all_proxy"])
def test_a_password_does_not_go_through_the_operators_proxy(
    it: OneBmc, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    with one_bmc() as proxy:
        monkeypatch.setenv(variable, proxy.fleet.base(0))
        monkeypatch.delenv("no_proxy", raising=False)
        it.client().power()
        assert (proxy.lines, it.lines) == ([], [f"GET {SYSTEM}"])


def test_all_clients_of_a_bmc_take_turns() -> None:
    """Many BMCs answer one request at a time, or badly: a rollout and a refresh may meet at one."""
    begin = threading.Barrier(3)

    def read(bmc: SushyBmc) -> None:
        begin.wait(10)
        bmc.identity()
        bmc.power()

    with running(Options(tls=False, pace=Pace(latency_s=(0.05, 0.05)))) as fleet, ThreadPoolExecutor(3) as threads:
        access = BmcAccess(address=fleet.address(0), username=fleet.options.username)
        clients = [SushyBmc(access, SecretStr(fleet.options.password)) for _ in range(3)]
        list(threads.map(read, clients))
        for client in clients:
            client.close()
        assert (fleet.figures().peak, len(fleet.figures().lines)) == (1, 6)


@pytest.mark.parametrize("session", [False, True], ids=["basic", "session"])
def test_a_refused_login_is_sent_once_whatever_asks(it: OneBmc, session: bool) -> None:
    """P12: accounts lock."""
    begin = threading.Barrier(3)

    def refusal(bmc: SushyBmc) -> str:
        begin.wait(10)
        with pytest.raises(BmcAuthError) as caught:
            bmc.identity()
        return str(caught.value)

    clients = [it.client(session=session, password="wrong") for _ in range(3)]
    with ThreadPoolExecutor(3) as threads:
        refusals = set(threads.map(refusal, clients))
    assert len(refusals) == 1
    assert "this login was tried once" in refusals.pop()
    assert len(it.lines) == 1
    assert it.client(session=session).identity().uuid, "another password is another login"


def test_only_an_insert_has_the_time_to_download_an_image(it: OneBmc, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = list[float]()

    @contextmanager
    def noting(seconds: float) -> Iterator[None]:
        limits.append(seconds)
        yield

    monkeypatch.setattr(connector, "time_limit", noting)
    bmc = it.client()
    bmc.insert("http://192.0.2.1/x.iso")
    bmc.media()
    assert [seconds for line, seconds in zip(it.lines, limits, strict=True) if line == INSERT] == [120]
    assert {seconds for line, seconds in zip(it.lines, limits, strict=True) if line != INSERT} == {30}


def test_a_bmc_that_is_not_there_is_given_up_after_seconds(it: OneBmc, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = list[object]()
    send = connector.BmcAdapter.send

    def noting(self: connector.BmcAdapter, *args: Any, **kwargs: Any) -> Response:
        limits.append(kwargs["timeout"])
        return send(self, *args, **kwargs)

    monkeypatch.setattr(connector.BmcAdapter, "send", noting)
    it.client().request_power(Power.ON)
    assert limits == [(10, 30), (10, 30)], "to connect, and until the first byte"


@pytest.fixture
def tls() -> Iterator[Fleet]:
    with running(Options()) as fleet:
        yield fleet


def power_of(fleet: Fleet, limits: Limits = LIMITS, **access: Any) -> Power:
    """Read by a client of its own, which trusts the fleet's CA."""
    reached = BmcAccess(**{"address": fleet.address(0), "username": "admin", "ca": fleet.ca, **access})
    bmc = SushyBmc(reached, SecretStr(fleet.options.password), limits)
    try:
        return bmc.power()
    finally:
        bmc.close()


@pytest.mark.parametrize("certificate", ["expired", "other name", "other authority"])
def test_a_certificate_that_is_not_trusted_gets_no_password(tls: Fleet, certificate: str) -> None:
    tls.change(0, certificate=certificate)
    with pytest.raises(BmcRefusedError, match="its certificate is not trusted"):
        power_of(tls)
    assert tls.figures().lines == []


@pytest.mark.parametrize(
    ("code", "message", "fix"),
    [
        (10, "certificate has expired", "renew it"),
        (12, "CRL has expired", "set bmc_ca"),
        (30, "authority and subject key identifier mismatch", "set bmc_ca"),
        (64, "IP address mismatch, certificate is not valid for '192.0.2.9'", "have bmc.address name the server"),
    ],
)
def test_the_fix_for_a_distrusted_certificate_follows_its_code(
    tls: Fleet, monkeypatch: pytest.MonkeyPatch, code: int, message: str, fix: str
) -> None:
    error = ssl.SSLCertVerificationError(1, f"[SSL: CERTIFICATE_VERIFY_FAILED] {message}")
    error.verify_code, error.verify_message = code, message

    def distrust(*_args: object, **_options: object) -> None:
        raise error

    monkeypatch.setattr(ssl.SSLContext, "wrap_socket", distrust)
    with pytest.raises(BmcRefusedError) as caught:
        power_of(tls)
    assert f"its certificate is not trusted ({message}). Fix: {fix}" in str(caught.value)


def test_any_certificate_is_taken_where_none_is_to_be_verified(tls: Fleet) -> None:
    tls.change(0, certificate="other name")
    assert power_of(tls, verify=False) is Power.OFF
    assert power_of(tls, verify=False, fingerprint="ab" * 32) is Power.OFF


def test_an_answer_over_the_size_limit_is_an_error(it: OneBmc) -> None:
    it.fleet.fault(Fault("GET", "huge"))
    with pytest.raises(BmcRefusedError, match="its answer is longer than 100 KiB"):
        power_of(it.fleet, Limits(body_bytes=100 * 1024))


def test_an_answer_over_the_time_limit_is_a_transient_error(it: OneBmc) -> None:
    it.fleet.fault(Fault("GET", "drip", every_s=0.005))
    with pytest.raises(BmcTransientError, match=r"no complete answer within 0\.2 s"):
        power_of(it.fleet, Limits(answer_s=0.2))
