"""The Redfish service of one machine: logins and routes."""

import secrets
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

from testing.fakes.fleet import captured, hardware, protocol, tree, writes
from testing.fakes.fleet.http import Answer, Request
from testing.fakes.fleet.machine import Machine
from testing.fakes.fleet.parts import Refusal
from testing.fakes.fleet.vendor import Vendor
from testing.fakes.fleet.writes import DONE, MISSING, Routes, body_of, refuse

NOT_LOGGED_IN = Refusal(401, "Base.1.8.NoValidSession")
NOT_ALLOWED = Refusal(405, "Base.1.8.OperationNotAllowed")
LOGINS = (f"POST {tree.SESSIONS}", f"POST {tree.SESSIONS}/Members")
SESSION_LIMIT = Refusal(503, "Base.1.8.SessionLimitExceeded")


def _tersely(answer: Answer) -> Answer:
    """Return an error in the form of iLO."""
    if isinstance(answer.document, dict) and "error" in answer.document:
        error = answer.document["error"]
        error["message"] = "See @Message.ExtendedInfo for more information."
        for detail in error["@Message.ExtendedInfo"]:
            del detail["Message"], detail["Severity"]
    return answer


class Service:
    """Answers the requests to a machine.

    Args:
        username: The user name of its one account.
    """

    def __init__(self, machine: Machine, username: str, password: str) -> None:
        self._machine = machine
        self._login = {"UserName": username, "Password": password}
        self._basic = "Basic " + b64encode(f"{username}:{password}".encode()).decode()
        self._routes = protocol.ROUTES | (captured.routes if machine.vendor.capture else _routes)(machine.vendor)
        self._methods = protocol.methods([*self._routes, *LOGINS])

    def answer(self, request: Request) -> Answer:
        """Carry out a request, and return its answer."""
        asked = replace(request, method="GET") if request.method == "HEAD" else request
        answer = protocol.refusal(request) or self._answer(asked)
        answer = _tersely(answer) if self._machine.vendor.terse else answer
        return protocol.complete(answer, request, self._allowed(request.path))

    def unlicensed(self) -> Answer:
        """Refuse because a licence is missing."""
        vendor = self._machine.vendor
        answer = refuse(vendor.unlicensed)
        return _tersely(answer) if vendor.terse else answer

    def _answer(self, request: Request) -> Answer:
        if request.line in LOGINS:
            return self._log_in(request)
        if request.line not in protocol.WITHOUT_LOGIN and not self._is_known(request):
            return refuse(NOT_LOGGED_IN)
        if name := self._session(request.path):
            return self._in_session(request, name)
        if request.path.endswith(hardware.EXPAND) and hardware.hardware_of(self._machine.vendor).expands:
            plain = replace(request, path=request.path.removesuffix(hardware.EXPAND))
            return hardware.expanded(self._answer(plain), request, self._answer)
        handler = self._routes.get(request.line)
        if handler is None:
            return refuse(NOT_ALLOWED if self._allowed(request.path) else MISSING, request.path)
        return handler(self._machine, request)

    def _allowed(self, path: str) -> str:
        """Return the methods of a path, as the header Allow has them; empty if there is no such resource."""
        return "GET, HEAD, DELETE" if self._session(path) else self._methods.get(path, "")

    def _session(self, path: str) -> str:
        """Return the id of the open session at a path; empty if there is none."""
        parent, _, name = path.rpartition("/")
        return name if parent == tree.SESSIONS and name in self._machine.sessions.values() else ""

    def _is_known(self, request: Request) -> bool:
        by_session = request.headers.get("x-auth-token") in self._machine.sessions
        return by_session or request.headers.get("authorization") == self._basic

    def _log_in(self, request: Request) -> Answer:
        machine = self._machine
        if body_of(request) != self._login:
            return refuse(NOT_LOGGED_IN)
        if len(machine.sessions) >= machine.session_limit:
            return refuse(SESSION_LIMIT)
        token, name = secrets.token_hex(16), str(len(machine.figures.received))
        machine.sessions[token] = name
        document = tree.session(name, self._login["UserName"])
        return Answer(201, document, {"X-Auth-Token": token, "Location": document["@odata.id"]})

    def _in_session(self, request: Request, name: str) -> Answer:
        sessions = self._machine.sessions
        if request.method == "GET":
            return Answer(200, tree.session(name, self._login["UserName"]))
        if request.method != "DELETE":
            return refuse(NOT_ALLOWED, name)
        for token in [token for token, session in sessions.items() if session == name]:
            del sessions[token]
        return DONE


@cache
def _routes(vendor: Vendor) -> Routes:
    """Return the handlers by `METHOD path`."""
    written = f"{vendor.system_path}/Settings" if vendor.boot_in_settings else vendor.system_path
    documents: dict[str, Callable[[Machine], tree.Document]] = {
        tree.ROOT: lambda machine: tree.root(machine) | hardware.of_root(vendor),
        f"{tree.ROOT}/Systems": tree.systems,
        f"{tree.ROOT}/Managers": tree.managers,
        vendor.system_path: lambda machine: (
            hardware.with_chassis(vendor, tree.system(machine)) | hardware.of_system(vendor)
        ),
        **({written: tree.settings} if vendor.boot_in_settings else {}),
        vendor.manager_path: lambda machine: hardware.with_links(vendor, tree.manager(machine)),
        vendor.media_path: tree.media,
        tree.SESSION_SERVICE: tree.session_service,
        tree.SESSIONS: tree.sessions,
        **hardware.documents(vendor),
    }
    routes: Routes = {f"GET {path}": partial(_read, document) for path, document in documents.items()}
    for kind, names in (("Systems", vendor.other_systems), ("Managers", vendor.other_managers)):
        for path in (f"{tree.ROOT}/{kind}/{name}" for name in names):
            routes[f"GET {path}"] = partial(_read, partial(_other, path, kind))
    routes[f"PATCH {written}"] = writes.patch_boot
    routes[f"POST {vendor.system_path}/Actions/ComputerSystem.Reset"] = writes.reset
    for path in (f"{vendor.manager_path}/{linked}" for linked in vendor.attributes_linked):
        routes[f"GET {path}"] = partial(_read, partial(tree.other_attributes, path))
    if vendor.attributes:
        path = f"{vendor.manager_path}/{vendor.attributes}"
        routes |= {f"GET {path}": partial(_read, tree.attributes), f"PATCH {path}": writes.patch_attributes}
    if vendor.firmware.keys:
        path = f"{vendor.system_path}/SecureBoot"
        routes |= {f"GET {path}": partial(_read, tree.secure_boot), f"PATCH {path}": writes.patch_secure_boot}
    if not vendor.media_enabled:
        routes[f"POST {vendor.enable_path}"] = writes.enable_media
    return routes | _drives(vendor)


def _drives(vendor: Vendor) -> Routes:
    """Return the handlers of the virtual drives."""
    routes: Routes = {}
    for slot in vendor.slots:
        path = f"{vendor.media_path}/{slot.name}"
        routes[f"GET {path}"] = partial(_read_drive, slot.name)
        if slot.action:
            routes[f"POST {path}/Actions/VirtualMedia.InsertMedia"] = partial(writes.insert, slot.name)
            routes[f"POST {path}/Actions/VirtualMedia.EjectMedia"] = partial(writes.eject, slot.name)
        elif vendor.media_by == "patch":
            routes[f"PATCH {path}"] = partial(writes.patch_drive, slot.name)
        if vendor.verifies is not None:
            routes |= _certificates(path, slot.name)
    return routes


def _certificates(path: str, drive: str) -> Routes:
    """Return the handlers of a drive that can verify the server of its image."""
    routes: Routes = {
        f"PATCH {path}": partial(writes.verify_media, drive),
        f"POST {path}/Certificates": partial(writes.add_certificate, drive),
        f"GET {path}/Certificates": partial(_read, lambda machine: tree.certificates(machine, machine.drives[drive])),
    }
    for name in writes.CERTIFICATE_IDS:
        routes[f"GET {path}/Certificates/{name}"] = partial(_read_certificate, drive, name)
        routes[f"DELETE {path}/Certificates/{name}"] = partial(writes.remove_certificate, drive, name)
    return routes


def _read_certificate(drive: str, name: str, machine: Machine, request: Request) -> Answer:
    if name not in machine.drives[drive].certificates:
        return refuse(MISSING, name)
    return _read(lambda machine: tree.certificate(machine, machine.drives[drive], name), machine, request)


def _other(path: str, kind: str, _: Machine) -> tree.Document:
    return tree.other(path, kind)


def _read(document: Callable[[Machine], tree.Document], machine: Machine, _: Request) -> Answer:
    return _tagged(machine, document(machine))


def _tagged(machine: Machine, document: tree.Document) -> Answer:
    """Return an answer with the ETag where this BMC has it."""
    tag = f'"{machine.version}"'
    if machine.etag_in == "body":
        return Answer(200, {**document, "@odata.etag": tag})
    return Answer(200, document, {"ETag": tag if machine.etag_in == "header" else ""})


def _read_drive(name: str, machine: Machine, request: Request) -> Answer:
    if not machine.media_enabled:
        return refuse(MISSING, name)
    return _read(lambda machine: tree.drive(machine, machine.drives[name]), machine, request)
