"""What DSP0266 asks of every service; `make redfish-conformance` runs DMTF's own validators on it."""

from collections.abc import Iterator
from http.client import HTTPResponse

import pytest

from testing.fakes.fleet.fleet import Options, running
from testing.fakes.fleet.tree import ROOT, SESSIONS
from tests.unit.testing.raw import Raw, raw

SYSTEM = f"{ROOT}/Systems/1"


@pytest.fixture(scope="module")
def bmc() -> Iterator[Raw]:
    with running(Options(tls=False)) as fleet, raw(fleet) as bmc:
        yield bmc


def answer(bmc: Raw, line: str, headers: dict[str, str] | None = None) -> tuple[HTTPResponse, bytes]:
    method, path = line.split(" ")
    bmc.connection.request(method, path, headers=bmc.login if headers is None else headers)
    got = bmc.connection.getresponse()
    return got, got.read()


@pytest.mark.parametrize("path", ["/redfish", ROOT, f"{ROOT}/odata", f"{ROOT}/$metadata"])
def test_the_documents_of_the_standard_need_no_login(bmc: Raw, path: str) -> None:
    got, body = answer(bmc, f"GET {path}", headers={})
    assert (got.status, bool(body)) == (200, True)
    assert got.headers["Content-Type"] == ("application/xml" if "metadata" in path else "application/json")


def test_a_request_without_login_learns_how_to_log_in(bmc: Raw) -> None:
    got, _ = answer(bmc, f"GET {SYSTEM}", headers={})
    assert (got.status, got.headers["WWW-Authenticate"]) == (401, 'Basic realm="BMC"')


@pytest.mark.parametrize(
    ("line", "status", "allowed"),
    [
        (f"GET {SYSTEM}", 200, "GET, HEAD, PATCH"),
        (f"DELETE {SYSTEM}", 405, "GET, HEAD, PATCH"),
        (f"POST {ROOT}", 405, "GET, HEAD"),
        (f"GET {SYSTEM}/None", 404, None),
    ],
)
def test_an_answer_names_the_methods_that_are_allowed(bmc: Raw, line: str, status: int, allowed: str | None) -> None:
    got, _ = answer(bmc, line)
    assert (got.status, got.headers["Allow"]) == (status, allowed)


def test_head_has_the_headers_of_get_and_no_body(bmc: Raw) -> None:
    (head, nothing), (get, body) = answer(bmc, f"HEAD {SYSTEM}"), answer(bmc, f"GET {SYSTEM}")
    assert (dict(head.headers), nothing, len(body)) == (dict(get.headers), b"", int(head.headers["Content-Length"]))


def test_another_version_of_odata_is_refused(bmc: Raw) -> None:
    assert answer(bmc, f"GET {SYSTEM}", bmc.login | {"OData-Version": "4.1"})[0].status == 412


def test_a_resource_links_its_schema(bmc: Raw) -> None:
    links = [answer(bmc, f"GET {path}")[0].headers["Link"] for path in (SYSTEM, f"{ROOT}/Systems")]
    schemas = ("ComputerSystem.v1_16_0", "ComputerSystemCollection")
    assert links == [f"<http://redfish.dmtf.org/schemas/v1/{name}.json>; rel=describedby" for name in schemas]


def test_a_session_begins_at_members_too_and_can_be_read(bmc: Raw) -> None:
    login = {"UserName": "admin", "Password": Options().password}
    status, session = bmc.ask("POST", f"{SESSIONS}/Members", login)
    assert (status, bmc.get(session["@odata.id"])) == (201, session)
    assert answer(bmc, f"DELETE {session['@odata.id']}")[0].status == 204
    assert bmc.ask("GET", session["@odata.id"])[0] == 404


def test_a_server_without_a_virtual_cd_can_be_switched_on() -> None:
    with running(Options(vendors=("intel",), tls=False)) as fleet, raw(fleet) as bmc:
        assert (bmc.reset("On"), bmc.power(), bmc.power()) == (204, "PoweringOn", "On")
        assert fleet.figures().booted == ["nothing"]


def test_only_some_vendors_refuse_a_reset_to_the_present_power() -> None:
    vendors = ("generic", "dell", "hpe")
    with running(Options(hosts=3, vendors=vendors, tls=False)) as fleet:
        answers = []
        for host in range(3):
            with raw(fleet, host) as bmc:
                answers.append(bmc.reset("ForceOff"))
        assert (answers, fleet.total().resets) == ([204, 409, 400], {})
