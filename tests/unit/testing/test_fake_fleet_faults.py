"""Scripted faults: each kind as a plain client sees it, when it occurs, and whether the write took effect."""

import http.client
import json
import ssl
import time
from collections.abc import Callable, Iterator

import pytest

from testing.fakes.fleet.certificates import OLD_TLS
from testing.fakes.fleet.fleet import Fault, Fleet, Options, running
from testing.fakes.fleet.tree import SESSIONS
from tests.unit.testing.raw import Raw, raw

SYSTEM = "/redfish/v1/Systems/1"
READ = f"GET {SYSTEM}$"
RESET = "POST .*ComputerSystem.Reset"
BROKEN = (ConnectionError, ssl.SSLEOFError)
"""The errors by which a client sees an RST: while reading, or while writing through TLS."""
URL = "http://192.0.2.1/x.iso"


@pytest.fixture(params=[True, False], ids=["tls", "plain"])
def fleet(request: pytest.FixtureRequest) -> Iterator[Fleet]:
    with running(Options(hosts=2, tls=request.param)) as fleet:
        yield fleet


@pytest.fixture
def bmc(fleet: Fleet) -> Iterator[Raw]:
    with raw(fleet) as bmc:
        yield bmc


@pytest.mark.parametrize("applied", [True, False])
@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("reset", ConnectionResetError),
        ("close", http.client.RemoteDisconnected),
        ("hang", TimeoutError),
    ],
)
def test_an_answer_that_never_comes(fleet: Fleet, bmc: Raw, kind: str, error: type[Exception], applied: bool) -> None:
    fleet.fault(Fault(RESET, kind, times=1, applied=applied))
    bmc.connection.timeout = 0.3
    with pytest.raises(error):
        bmc.reset("On")
    done = fleet.figures()
    assert (len(done.writes), done.resets) == (1, {"On": 1} if applied else {})
    assert bmc.power() == ("PoweringOn" if applied else "Off")


def test_connections_are_refused_until_the_fault_ends(fleet: Fleet, bmc: Raw) -> None:
    bmc.power()
    fleet.change(0, listening=False)
    with pytest.raises(BROKEN):
        bmc.power()
    for _ in range(2):
        with pytest.raises(ConnectionRefusedError):
            bmc.power()
    with raw(fleet, 1) as other:
        assert other.power() == "Off"
    fleet.change(0, listening=True)
    assert bmc.power() == "Off"


@pytest.mark.parametrize(("status", "applied"), [(500, False), (503, True), (401, False), (403, False), (404, False)])
def test_a_status_by_script(fleet: Fleet, bmc: Raw, status: int, applied: bool) -> None:
    fault = Fault(RESET, "status", times=1, status=status, headers={"Retry-After": "7"}, applied=applied)
    fleet.fault(fault, hosts=(0,))
    bmc.connection.request("POST", f"{SYSTEM}/Actions/ComputerSystem.Reset", '{"ResetType": "On"}', bmc.login)
    answer = bmc.connection.getresponse()
    assert (answer.status, answer.headers["Retry-After"]) == (status, "7")
    assert "error" in json.loads(answer.read())
    assert fleet.figures().resets == ({"On": 1} if applied else {})
    assert bmc.power() == ("PoweringOn" if applied else "Off")


def parts(bmc: Raw) -> tuple[http.client.HTTPResponse, bytes]:
    bmc.connection.request("GET", SYSTEM, headers=bmc.login)
    answer = bmc.connection.getresponse()
    return answer, answer.read()


def no_json(bmc: Raw) -> None:
    answer, body = parts(bmc)
    assert answer.status == 200
    assert int(answer.headers["Content-Length"]) == len(body)
    with pytest.raises(ValueError, match="line 1"):
        json.loads(body)


def short(bmc: Raw) -> None:
    with pytest.raises(http.client.IncompleteRead):
        parts(bmc)
    bmc.connection.close()


def huge(bmc: Raw) -> None:
    assert len(parts(bmc)[1]) == 64 << 20


def empty(bmc: Raw) -> None:
    answer, body = parts(bmc)
    assert (answer.status, body) == (200, b"")


def page(bmc: Raw) -> None:
    answer, body = parts(bmc)
    assert (answer.status, answer.headers["Content-Type"], body[:6]) == (200, "text/html", b"<html>")


def error(bmc: Raw) -> None:
    answer, body = parts(bmc)
    assert answer.status == 200
    assert json.loads(body)["error"]["code"] == "Base.1.8.GeneralError"


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        ("truncated", no_json),
        ("malformed", no_json),
        ("short", short),
        ("huge", huge),
        ("empty", empty),
        ("html", page),
        ("error", error),
    ],
)
def test_an_answer_can_have_a_body_that_is_no_resource(
    fleet: Fleet, bmc: Raw, kind: str, check: Callable[[Raw], None]
) -> None:
    fleet.fault(Fault(READ, kind, times=1))
    check(bmc)
    assert bmc.power() == "Off"


def test_a_drip_sends_the_whole_answer_byte_by_byte(fleet: Fleet, bmc: Raw) -> None:
    whole = bmc.get()
    fleet.fault(Fault(READ, "drip", times=1, every_s=0.0001))
    start = time.monotonic()
    assert bmc.get() == whole
    assert time.monotonic() - start > 0.1, "1000 bytes and more"


def test_a_fault_occurs_only_where_when_and_as_often_as_scripted(fleet: Fleet, bmc: Raw) -> None:
    fleet.fault(
        Fault(READ, "status", skip=1, times=2, status=500), Fault(READ, "status", times=1, status=404), hosts=(0,)
    )
    statuses = [bmc.ask("GET", SYSTEM)[0] for _ in range(5)]
    assert statuses == [404, 500, 500, 200, 200]
    assert bmc.ask("GET", "/redfish/v1/Systems")[0] == 200
    with raw(fleet, 1) as other:
        assert other.power() == "Off"
    fleet.fault(Fault(READ, "status"))
    assert {bmc.ask("GET", SYSTEM)[0] for _ in range(5)} == {503}
    fleet.heal()
    assert bmc.power() == "Off"


def test_a_fault_without_a_name_is_refused(fleet: Fleet) -> None:
    with pytest.raises(ValueError, match="unknown kind of fault typo"):
        Fault(READ, "typo")


def test_another_machine_answers(fleet: Fleet, bmc: Raw) -> None:
    fleet.fault(Fault(READ, "says", says={"SerialNumber": "OTHER"}, times=1))
    assert bmc.get()["SerialNumber"] == "OTHER"
    assert bmc.get()["SerialNumber"] == "FLEET0000"


@pytest.mark.parametrize("inserted", [True, False])
def test_inserted_can_be_reported_wrongly(fleet: Fleet, bmc: Raw, inserted: bool) -> None:
    fleet.change(image="" if inserted else URL)
    fleet.fault(Fault("GET .*/Cd$", "says", says={"Inserted": inserted}))
    assert bmc.drive()["Inserted"] is inserted
    assert fleet.state().image == ("" if inserted else URL)


def test_the_power_is_stuck(fleet: Fleet, bmc: Raw) -> None:
    fleet.fault(Fault(RESET, "ignored"))
    assert bmc.reset("On") == 204
    assert {bmc.power() for _ in range(9)} == {"Off"}
    assert (fleet.figures().resets, len(fleet.figures().writes)) == ({}, 1)


def test_a_medium_can_be_inserted_at_a_given_moment(fleet: Fleet, bmc: Raw) -> None:
    fleet.fault(Fault("POST .*InsertMedia", "inserted", times=1, url="http://192.0.2.9/theirs.iso"))
    assert not bmc.drive()["Inserted"]
    assert bmc.media("Insert", body={"Image": URL}) == 409
    assert bmc.drive()["Image"] == "http://192.0.2.9/theirs.iso"
    assert fleet.figures().inserts == []


def test_sessions_are_forgotten(fleet: Fleet, bmc: Raw) -> None:
    account = {"UserName": fleet.options.username, "Password": fleet.options.password}
    assert bmc.ask("POST", SESSIONS, account)[0] == 201
    fleet.fault(Fault(READ, "logout", times=1))
    bmc.power()
    assert fleet.state().sessions == 0


@pytest.mark.parametrize("url", ["", "https://192.0.2.9"], ids=["itself", "another"])
def test_a_redirect_names_a_server_and_is_served_by_its_own(fleet: Fleet, bmc: Raw, url: str) -> None:
    fleet.fault(Fault(RESET, "redirected", status=302, url=url))
    path = f"{SYSTEM}/Actions/ComputerSystem.Reset"
    bmc.connection.request("POST", path, '{"ResetType": "On"}', bmc.login)
    answer = bmc.connection.getresponse()
    answer.read()
    assert (answer.status, answer.headers["Location"]) == (302, f"{url}{path}?redirected")
    assert fleet.figures().resets == {}
    assert bmc.ask("POST", f"{path}?redirected", {"ResetType": "On"})[0] == 204
    assert fleet.figures().resets == {"On": 1}


def test_a_collection_can_come_page_by_page(fleet: Fleet, bmc: Raw) -> None:
    path = "/redfish/v1/Managers/1/VirtualMedia"
    fleet.fault(Fault(rf"GET {path}(\?|$)", "paged"))
    first = bmc.get(path)
    second = bmc.get(first["Members@odata.nextLink"])
    members = [*first["Members"], *second["Members"]]
    assert [member["@odata.id"] for member in members] == [f"{path}/Floppy", f"{path}/Cd"]
    assert "Members@odata.nextLink" not in second


def test_bytes_can_surround_an_answer(fleet: Fleet, bmc: Raw) -> None:
    whole = json.dumps(bmc.get()).encode()
    fleet.fault(Fault(READ, "wrapped", around=("\xef\xbb\xbf", "\0")))
    assert parts(bmc)[1] == b"\xef\xbb\xbf" + whole + b"\0"


def test_headers_can_be_unacceptable(fleet: Fleet, bmc: Raw) -> None:
    fleet.fault(Fault(READ, "fussy", headers={"OData-Version": ""}))
    assert [bmc.ask("GET", SYSTEM)[0], bmc.ask("GET", SYSTEM, **{"OData-Version": "4.0"})[0]] == [200, 406]


@pytest.mark.parametrize("tls", OLD_TLS)
def test_the_bmc_can_have_only_old_tls(tls: str) -> None:
    with running(Options()) as fleet, raw(fleet) as bmc:
        fleet.change(0, tls=tls)
        with pytest.raises(ssl.SSLError, match=r"PROTOCOL_VERSION|HANDSHAKE_FAILURE"):
            bmc.power()
        fleet.change(0, certificate="good")
        assert bmc.power() == "Off"


@pytest.mark.parametrize("keeps", [True, False])
def test_the_bmc_restarts_in_the_middle(fleet: Fleet, bmc: Raw, keeps: bool) -> None:
    fleet.change(0, image=URL, target="Cd", enabled="Once", power="On")
    fleet.fault(Fault(RESET, "reboot", times=1, connections=2, requests=2, status=404, keeps=keeps, applied=True))
    for _ in range(3):
        with pytest.raises(BROKEN):
            bmc.reset("ForceOff")
    assert [bmc.ask("GET", SYSTEM)[0] for _ in range(3)] == [404, 404, 200]
    state = fleet.state()
    assert (state.image, state.target) == ((URL, "Cd") if keeps else ("", "None"))
    assert fleet.figures().resets == {"ForceOff": 1}
    assert state.power == "Off", "the restart of the BMC does not affect its server"


@pytest.mark.parametrize(
    ("certificate", "reason"),
    [
        ("expired", "certificate has expired"),
        ("other name", "IP address mismatch"),
        ("other authority", "unable to get local issuer certificate"),
    ],
)
def test_the_bmc_can_show_an_untrusted_certificate(certificate: str, reason: str) -> None:
    with running(Options(hosts=2)) as fleet, raw(fleet) as bmc:
        bmc.power()
        fleet.change(0, certificate=certificate)
        bmc.connection.close()
        with pytest.raises(ssl.SSLCertVerificationError, match=reason):
            bmc.power()
        with raw(fleet, 1) as other:
            assert other.power() == "Off"
        fleet.change(0, certificate="good")
        assert bmc.power() == "Off"
