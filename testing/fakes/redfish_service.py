"""A small Redfish service over plain HTTP, as documents: what is asked of it, and what it answers, word by word."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from wires.redfish.access import Access
from wires.redfish.sushy_bmc import SushyBmc

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
        self.headers: dict[str, str] = {}
        self.authorization: list[str] = []
        """Tokens of sessions that came, empty for none."""

    def bmc(self, system: str = SYSTEM, *, session: bool = False) -> SushyBmc:
        address = f"redfish-virtualmedia+http://127.0.0.1:{self.server_address[1]}{system}"
        return SushyBmc(Access(address, "admin", PASSWORD, session=session))


class Handler(BaseHTTPRequestHandler):
    """Answers from the documents."""

    server: FakeService
    protocol_version = "HTTP/1.1"
    timeout = 10
    reads: ClassVar[tuple[str, ...]] = ("GET",)

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.seen.append(f"{self.command} {self.path}")
        self.server.authorization.append(self.headers.get("X-Auth-Token", ""))
        if body:
            self.server.bodies.append(json.loads(body))
        status, text = self.server.answers.get(f"{self.command} {self.path}") or self.document()
        if status == 0:
            self.close_connection = True
            return
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        for name, value in self.server.headers.items():
            self.send_header(name, value)
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

    def do_DELETE(self) -> None:
        self.do_GET()

    def log_message(self, *args: Any) -> None:
        pass


def started(documents: dict[str, Any]) -> Iterator[FakeService]:
    server = FakeService(documents)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()
