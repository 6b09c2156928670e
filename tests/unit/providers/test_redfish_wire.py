"""SushyBmc against a small HTTP server: where things are looked up, what errors become, what is never sent."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from providers.errors import BmcAuthError, BmcError, BmcTransientError
from providers.redfish.access import Access
from providers.redfish.bmc import BootOverride, Identity, Power
from providers.redfish.sushy_bmc import SushyBmc
from providers.redfish.tls import tls_context

SYSTEMS = "/redfish/v1/Systems"
SYSTEM = f"{SYSTEMS}/1"
MANAGER = "/redfish/v1/Managers/1"
PASSWORD = "s3cret-Pässword"


def resource(path: str, **fields: Any) -> dict[str, Any]:
    return {"@odata.id": path, "Id": path.rsplit("/", 1)[1], "Name": "x", **fields}


def collection(path: str, *members: str) -> dict[str, Any]:
    return resource(path, Members=[{"@odata.id": member} for member in members])


def drive(path: str, *kinds: str, image: str = "", **fields: Any) -> dict[str, Any]:
    actions = {
        f"#VirtualMedia.{verb}Media": {"target": f"{path}/Actions/VirtualMedia.{verb}Media"}
        for verb in ("Insert", "Eject")
    }
    return resource(path, MediaTypes=list(kinds), Image=image, Inserted=bool(image), Actions=actions, **fields)


def service(home: str) -> dict[str, Any]:
    """A service with its virtual media below `home`."""
    system = resource(
        SYSTEM,
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
            "BootSourceOverrideTarget@Redfish.AllowableValues": ["Hdd", "Cd"],
        },
        Links={"ManagedBy": [{"@odata.id": MANAGER}]},
        Actions={
            "#ComputerSystem.Reset": {
                "target": f"{SYSTEM}/Actions/ComputerSystem.Reset",
                "ResetType@Redfish.AllowableValues": ["On", "ForceOff"],
            }
        },
    )
    documents = {SYSTEM: system, MANAGER: resource(MANAGER)}
    documents[home]["VirtualMedia"] = {"@odata.id": f"{home}/VirtualMedia"}
    documents[f"{home}/VirtualMedia"] = collection(
        f"{home}/VirtualMedia", f"{home}/VirtualMedia/Floppy", f"{home}/VirtualMedia/Cd"
    )
    documents[f"{home}/VirtualMedia/Floppy"] = drive(f"{home}/VirtualMedia/Floppy", "Floppy")
    documents[f"{home}/VirtualMedia/Cd"] = drive(f"{home}/VirtualMedia/Cd", "DVD")
    return documents


class FakeService(ThreadingHTTPServer):
    """Serves documents; `answers` replaces an answer by status and text."""

    daemon_threads = True

    def __init__(self, documents: dict[str, Any]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.documents = documents
        self.answers: dict[str, tuple[int, str]] = {}
        self.seen: list[str] = []
        self.bodies: list[Any] = []

    def bmc(self, system: str = SYSTEM) -> SushyBmc:
        address = f"redfish-virtualmedia+http://127.0.0.1:{self.server_address[1]}{system}"
        return SushyBmc(Access(address, "admin", PASSWORD))


class Handler(BaseHTTPRequestHandler):
    """Answers from the documents."""

    server: FakeService
    protocol_version = "HTTP/1.1"
    timeout = 10
    reads: ClassVar[tuple[str, ...]] = ("GET",)

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.seen.append(f"{self.command} {self.path}")
        if body:
            self.server.bodies.append(json.loads(body))
        status, text = self.server.answers.get(f"{self.command} {self.path}") or self.document()
        if status == 0:
            self.close_connection = True
            return
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def document(self) -> tuple[int, str]:
        if self.command not in self.reads:
            return 204, ""
        found = self.server.documents.get(self.path)
        return (404, "{}") if found is None else (200, json.dumps(found))

    def do_POST(self) -> None:
        self.do_GET()

    def do_PATCH(self) -> None:
        self.do_GET()

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture(params=[SYSTEM, MANAGER], ids=["media-on-system", "media-on-manager"])
def any_home(request: pytest.FixtureRequest) -> Iterator[FakeService]:
    yield from started(service(request.param))


@pytest.fixture
def system_home() -> Iterator[FakeService]:
    yield from started(service(SYSTEM))


def started(documents: dict[str, Any]) -> Iterator[FakeService]:
    server = FakeService(documents)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


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


def test_the_drive_is_found_wherever_it_lives(any_home: FakeService) -> None:
    bmc = any_home.bmc()
    assert bmc.media() is None
    bmc.insert("http://192.0.2.1/x.iso")
    posts = [line for line in any_home.seen if line.startswith("POST")]
    assert len(posts) == 1
    assert posts[0].endswith("/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia")
    assert any_home.bodies == [{"Image": "http://192.0.2.1/x.iso"}]
    any_home.seen.clear()
    assert bmc.media() is None
    assert len(any_home.seen) == 1
    bmc.close()


@pytest.mark.parametrize(
    ("fields", "media"),
    [
        ({"Image": "http://x/a.iso", "Inserted": True}, "http://x/a.iso"),
        ({"Image": "http://x/a.iso", "Inserted": False}, None),
        ({"Image": "http://x/a.iso", "Inserted": True, "ConnectedVia": "NotConnected"}, None),
        ({"Image": None, "ImageName": None, "Inserted": True}, "an unnamed image"),
        ({"Image": "", "Inserted": False}, None),
    ],
    ids=["inserted", "name-kept-after-eject", "not-connected", "unnamed", "empty"],
)
def test_inserted_decides_not_the_image_name(
    system_home: FakeService, fields: dict[str, Any], media: str | None
) -> None:
    system_home.documents[f"{SYSTEM}/VirtualMedia/Cd"].update(fields)
    bmc = system_home.bmc()
    assert bmc.media() == media
    bmc.close()


def test_the_boot_mode_is_not_sent(system_home: FakeService) -> None:
    bmc = system_home.bmc()
    bmc.set_override("Cd", "Once")
    assert system_home.bodies == [{"Boot": {"BootSourceOverrideTarget": "Cd", "BootSourceOverrideEnabled": "Once"}}]
    bmc.close()


@pytest.mark.parametrize(("want", "sent"), [(Power.ON, "On"), (Power.OFF, "ForceOff")], ids=["on", "off"])
def test_power_is_asked_for_by_what_can_be_verified(system_home: FakeService, want: Power, sent: str) -> None:
    bmc = system_home.bmc()
    bmc.request_power(want)
    assert system_home.bodies == [{"ResetType": sent}]
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
