"""A plain HTTP client of a fake BMC, which returns exactly the bytes that were sent."""

import http.client
import json
import ssl
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boot_media.iso import Iso
from boot_media.media_server import MediaServer
from testing.fakes.fleet.fleet import Fleet
from testing.fakes.fleet.unusable import EVERY
from testing.fakes.fleet.vendor import Vendor

ISO_BYTES = 150_000


@dataclass
class Raw:
    """One keep-alive connection to one BMC, opened by the first request, and reopened after it broke."""

    connection: http.client.HTTPConnection
    vendor: Vendor
    login: dict[str, str]

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Send a request, and return status and document."""
        text = None if body is None else json.dumps(body)
        try:
            self.connection.request(method, path, text, self.login | headers)
            answer = self.connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            raise
        return answer.status, json.loads(content) if content else None

    def get(self, path: str = "") -> Any:
        """Return a document; the system's by default."""
        status, document = self.ask("GET", path or self.vendor.system_path)
        assert status == 200, document
        return document

    def power(self) -> str:
        return str(self.get()["PowerState"])

    def reset(self, kind: str) -> int:
        path = f"{self.vendor.system_path}/Actions/ComputerSystem.Reset"
        return self.ask("POST", path, {"ResetType": kind})[0]

    def media(self, verb: str, slot: str = "", body: Any = None) -> int:
        path = f"{self.vendor.media_path}/{slot or self.vendor.slots[-1].name}/Actions/VirtualMedia.{verb}Media"
        return self.ask("POST", path, body)[0]

    def drive(self, slot: str = "") -> Any:
        return self.get(f"{self.vendor.media_path}/{slot or self.vendor.slots[-1].name}")

    def boot(self, body: dict[str, str], **headers: str) -> int:
        settings = "/Settings" if self.vendor.boot_in_settings else ""
        return self.ask("PATCH", self.vendor.system_path + settings, {"Boot": body}, **headers)[0]


@contextmanager
def raw(fleet: Fleet, host: int = 0) -> Iterator[Raw]:
    """Open a client of a host's BMC."""
    options = fleet.options
    login = b64encode(f"{options.username}:{options.password}".encode()).decode()
    context = ssl.create_default_context(cadata=fleet.ca)
    if options.tls:
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            fleet.node(host), fleet.port, timeout=5, context=context
        )
    else:
        connection = http.client.HTTPConnection(fleet.node(host), fleet.port, timeout=5)
    try:
        vendor = EVERY[options.vendors[host % len(options.vendors)]]
        yield Raw(connection, vendor, {"Authorization": f"Basic {login}"})
    finally:
        connection.close()


@contextmanager
def medium(folder: Path) -> Iterator[str]:
    """Serve an ISO on the program's media server, and return its URL."""
    base = folder / "base.iso"
    base.write_bytes(bytes(ISO_BYTES))
    with MediaServer("127.0.0.1", 0) as server:
        yield server.publish("host", Iso(base, ISO_BYTES, (), "ab" * 32))


def ready(fleet: Fleet, host: int = 0) -> int:
    """Return the status of /readyz at the API of a host."""
    context = ssl.create_default_context(cadata=fleet.ca)
    connection = http.client.HTTPSConnection(fleet.node(host), 6443, timeout=5, context=context)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status
    finally:
        connection.close()
