"""How requests go out: to the BMC alone, one at a time, each with its limit."""

import re
import socket
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
from tests.unit.wires.redfish.one_bmc import MANAGER, RESET, SYSTEM, OneBmc, one_bmc
from wires.bmc.access import LIMITS, BmcAccess, Limits
from wires.bmc.client import Power
from wires.redfish.client import adapter
from wires.redfish.probe import BmcProbe
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

    monkeypatch.setattr(adapter, "time_limit", noting)
    bmc = it.client()
    bmc.insert("http://192.0.2.1/x.iso")
    bmc.media()
    assert [seconds for line, seconds in zip(it.lines, limits, strict=True) if line == INSERT] == [120]
    assert {seconds for line, seconds in zip(it.lines, limits, strict=True) if line != INSERT} == {30}


def test_a_bmc_that_is_not_there_is_given_up_after_seconds(it: OneBmc, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = list[object]()
    send = adapter.BmcAdapter.send

    def noting(self: adapter.BmcAdapter, *args: Any, **kwargs: Any) -> Response:
        limits.append(kwargs["timeout"])
        return send(self, *args, **kwargs)

    monkeypatch.setattr(adapter.BmcAdapter, "send", noting)
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


@pytest.mark.parametrize("certificate", ["expired", "early", "other name", "other authority"])
def test_a_certificate_that_is_not_trusted_gets_no_password(tls: Fleet, certificate: str) -> None:
    tls.change(0, certificate=certificate)
    with pytest.raises(BmcRefusedError, match="its certificate is not trusted"):
        power_of(tls)
    assert tls.figures().lines == []


@pytest.mark.parametrize(
    ("code", "message", "fix"),
    [
        (9, "certificate is not yet valid", "correct the clock of this machine; or pin it"),
        (10, "certificate has expired", "renew it, or correct the clock of this machine; or pin it"),
        (12, "CRL has expired", "set bmc_ca"),
        (30, "authority and subject key identifier mismatch", "set bmc_ca"),
        (64, "IP address mismatch, certificate is not valid for '192.0.2.9'", "have bmc.address name the server"),
        (66, "EE certificate key too weak", "have it made again, with SHA-256 and keys of 2,048 bits; or pin it"),
        (67, "CA certificate key too weak", "have it made again"),
        (68, "CA signature digest algorithm too weak", "have it made again"),
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


def test_an_insert_that_is_not_answered_names_its_own_limit(it: OneBmc) -> None:
    it.fleet.fault(Fault("POST", "hang"))
    access = BmcAccess(address=it.fleet.address(0), username="admin")
    bmc = SushyBmc(access, SecretStr(it.fleet.options.password), Limits(answer_s=5, insert_s=0.2))
    it.clients.append(bmc)
    with pytest.raises(BmcTransientError, match=r"insert the boot ISO: no complete answer within 0\.2 s"):
        bmc.insert("http://192.0.2.1/x.iso")


OLD = ["TLS 1.0", "TLS 1.1", "RSA key exchange"]


@pytest.mark.parametrize("old", OLD)
def test_old_tls_is_refused_at_once_and_its_fix_helps_that_host_only(tls: Fleet, old: str) -> None:
    tls.change(0, tls=old)
    with pytest.raises(BmcRefusedError, match=r"no common version or cipher of TLS.*legacy_tls: true"):
        power_of(tls)
    probe = BmcProbe(BmcAccess(address=tls.address(0), username="admin"), SecretStr("x"))
    shown = probe.certificate()
    probe.close()
    assert shown is not None, "`bmc check` shows the fingerprint"
    assert power_of(tls, fingerprint=shown.sha256, legacy_tls=True) is Power.OFF
    assert power_of(tls, legacy_tls=True) is Power.OFF, "its CA will do, too"
    with pytest.raises(BmcRefusedError, match="no common version or cipher of TLS"):
        power_of(tls)


@pytest.mark.parametrize("old", OLD)
def test_old_tls_gives_no_password_to_a_certificate_that_is_not_trusted(tls: Fleet, old: str) -> None:
    tls.change(0, tls=old)
    with pytest.raises(BmcRefusedError, match="Fingerprints did not match"):
        power_of(tls, fingerprint="ab" * 32, legacy_tls=True)
    tls.change(0, tls=old, certificate="other authority")
    with pytest.raises(BmcRefusedError, match="its certificate is not trusted"):
        power_of(tls, legacy_tls=True)
    assert tls.figures().lines == []


def test_a_bmc_that_has_answered_before_may_refuse_tls_for_a_while(tls: Fleet) -> None:
    bmc = SushyBmc(
        BmcAccess(address=tls.address(0), username="admin", ca=tls.ca), SecretStr(tls.options.password), LIMITS
    )
    bmc.power()
    tls.change(0, tls="TLS 1.1")
    with pytest.raises(BmcTransientError, match="no common version or cipher of TLS") as caught:
        bmc.power()
    bmc.close()
    assert (caught.value.passes_s, caught.value.undone) == (120, True)


def test_a_server_without_tls_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as thread:
        thread.submit(_answer, listener, b"HTTP/1.1 400 Bad Request\r\n\r\n")
        address = f"redfish://127.0.0.1:{listener.getsockname()[1]}/redfish/v1/Systems/1"
        bmc = SushyBmc(BmcAccess(address=address, username="admin"), SecretStr("x"))
        with pytest.raises(BmcRefusedError, match=r"it answers without TLS\. Fix: correct the port in bmc\.address"):
            bmc.power()
        bmc.close()


def _answer(listener: socket.socket, answer: bytes) -> None:
    wire = listener.accept()[0]
    with wire:
        wire.recv(4096)
        wire.sendall(answer)


def test_a_handshake_that_does_not_end_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"redfish://127.0.0.1:{listener.getsockname()[1]}/redfish/v1/Systems/1"
        bmc = SushyBmc(BmcAccess(address=address, username="admin"), SecretStr("x"), Limits(connect_s=0.2))
        with pytest.raises(BmcTransientError, match=r"no TLS handshake within 0\.2 s"):
            bmc.power()
        bmc.close()


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_to_https_gets_no_password_and_its_fix_helps(it: OneBmc, tls: Fleet, status: int) -> None:
    it.fleet.fault(Fault(".", "redirected", status=status, url=tls.base(0)))
    with pytest.raises(BmcRefusedError, match="it redirects to https://") as caught:
        it.client().power()
    assert tls.figures().lines == []
    (written,) = re.findall(r"Fix: if that is the same BMC, write (\S+) in bmc\.address", str(caught.value))
    assert power_of(tls, address=f"redfish-virtualmedia{written}{SYSTEM}") is Power.OFF


def test_no_fix_leads_from_https_to_http(tls: Fleet) -> None:
    tls.fault(Fault(".", "redirected", status=308, url="http://192.0.2.9"))
    with pytest.raises(
        BmcRefusedError, match=r"redirects to http://192\.0\.2\.9\. Fix: compare bmc\.address"
    ) as caught:
        power_of(tls)
    assert "+http:" not in str(caught.value)


@pytest.mark.parametrize("spelled", ["absolute", "relative", "in-upper-case"])
def test_a_redirect_within_the_bmc_is_followed_however_it_is_spelled(it: OneBmc, spelled: str) -> None:
    base = it.fleet.base(0)
    url = {"absolute": base, "relative": "", "in-upper-case": base.upper()}[spelled]
    it.fleet.fault(Fault(".", "redirected", status=307, url=url))
    assert it.client().power() is Power.OFF


def test_a_bmc_that_redirects_in_a_circle_gets_few_requests(it: OneBmc) -> None:
    it.answers("GET", 308, headers={"Location": SYSTEM}, text="")
    with pytest.raises(BmcTransientError, match="it redirects in a circle"):
        it.client().power()
    assert len(it.lines) <= 6


def test_a_redirected_login_that_is_refused_is_sent_once(it: OneBmc) -> None:
    it.fleet.fault(Fault("POST", "redirected", status=308, url=""))
    for _ in range(2):
        with pytest.raises(BmcAuthError):
            it.client(session=True, password="wrong").power()
    assert len([line for line in it.lines if line.endswith("?redirected")]) == 1


@pytest.mark.parametrize("link", ["{path}", "{path}?page=2"])
def test_a_page_that_links_itself_ends(it: OneBmc, link: str) -> None:
    path = f"{MANAGER}/VirtualMedia"
    members = [{"@odata.id": f"{path}/Cd"}, None]
    body = {"Name": "x", "Members": members, "Members@odata.nextLink": link.format(path=path)}
    it.answers(rf"GET {path}(\?|$)", body=body)
    it.client().insert("http://192.0.2.1/x.iso")
    assert it.fleet.figures().inserts == ["http://192.0.2.1/x.iso"]
    assert it.fleet.figures().requests[f"GET {path}"] <= 2


def test_a_change_is_sent_once_where_no_version_is_wanted(it: OneBmc) -> None:
    it.client().set_override("Cd", "Once")
    assert it.writes == [f"PATCH {SYSTEM}"]


@pytest.mark.parametrize(("etag_in", "changes"), [("header", 1), ("body", 2), ("empty", 2)])
@pytest.mark.parametrize("it", ["ami", "dgx"], indirect=True)
def test_a_change_names_the_version_wherever_the_bmc_has_it(it: OneBmc, etag_in: str, changes: int) -> None:
    it.fleet.change(0, etag_in=etag_in)
    it.client().set_override("Cd", "Once")
    assert len(it.writes) == changes
    assert it.fleet.state().target in ("Cd", "None"), "a DGX shows it from its next power-on"


def test_a_refusal_of_every_version_is_the_last_one(it: OneBmc) -> None:
    it.fleet.change(0, etag_in="body")
    it.answers("PATCH", 428)
    with pytest.raises(BmcTransientError, match="HTTP 428"):
        it.client().set_override("Cd", "Once")
    assert len(it.writes) == 3, "without a version, by what the body has, and any"


def test_headers_that_a_bmc_does_not_accept_are_left_out_from_then_on(it: OneBmc) -> None:
    it.fleet.fault(Fault(".", "fussy", headers={"User-Agent": ""}))
    bmc = it.client()
    bmc.request_power(Power.ON)
    assert it.lines == [f"GET {SYSTEM}"] * 2 + [RESET]


def test_a_request_that_is_not_acceptable_without_them_is_an_error(it: OneBmc) -> None:
    it.answers("GET", 406)
    with pytest.raises(BmcRefusedError, match="HTTP 406"):
        it.client().power()
    assert len(it.lines) == 3, "with and without the headers, and by sushy without Accept-Encoding"
