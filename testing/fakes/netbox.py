"""A stand-in for NetBox: a real HTTPS server with the lists of devices, interfaces and IP addresses.

Its traits are netbox 4.6.8's (43fe81f9e): the fields of each object, full or brief, and choices as `{value, label}`
(dcim/api/serializers_, ipam/api/serializers_, netbox/api/fields.py); HTTP 403 for a wrong or missing token, as the
class in netbox/api/authentication.py names no `WWW-Authenticate`; pages of MAX_PAGE_SIZE at most, whatever `limit`
asks for (netbox/api/pagination.py); MAC addresses in upper case (netaddr's EUI). A filter that it does not know is
ignored (a habit of django-filter, of which pynetbox's `filter` warns), and an unknown tag, site or role is HTTP 400.
No NetBox itself has been tried.
"""

import json
import ssl
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from testing.certificates import authority
from testing.fakes.serving import serving

Document = dict[str, Any]
CA = "netbox-ca"
V1, V2 = "0123456789abcdef0123456789abcdef01234567", "nbt_0123456789ab.0123456789abcdef0123456789abcdef01234567"
"""Tokens of both versions (users/models/tokens.py)."""
LIST = "/api/dcim/devices/"


@dataclass
class FakeNetBox:
    """Its objects, and how it answers."""

    url: str = ""
    lists: dict[str, list[Document]] = field(
        default_factory=lambda: {LIST: [], "/api/dcim/interfaces/": [], "/api/ipam/ip-addresses/": []}
    )
    max_page_size: int = 1000
    next_scheme: str = "https"
    """`http`: behind a proxy that does not send X-Forwarded-Proto."""
    answer: Callable[[str], tuple[int, str, dict[str, str]] | None] = lambda _: None
    """Another answer to a path: status, body and headers."""
    requests: list[str] = field(default_factory=list)
    """The paths with queries, of requests whose token was accepted."""

    def add_device(self, name: str | None, *, serial: str = "", bmc: str = "", ip: str = "", **more: Any) -> int:
        """Add a device with an out-of-band and a primary IP, and return its Id."""
        number = len(self.lists[LIST]) + 1
        words = {"role": "server", "site": "fra1", "tags": ["okd-prod"], **more}
        addresses = [self._brief_address(it) if it else None for it in (bmc, ip)]
        self.lists[LIST].append(
            {
                **self._head("dcim/devices", number, name or f"{words['role']} ({number})"),
                "name": name,
                "device_type": {
                    **self._head("dcim/device-types", 1, "R750"),
                    "manufacturer": self._slugged("dcim/manufacturers", "Dell"),
                    "model": "R750",
                    "slug": "r750",
                },
                "role": self._slugged("dcim/device-roles", words["role"]),
                "tenant": None,
                "platform": None,
                "serial": serial,
                "asset_tag": None,
                "site": self._slugged("dcim/sites", words["site"]),
                "location": None,
                "rack": {**self._head("dcim/racks", 1, "A1"), "name": "A1"},
                "position": 12.0,
                "face": {"value": "front", "label": "Front"},
                "status": {"value": "active", "label": "Active"},
                "airflow": None,
                "primary_ip": addresses[1],
                "primary_ip4": addresses[1],
                "primary_ip6": None,
                "oob_ip": addresses[0],
                "cluster": None,
                "virtual_chassis": None,
                "tags": [self._slugged("extras/tags", tag) for tag in words["tags"]],
                "custom_fields": {},
                "local_context_data": None,
                "config_context": {},
                "interface_count": 2,
            }
        )
        return number

    def add_interface(self, device: int, name: str, mac: str = "", *, ip: str = "", **more: Any) -> int:
        """Add an interface of a device, and return its Id."""
        of_all = self.lists["/api/dcim/interfaces/"]
        number, kind = len(of_all) + 101, more.pop("kind", "25gbase-x-sfp28")
        primary = (
            {**self._head("dcim/mac-addresses", number, mac.upper()), "mac_address": mac.upper()} if mac else None
        )
        links = {key: self._brief_interface(more.pop(key, None)) for key in ("parent", "bridge", "lag")}
        of_all.append(
            {
                **self._head("dcim/interfaces", number, name),
                "device": {**self._head("dcim/devices", device, "a device"), "name": "a device"},
                "name": name,
                "type": {"value": kind, "label": kind.upper()},
                "enabled": True,
                "mac_address": mac.upper() or None,
                "primary_mac_address": primary,
                "mgmt_only": False,
                "mode": None,
                "cable": None,
                "_occupied": False,
                **links,
                **more,
            }
        )
        if ip:
            addresses = self.lists["/api/ipam/ip-addresses/"]
            addresses.append(
                {
                    **self._brief_address(ip),
                    "id": len(addresses) + 1001,
                    "status": {"value": "active", "label": "Active"},
                    "role": None,
                    "assigned_object_type": "dcim.interface",
                    "assigned_object_id": number,
                    "assigned_object": self._brief_interface(number),
                    "device_id": device,
                }
            )
        return number

    def _head(self, path: str, number: int, display: str) -> Document:
        return {"id": number, "url": f"{self.url}/api/{path}/{number}/", "display": display, "description": ""}

    def _slugged(self, path: str, name: str) -> Document:
        return {**self._head(path, 1, name), "name": name, "slug": name.lower()}

    def _brief_address(self, address: str) -> Document:
        return {
            **self._head("ipam/ip-addresses", 1, address),
            "family": {"value": 4, "label": "IPv4"},
            "address": address,
        }

    def _brief_interface(self, number: int | None) -> Document | None:
        return {**self._head("dcim/interfaces", number, "x"), "name": "x", "cable": None} if number else None

    def page(self, path: str, query: dict[str, list[str]]) -> tuple[int, Document]:
        """Return the answer to a request for a list."""
        found = self.lists[path]
        for name, read in FILTERS.items():
            if wanted := query.get(name):
                known = {value for it in found for value in read(it)}
                if name != "device_id" and (unknown := [value for value in wanted if value not in known]):
                    what = f"Select a valid choice. {unknown[0]} is not one of the available choices."
                    return 400, {name: [what]}
                found = [it for it in found if not read(it).isdisjoint(wanted)]
        limit = int(query.get("limit", ["50"])[0])
        limit = min(limit or self.max_page_size, self.max_page_size)
        offset = int(query.get("offset", ["0"])[0])
        after = {**query, "limit": [str(limit)], "offset": [str(offset + limit)]}
        base = self.url.replace("https", self.next_scheme, 1)
        following = f"{base}{path}?{urlencode(after, doseq=True)}" if offset + limit < len(found) else None
        results = [{key: value for key, value in it.items() if key != "device_id"} for it in found]
        return 200, {"count": len(found), "next": following, "previous": None, "results": results[offset:][:limit]}


def _slugs(name: str) -> Callable[[Document], set[str]]:
    return lambda it: {it[name]["slug"]} if name in it else set()


FILTERS: dict[str, Callable[[Document], set[str]]] = {
    "role": _slugs("role"),
    "site": _slugs("site"),
    "tag": lambda it: {tag["slug"] for tag in it.get("tags", ())},
    "device_id": lambda it: {str(it["device"]["id"] if "device" in it else it.get("device_id", it["id"]))},
}
"""By name, what an object has of a filter."""


@contextmanager
def netbox() -> Iterator[FakeNetBox]:
    """Run a NetBox on loopback, with a certificate of the authority `CA`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            status, content = 404, "<!DOCTYPE html><title>Page Not Found</title>"
            more = dict[str, str]()
            if other := fake.answer(url.path):
                status, content, more = other
            elif url.path in fake.lists:
                status, document = self._listed(url.path, parse_qs(url.query))
                content = json.dumps(document)
            self.send_response(status)
            for name, value in {"API-Version": "4.6", "Content-Length": str(len(content.encode())), **more}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content.encode())

        def _listed(self, path: str, query: dict[str, list[str]]) -> tuple[int, Document]:
            keyword, _, token = self.headers.get("Authorization", "").partition(" ")
            if not token:
                return 403, {"detail": "Authentication credentials were not provided."}
            if (keyword, token) not in (("Token", V1), ("Bearer", V2)):
                return 403, {"detail": f"Invalid v{1 if keyword == 'Token' else 2} token"}
            fake.requests.append(self.path)
            return fake.page(path, query)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    pair = authority(CA).issue([], [IPv4Address("127.0.0.1")])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(pair.certificate + pair.key)
        file.flush()
        context.load_cert_chain(file.name)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    fake = FakeNetBox(f"https://127.0.0.1:{server.server_port}")
    with serving(server):
        yield fake
