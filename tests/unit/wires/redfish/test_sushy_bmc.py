"""SushyBmc against a BMC of the fake fleet: its reads, its logins, and its errors."""

import re
from contextlib import suppress
from typing import Any

import pytest
from pydantic import SecretStr

from base.errors import BmcAuthError, BmcError, BmcRefusedError, BmcTransientError, ConfigError
from testing import plans
from testing.fakes.fleet.fleet import Fault
from tests.unit.wires.redfish.one_bmc import PASSWORD, RESET, SESSIONS, SYSTEM, SYSTEMS, OneBmc, one_bmc
from wires.bmc.access import BmcAccess
from wires.bmc.client import BootOverride, Identity, Power
from wires.redfish.client.tls import tls_context
from wires.redfish.sushy_bmc import SushyBmc

READ = f"GET {SYSTEM}$"
URL = "http://192.0.2.1/x.iso"


def in_the_middle_of_a_boot(it: OneBmc) -> None:
    it.says(
        READ,
        UUID="C0FFEE",
        SerialNumber="SN-1",
        Model="R650",
        Manufacturer="Contoso",
        BiosVersion="1.2",
        PowerState="PoweringOn",
        Boot={
            "BootSourceOverrideTarget": "Hdd",
            "BootSourceOverrideEnabled": "Once",
            "BootSourceOverrideMode": "UEFI",
        },
    )


def test_each_read_is_one_request(it: OneBmc) -> None:
    in_the_middle_of_a_boot(it)
    bmc = it.client()
    assert bmc.requests == 0
    assert bmc.identity() == Identity("c0ffee", "SN-1", "R650", "Contoso", "1.2")
    assert bmc.power() is Power.CHANGING
    assert bmc.boot_override() == BootOverride("Hdd", "Once", "UEFI")
    assert it.lines == [f"GET {SYSTEM}"] * 3
    assert bmc.requests == 3


def test_what_is_remembered_is_read_again_at_the_next_look(it: OneBmc) -> None:
    bmc = it.client()
    bmc.remember()
    assert (bmc.identity().serial, bmc.power(), bmc.boot_override().target) == ("FLEET0000", Power.OFF, "None")
    it.fleet.change(power="On")
    assert (bmc.power(), it.lines) == (Power.OFF, [f"GET {SYSTEM}"])
    bmc.remember()
    assert (bmc.power(), it.lines) == (Power.ON, [f"GET {SYSTEM}"] * 2)


@pytest.mark.parametrize("status", [204, 500], ids=["accepted", "refused"])
def test_a_write_reads_nothing_itself_and_has_all_read_again(it: OneBmc, status: int) -> None:
    if status != 204:
        it.answers("PATCH", status)
    bmc = it.client()
    bmc.remember()
    assert bmc.boot_override().target == "None"
    with suppress(BmcError):
        bmc.set_override("Hdd", "Once")
    assert bmc.boot_override().target == ("Hdd" if status == 204 else "None")
    of_system = [line for line in it.lines if line.endswith(SYSTEM)]
    assert of_system == [f"GET {SYSTEM}", f"PATCH {SYSTEM}", f"GET {SYSTEM}"]


def test_an_answer_that_was_none_is_not_remembered(it: OneBmc) -> None:
    bmc = it.client()
    bmc.remember()
    it.answers("GET", 503)
    with pytest.raises(BmcTransientError):
        bmc.power()
    it.fleet.heal()
    assert bmc.power() is Power.OFF


def test_the_only_system_needs_no_name(it: OneBmc) -> None:
    in_the_middle_of_a_boot(it)
    bmc = it.client("")
    assert (bmc.identity().serial, bmc.power()) == ("SN-1", Power.CHANGING)
    assert it.lines == [f"GET {SYSTEMS}", f"GET {SYSTEM}", f"GET {SYSTEM}"]


@pytest.mark.parametrize(
    ("systems", "why"),
    [
        pytest.param((), "has 0 systems", id="none"),
        pytest.param(
            (f"{SYSTEMS}/1", f"{SYSTEMS}/2"), f"has 2 systems.*one that is meant: {SYSTEMS}/1, {SYSTEMS}/2", id="two"
        ),
    ],
)
def test_one_of_many_systems_must_be_named(it: OneBmc, systems: tuple[str, ...], why: str) -> None:
    it.says(f"GET {SYSTEMS}$", Members=[{"@odata.id": path} for path in systems])
    with pytest.raises(BmcRefusedError, match=why):
        it.client("/redfish/v1/").power()


def message(text: str) -> dict[str, dict[str, str]]:
    return {"error": {"message": text}}


NAME = plans.HOSTS[0]
LOGIN = {NAME: {"username": "root", "password": "hunter2-canary"}}


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        pytest.param({"status": 401, "text": "{}"}, "correct them ({})", id="refused"),
        pytest.param({"status": 403, "text": "{}"}, "or use another one ({})", id="forbidden"),
        pytest.param(
            {"status": 403, "body": message("PasswordChangeRequired")}, "the login comes from ({})", id="expired"
        ),
        pytest.param(
            {"status": 403, "body": message("InsufficientPrivilege")}, "or use another one ({})", id="privilege"
        ),
    ],
)
@pytest.mark.parametrize(
    ("options", "place"),
    [
        pytest.param({}, f"the bmc of {NAME} in install-config.yaml", id="file"),
        pytest.param({"bmc_credentials": LOGIN}, f"bmc_credentials.{NAME}", id="option"),
    ],
)
def test_a_refused_login_is_named_where_it_is_written(
    it: OneBmc, options: dict[str, Any], place: str, answer: dict[str, Any], text: str
) -> None:
    """Issue 40, 12: both places were named, whichever the password was in."""
    plan = plans.plan(**options)
    access = BmcAccess.of(plan.options, plan.servers[0], ca="").changed(address=it.fleet.address(0))
    it.fleet.fault(Fault(READ, "status", **answer))
    bmc = SushyBmc(access, plan.servers[0].bmc.password)
    it.clients.append(bmc)
    with pytest.raises(BmcError, match=re.escape(text.format(place))) as caught:
        bmc.power()
    assert "hunter2" not in str(caught.value)
    assert "<login>" not in str(caught.value)


@pytest.mark.parametrize(
    ("fault", "kind", "text"),
    [
        (
            Fault(READ, "status", status=401, text="{}"),
            BmcAuthError,
            "HTTP 401, the BMC refuses the credentials",
        ),
        (Fault(READ, "status", status=403, text="{}"), BmcAuthError, "HTTP 403"),
        (Fault(READ, "status", status=404, text="{}"), BmcRefusedError, r"HTTP 404.*bmc\.address"),
        (Fault(READ, "status", status=429, text="{}"), BmcTransientError, "HTTP 429"),
        (Fault(READ, "status", status=409, text="{}"), BmcTransientError, "HTTP 409"),
        (Fault(READ, "status", status=503, text="busy"), BmcTransientError, "HTTP 503"),
        (Fault(READ, "status", status=400, body=message("no")), BmcRefusedError, r"HTTP 400 \(no\)"),
        (
            Fault(READ, "status", status=400, body=message("iLO.2.14.UnableToModifyDuringSystemPOST")),
            BmcTransientError,
            "HTTP 400",
        ),
        (
            Fault(READ, "status", status=400, body=message(f"bad {PASSWORD}")),
            BmcRefusedError,
            r"HTTP 400 \(bad \[masked\]\)",
        ),
        (
            Fault(READ, "status", status=400, body=message(f"no http://192.0.2.1:80/{'ab' * 32}/m0.iso here")),
            BmcRefusedError,
            r"HTTP 400 \(no http://192\.0\.2\.1:80/… here\)",
        ),
        (Fault(READ, "status", status=200, text="<html>"), BmcTransientError, "not usable"),
        (Fault(READ, "status", status=200, text="[]"), BmcTransientError, "not usable"),
        (Fault(READ, "close"), BmcTransientError, "the connection broke"),
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
        "iso-repeated",
        "html",
        "list",
        "closed",
    ],
)
def test_an_error_of_the_bmc_becomes_an_error_of_this_program(
    it: OneBmc, fault: Fault, kind: type[BmcError], text: str
) -> None:
    it.fleet.fault(fault)
    with pytest.raises(BmcError, match=text) as caught:
        it.client().power()
    assert type(caught.value) is kind
    assert PASSWORD not in repr(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("it", "where", "licence"),
    [
        ("supermicro", "GET /redfish/v1/Systems/1$", "SMC.1.0.OemLicenseNotPassed: Not licensed .* DCMS were needed"),
        ("supermicro", "GET .*/VirtualMedia$", "SMC.1.0.OemLicenseNotPassed: Not licensed .* DCMS were needed"),
        ("supermicro", "POST .*InsertMedia", "SMC.1.0.OemLicenseNotPassed: Not licensed .* DCMS were needed"),
        ("hpe", "POST .*InsertMedia", "iLO.2.14.LicenseKeyRequired: iLO Advanced"),
    ],
    indirect=["it"],
    ids=["system", "drives", "insert", "terse"],
)
def test_a_missing_licence_is_no_fault_of_the_credentials(it: OneBmc, where: str, licence: str) -> None:
    """D7 of 32 captured trees: "refuses the credentials", of a BMC that wanted a licence."""
    it.fleet.fault(Fault(where, "unlicensed"))
    bmc = it.client()
    with pytest.raises(
        BmcRefusedError, match=rf"HTTP 403, the BMC lacks a licence \({licence}\)\. Fix: add"
    ) as caught:
        bmc.insert(URL)
    assert type(caught.value) is BmcRefusedError
    assert "credentials" not in str(caught.value)


@pytest.mark.parametrize("it", ["hpe"], indirect=True)
def test_an_error_without_words_has_its_message_id(it: OneBmc) -> None:
    """D7 of 32 captured trees: an iLO's error read "See @Message.ExtendedInfo for more information."."""
    with pytest.raises(BmcRefusedError, match=r"HTTP 404 \(Base\.1\.8\.ResourceMissingAtURI\)"):
        it.client("/redfish/v1/Systems/2").power()


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ([{"MessageId": "A.1.B", "MessageArgs": ["c", "d"]}], "(A.1.B: c, d)"),
        ([{"MessageId": "A.1.B", "Message": "Not c.", "MessageArgs": ["c", "d"]}], "(A.1.B: Not c. d)"),
        ([{"Message": "Not c."}, {"MessageId": "A.1.B"}], "(Not c.; A.1.B)"),
        (
            [{"MessageId": "A.1.B", "MessageArgs": [f"http://192.0.2.1/{'ab' * 32}/m0.iso"]}],
            "(A.1.B: http://192.0.2.1/…)",
        ),
        ([], "(See the details)"),
        ({"Message": "of an old iLO"}, "(of an old iLO)"),
    ],
    ids=["arguments", "argument-in-words", "several", "iso", "none", "no-list"],
)
def test_a_refusal_has_the_words_of_the_bmc_its_message_id_and_arguments(it: OneBmc, body: object, text: str) -> None:
    error = {"code": "x", "message": "See the details", "@Message.ExtendedInfo": body}
    it.answers(READ, 400, body={"error": error})
    with pytest.raises(BmcRefusedError) as caught:
        it.client().power()
    assert caught.value.fault.what == f"cannot read the system: HTTP 400 {text}"


@pytest.mark.parametrize(
    "fault",
    [Fault(RESET, "close"), Fault(RESET, "status", status=503, text="")],
    ids=["answer-lost", "503"],
)
def test_a_post_is_sent_once(it: OneBmc, fault: Fault) -> None:
    it.fleet.fault(fault)
    with pytest.raises(BmcTransientError):
        it.client().request_power(Power.ON)
    assert it.lines.count(RESET) == 1


def test_a_read_whose_answer_was_lost_is_left_to_the_steps_as_well(it: OneBmc) -> None:
    it.fleet.fault(Fault(READ, "close", times=1))
    with pytest.raises(BmcTransientError):
        it.client().power()
    assert it.lines == [f"GET {SYSTEM}"]


def test_a_wrong_password_is_sent_once(it: OneBmc) -> None:
    with pytest.raises(BmcAuthError):
        it.client(password="wrong").identity()
    assert it.lines == [f"GET {SYSTEM}"]


def test_credentials_are_sent_to_no_other_server(it: OneBmc) -> None:
    with one_bmc() as other:
        it.says(READ, VirtualMedia={"@odata.id": f"{other.fleet.base(0)}/redfish/v1/Managers/1/VirtualMedia"})
        with pytest.raises(BmcTransientError, match="points to another server"):
            it.client().media()
        assert (other.lines, other.fleet.figures().connections) == ([], 0)


def test_a_refused_connection_is_reported_as_such(it: OneBmc) -> None:
    it.fleet.change(listening=False)
    with pytest.raises(BmcTransientError, match="connection refused"):
        it.client().power()


def test_a_ca_that_is_not_pem_is_an_error_that_names_the_option() -> None:
    with pytest.raises(ConfigError, match="bmc_ca: is not a PEM"):
        tls_context("no pem", verify=True)


def test_the_password_is_in_no_repr() -> None:
    access = BmcAccess(address="redfish-virtualmedia://192.0.2.9", username="admin", session=True)
    bmc = SushyBmc(access, SecretStr("hidden"))
    assert "hidden" not in f"{access!r} {bmc!r} {vars(bmc)!r}"


def test_a_404_after_the_first_read_is_transient_and_paths_are_read_again(it: OneBmc) -> None:
    bmc = it.client()
    assert bmc.media() is None
    first = len(it.lines)
    it.answers(".", 404, text="{}")
    for read in (bmc.power, bmc.media, bmc.power):
        with pytest.raises(BmcTransientError, match="HTTP 404"):
            read()
    it.fleet.heal()
    before = len(it.lines)
    assert bmc.media() is None
    assert it.lines[before:] == it.lines[:first], "nothing is remembered of the BMC"


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("120", 120), ("", 0), ("soon", 0), ("Wed, 21 Oct 2015 07:28:00 GMT", 0)],
    ids=["seconds", "none", "unreadable", "past"],
)
def test_retry_after_reaches_the_steps(it: OneBmc, header: str, seconds: float) -> None:
    it.answers(READ, 503, text="", headers={"Retry-After": header})
    with pytest.raises(BmcTransientError) as caught:
        it.client().power()
    assert caught.value.retry_after_s == seconds


@pytest.mark.parametrize(
    ("fault", "undone"),
    [
        (Fault(RESET, "status", status=503, text=""), True),
        (Fault(RESET, "status", status=429, text=""), True),
        (Fault(RESET, "status", status=500, text=""), False),
        (Fault(RESET, "close"), False),
    ],
    ids=["503", "429", "500", "lost"],
)
def test_an_error_marks_a_write_as_undone_only_if_that_is_certain(it: OneBmc, fault: Fault, undone: bool) -> None:
    it.fleet.fault(fault)
    with pytest.raises(BmcTransientError) as caught:
        it.client().request_power(Power.ON)
    assert caught.value.undone is undone


def test_a_session_is_opened_renewed_once_and_ended(it: OneBmc) -> None:
    in_the_middle_of_a_boot(it)
    log_in = f"POST {SESSIONS}"
    bmc = it.client(session=True)
    assert bmc.power() is Power.CHANGING
    first, second = it.fleet.figures().received
    assert (first.line, second.line) == (log_in, f"GET {SYSTEM}")
    assert first.body == {"UserName": "admin", "Password": PASSWORD}
    assert (first.token, bool(second.token)) == ("", True)
    it.fleet.heal()
    it.answers(READ, 401, text="{}")
    with pytest.raises(BmcAuthError):
        bmc.power()
    assert it.lines[2:] == [f"GET {SYSTEM}", log_in, f"GET {SYSTEM}", f"GET {SYSTEM}"]
    assert it.fleet.figures().received[3].token == "", "a BMC may refuse a login with a token that it has forgotten"
    bmc.close()
    bmc.close()
    assert it.lines[6:] == [f"DELETE {SESSIONS}/4"], "the one that the fourth request opened"


def test_a_refused_session_is_requested_once(it: OneBmc) -> None:
    with pytest.raises(BmcAuthError):
        it.client(session=True, password="wrong").power()
    assert it.lines == [f"POST {SESSIONS}"]


def test_a_right_that_the_session_lacks_is_no_reason_to_log_in_again(it: OneBmc) -> None:
    """Accounts lock."""
    bmc = it.client(session=True)
    bmc.power()
    it.answers(READ, 403, text="{}")
    with pytest.raises(BmcAuthError, match="HTTP 403"):
        bmc.power()
    assert it.lines == [f"POST {SESSIONS}", f"GET {SYSTEM}", f"GET {SYSTEM}"]


def test_a_fresh_session_that_is_refused_is_not_renewed(it: OneBmc) -> None:
    it.answers(READ, 401, text="{}")
    with pytest.raises(BmcAuthError):
        it.client(session=True).power()
    assert it.lines == [f"POST {SESSIONS}", f"GET {SYSTEM}", f"GET {SYSTEM}"]


def test_a_login_that_was_accepted_is_tried_twice_and_then_no_more(it: OneBmc) -> None:
    """Issue 42, 15. Accounts lock."""
    bmc = it.client()
    bmc.power()
    it.answers(READ, 401, text="{}")
    for client in (bmc, it.client()):
        with pytest.raises(BmcAuthError, match="refuses the credentials"):
            client.power()
    assert it.lines == [f"GET {SYSTEM}"] * 3


def test_a_service_root_that_anyone_may_read_accepts_no_login(it: OneBmc) -> None:
    bmc = it.client(password="wrong")
    bmc._http.get("/redfish/v1/")
    with pytest.raises(BmcAuthError):
        bmc.power()
    assert it.lines == ["GET /redfish/v1", f"GET {SYSTEM}"]


@pytest.mark.parametrize(("vendor", "tag"), [("dell", "TAG0000"), ("dell3", "TAG0000"), ("hpe", ""), ("generic", "")])
def test_only_dells_sku_is_a_service_tag(vendor: str, tag: str) -> None:
    """HPE has the number of the model there, which many servers share."""
    with one_bmc(vendor) as it:
        assert it.client().identity().tag == tag


@pytest.mark.parametrize(
    ("status", "message"),
    [
        *((status, "no") for status in (408, 409, 412, 423, 425, 428, 429, 503)),
        *(
            (400, word)
            for word in (
                "Base.1.8.InvalidOperationForSystemState",
                "iLO.2.14.UnableToModifyDuringSystemPOST",
                "IDRAC.2.8.SYS518",
                "Base.1.8.SessionLimitExceeded",
            )
        ),
    ],
)
def test_what_a_bmc_did_not_do_now_is_left_to_the_steps_to_ask_for_again(
    it: OneBmc, status: int, message: str
) -> None:
    it.answers(RESET, status, body={"error": {"message": message}})
    with pytest.raises(BmcTransientError) as caught:
        it.client().request_power(Power.ON)
    assert (caught.value.undone, it.lines.count(RESET)) == (True, 1)


@pytest.mark.parametrize("status", [400, 405, 501])
def test_what_a_bmc_will_never_do_is_an_error_at_once(it: OneBmc, status: int) -> None:
    it.answers(RESET, status, body={"error": {"message": "no"}})
    with pytest.raises(BmcRefusedError):
        it.client().request_power(Power.ON)


@pytest.mark.parametrize("odd", [7, ["a"], {"a": 1}, True], ids=repr)
@pytest.mark.parametrize("name", ["UUID", "SerialNumber", "Model", "Manufacturer", "BiosVersion"])
def test_a_name_that_is_no_text_is_an_error_of_the_bmc(it: OneBmc, name: str, odd: object) -> None:
    """S3 of issue 43: an AttributeError ended the installation of all hosts."""
    it.says(READ, **{name: odd})
    with pytest.raises(BmcTransientError, match="cannot read the system: the answer is not usable"):
        it.client().identity()


def test_an_answer_of_only_brackets_is_an_error_of_the_bmc(it: OneBmc) -> None:
    """S3 of issue 43: a RecursionError ended the installation of all hosts."""
    it.answers(READ, text="[" * 20_000)
    with pytest.raises(BmcTransientError, match="cannot read the system: the answer is not usable"):
        it.client().power()
