"""SushyBmc against a small service: how it looks, logs in, and what errors become."""

import json
from collections.abc import Iterator

import pytest

from providers.base.errors import BmcAuthError, BmcError, BmcTransientError
from testing.fakes.redfish_service import PASSWORD, SYSTEM, SYSTEMS, FakeService, collection, service, started
from wires.redfish.access import Access
from wires.redfish.bmc import BootOverride, Identity, Power
from wires.redfish.sushy_bmc import SushyBmc
from wires.redfish.tls import tls_context


@pytest.fixture
def system_home() -> Iterator[FakeService]:
    yield from started(service(SYSTEM))


def test_one_look_is_one_request(system_home: FakeService) -> None:
    bmc = system_home.bmc()
    assert bmc.requests == 0
    assert bmc.identity() == Identity("c0ffee", "SN-1", "R650", "Contoso", "1.2")
    assert bmc.power() is Power.CHANGING
    assert bmc.boot_override() == BootOverride("Hdd", "Once", "UEFI")
    assert system_home.seen == [f"GET {SYSTEM}"] * 3
    assert bmc.requests == 3
    bmc.close()


def test_the_only_system_needs_no_name(system_home: FakeService) -> None:
    system_home.documents[SYSTEMS] = collection(SYSTEMS, SYSTEM)
    bmc = system_home.bmc("")
    assert (bmc.identity().serial, bmc.power()) == ("SN-1", Power.CHANGING)
    assert system_home.seen == [f"GET {SYSTEMS}", f"GET {SYSTEM}", f"GET {SYSTEM}"]
    bmc.close()


@pytest.mark.parametrize(
    ("systems", "why"),
    [
        pytest.param((), "has 0 systems", id="none"),
        pytest.param(
            (f"{SYSTEMS}/1", f"{SYSTEMS}/2"), f"has 2 systems.*one that is meant: {SYSTEMS}/1, {SYSTEMS}/2", id="two"
        ),
    ],
)
def test_one_of_many_systems_must_be_named(system_home: FakeService, systems: tuple[str, ...], why: str) -> None:
    system_home.documents[SYSTEMS] = collection(SYSTEMS, *systems)
    bmc = system_home.bmc("/redfish/v1/")
    with pytest.raises(BmcError, match=why):
        bmc.power()
    bmc.close()


@pytest.mark.parametrize(
    ("status", "text", "kind", "message"),
    [
        (401, "{}", BmcAuthError, "HTTP 401, the BMC refuses the credentials"),
        (403, "{}", BmcAuthError, "HTTP 403"),
        (404, "{}", BmcError, r"HTTP 404.*bmc\.address"),
        (429, "{}", BmcTransientError, "HTTP 429"),
        (409, "{}", BmcTransientError, "HTTP 409"),
        (503, "busy", BmcTransientError, "HTTP 503"),
        (400, '{"error": {"message": "no"}}', BmcError, r"HTTP 400 \(no\)"),
        (400, '{"error": {"message": "iLO.2.14.UnableToModifyDuringSystemPOST"}}', BmcTransientError, "HTTP 400"),
        (400, json.dumps({"error": {"message": f"bad {PASSWORD}"}}), BmcError, r"HTTP 400 \(bad \*\*\*\)"),
        (200, "<html>", BmcTransientError, "not usable"),
        (200, "[]", BmcTransientError, "not usable"),
        (0, "", BmcTransientError, "the connection broke"),
    ],
    ids=[
        "401",
        "403",
        "404",
        "429",
        "409",
        "503",
        "400",
        "400-in-post",
        "password-repeated",
        "html",
        "list",
        "closed",
    ],
)
def test_errors_of_the_wire_become_ours(
    system_home: FakeService, status: int, text: str, kind: type[BmcError], message: str
) -> None:
    system_home.answers[f"GET {SYSTEM}"] = (status, text)
    bmc = system_home.bmc()
    with pytest.raises(BmcError, match=message) as caught:
        bmc.power()
    assert type(caught.value) is kind
    assert PASSWORD not in repr(caught.value)
    assert "\n" not in str(caught.value)
    bmc.close()


@pytest.mark.parametrize("status", [0, 503], ids=["answer-lost", "503"])
def test_a_post_is_sent_once(system_home: FakeService, status: int) -> None:
    path = f"POST {SYSTEM}/Actions/ComputerSystem.Reset"
    system_home.answers[path] = (status, "")
    bmc = system_home.bmc()
    with pytest.raises(BmcTransientError):
        bmc.request_power(Power.ON)
    assert system_home.seen.count(path) == 1
    bmc.close()


def test_a_wrong_password_is_sent_once(system_home: FakeService) -> None:
    system_home.answers[f"GET {SYSTEM}"] = (401, "{}")
    bmc = system_home.bmc()
    with pytest.raises(BmcAuthError):
        bmc.identity()
    assert system_home.seen == [f"GET {SYSTEM}"]
    bmc.close()


def test_credentials_go_to_the_bmc_alone(system_home: FakeService) -> None:
    for other in started(service(SYSTEM)):
        elsewhere = f"http://127.0.0.1:{other.server_address[1]}/redfish/v1/Managers/1/VirtualMedia"
        system_home.documents[SYSTEM]["VirtualMedia"] = {"@odata.id": elsewhere}
        bmc = system_home.bmc()
        with pytest.raises(BmcTransientError, match="points to another server"):
            bmc.media()
        assert other.seen == []
        bmc.close()


def test_a_refused_connection_says_so() -> None:
    bmc = SushyBmc(Access(f"redfish-virtualmedia+http://127.0.0.1:1{SYSTEM}", "admin", PASSWORD))
    with pytest.raises(BmcTransientError, match="connection refused"):
        bmc.power()
    bmc.close()


def test_a_ca_that_is_none_names_the_option() -> None:
    with pytest.raises(BmcError, match="bmc_ca: is no PEM"):
        tls_context("no pem", verify=True)


def test_the_password_is_in_no_repr() -> None:
    assert "hidden" not in repr(Access("a", "b", "hidden"))


def test_a_404_after_the_first_look_passes_and_paths_are_found_anew(system_home: FakeService) -> None:
    bmc = system_home.bmc()
    assert bmc.media() is None
    whole = dict(system_home.documents)
    system_home.documents.clear()
    for look in (bmc.power, bmc.media, bmc.power):
        with pytest.raises(BmcTransientError, match="HTTP 404"):
            look()
    system_home.documents.update(whole)
    assert bmc.media() is None
    bmc.close()


@pytest.mark.parametrize(
    ("said", "seconds"),
    [("120", 120), ("", 0), ("soon", 0), ("Wed, 21 Oct 2015 07:28:00 GMT", 0)],
    ids=["seconds", "none", "unreadable", "past"],
)
def test_retry_after_reaches_the_steps(system_home: FakeService, said: str, seconds: float) -> None:
    system_home.answers[f"GET {SYSTEM}"] = (503, "")
    system_home.headers = {"Retry-After": said}
    bmc = system_home.bmc()
    with pytest.raises(BmcTransientError) as caught:
        bmc.power()
    assert caught.value.retry_after_s == seconds
    bmc.close()


@pytest.mark.parametrize(
    ("status", "undone"), [(503, True), (429, True), (500, False), (0, False)], ids=["503", "429", "500", "lost"]
)
def test_only_what_was_certainly_not_done_may_be_sent_at_once(
    system_home: FakeService, status: int, undone: bool
) -> None:
    system_home.answers[f"POST {SYSTEM}/Actions/ComputerSystem.Reset"] = (status, "")
    bmc = system_home.bmc()
    with pytest.raises(BmcTransientError) as caught:
        bmc.request_power(Power.ON)
    assert caught.value.undone is undone
    bmc.close()


def test_a_session_is_opened_renewed_once_and_ended(system_home: FakeService) -> None:
    sessions = "POST /redfish/v1/SessionService/Sessions"
    system_home.answers[sessions] = (201, "{}")
    system_home.headers = {"X-Auth-Token": "t0ken", "Location": "/redfish/v1/SessionService/Sessions/7"}
    bmc = system_home.bmc(session=True)
    assert bmc.power() is Power.CHANGING
    assert system_home.seen == [sessions, f"GET {SYSTEM}"]
    assert system_home.bodies == [{"UserName": "admin", "Password": PASSWORD}]
    assert system_home.authorization == ["", "t0ken"]
    system_home.answers[f"GET {SYSTEM}"] = (401, "{}")
    with pytest.raises(BmcAuthError):
        bmc.power()
    assert system_home.seen[2:] == [f"GET {SYSTEM}", sessions, f"GET {SYSTEM}"]
    bmc.close()
    bmc.close()
    assert system_home.seen[5:] == ["DELETE /redfish/v1/SessionService/Sessions/7"]


def test_a_refused_session_is_asked_for_once(system_home: FakeService) -> None:
    system_home.answers["POST /redfish/v1/SessionService/Sessions"] = (401, "{}")
    bmc = system_home.bmc(session=True)
    with pytest.raises(BmcAuthError):
        bmc.power()
    assert system_home.seen == ["POST /redfish/v1/SessionService/Sessions"]
    bmc.close()
