"""The Redfish service of one machine: logins, routes, and the effect of writes."""

import secrets
from base64 import b64encode
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from testing.fakes.fleet import tree
from testing.fakes.fleet.http import Answer, Request
from testing.fakes.fleet.machine import OFF_TYPES, RESET_TYPES, Drive, Machine
from testing.fakes.fleet.vendors import Refusal, Vendor

Handler = Callable[[Machine, Request], Answer]
Routes = dict[str, Handler]
DONE = Answer(204)
NOT_LOGGED_IN = Refusal(401, "Base.1.8.NoValidSession")
MISSING = Refusal(404, "Base.1.8.ResourceMissingAtURI")
NOT_ALLOWED = Refusal(405, "Base.1.8.OperationNotAllowed")
NO_MEDIA_TYPE = Refusal(415, "Base.1.8.HeaderInvalid")
MALFORMED = Refusal(400, "Base.1.8.MalformedJSON")
WRONG_VALUE = Refusal(400, "Base.1.8.ActionParameterValueNotInList")
UNKNOWN_PARAMETER = Refusal(400, "Base.1.8.ActionParameterUnknown")
NOT_TAKEN = "Base.1.8.ActionNotSupported"
UNKNOWN_FORMAT = "Base.1.8.ResourceAtUriInUnknownFormat"
CHANGED = Refusal(412, "Base.1.8.PreconditionFailed")
READ_ONLY = Refusal(400, "Base.1.8.PropertyNotWritable")
INCOMPLETE = Refusal(400, "Base.1.8.PropertyMissing")
IN_POST = Refusal(400, "iLO.2.14.UnableToModifyDuringSystemPOST")
ALREADY = Refusal(409, "Base.1.8.ActionParameterValueConflict")
SESSION_LIMIT = Refusal(503, "Base.1.8.SessionLimitExceeded")


def refuse(refusal: Refusal, why: str = "") -> Answer:
    """A Redfish error."""
    message = why or refusal.says or refusal.message_id.rsplit(".", 1)[1]
    detail: tree.Document = {"MessageId": refusal.message_id, "Message": message, "Severity": "Critical"}
    if refusal.args:
        detail["MessageArgs"] = refusal.args
    error = {"code": refusal.message_id, "message": message, "@Message.ExtendedInfo": [detail]}
    return Answer(refusal.status, {"error": error})


def _tersely(answer: Answer) -> Answer:
    """An error as iLO words it."""
    if answer.document and "error" in answer.document:
        error = answer.document["error"]
        error["message"] = "See @Message.ExtendedInfo for more information."
        for detail in error["@Message.ExtendedInfo"]:
            del detail["Message"], detail["Severity"]
    return answer


class Service:
    """Answers for a machine.

    Args:
        username: Of its one account.
    """

    def __init__(self, machine: Machine, username: str, password: str) -> None:
        self._machine = machine
        self._login = {"UserName": username, "Password": password}
        self._basic = "Basic " + b64encode(f"{username}:{password}".encode()).decode()
        self._routes = _routes(machine.vendor)

    def answer(self, request: Request) -> Answer:
        """Do what is asked."""
        answer = self._answer(request)
        return _tersely(answer) if self._machine.vendor.terse else answer

    def unlicensed(self) -> Answer:
        """Refuse for a licence that is missing."""
        vendor = self._machine.vendor
        answer = refuse(vendor.unlicensed)
        return _tersely(answer) if vendor.terse else answer

    def _answer(self, request: Request) -> Answer:
        if request.line == f"POST {tree.SESSIONS}":
            return self._log_in(request)
        if request.line != f"GET {tree.ROOT}" and not self._is_known(request):
            return refuse(NOT_LOGGED_IN)
        if request.line.startswith(f"DELETE {tree.SESSIONS}/"):
            return self._log_out(request.path.rsplit("/", 1)[1])
        handler = self._routes.get(request.line)
        if handler is None:
            found = any(line.endswith(f" {request.path}") for line in self._routes)
            return refuse(NOT_ALLOWED if found else MISSING, request.path)
        return handler(self._machine, request)

    def _is_known(self, request: Request) -> bool:
        by_session = request.headers.get("x-auth-token") in self._machine.sessions
        return by_session or request.headers.get("authorization") == self._basic

    def _log_in(self, request: Request) -> Answer:
        machine = self._machine
        if _asked(request) != self._login:
            return refuse(NOT_LOGGED_IN)
        if len(machine.sessions) >= machine.session_limit:
            return refuse(SESSION_LIMIT)
        token, name = secrets.token_hex(16), str(len(machine.figures.received))
        machine.sessions[token] = name
        path = f"{tree.SESSIONS}/{name}"
        document = tree.resource(path, "Session.v1_3_0.Session", UserName=self._login["UserName"])
        return Answer(201, document, {"X-Auth-Token": token, "Location": path})

    def _log_out(self, name: str) -> Answer:
        for token in [token for token, held in self._machine.sessions.items() if held == name]:
            del self._machine.sessions[token]
            return DONE
        return refuse(MISSING, name)


@cache
def _routes(vendor: Vendor) -> Routes:
    """What answers a `METHOD path`."""
    written = f"{vendor.system_path}/Settings" if vendor.boot_in_settings else vendor.system_path
    documents: dict[str, Callable[[Machine], tree.Document]] = {
        tree.ROOT: tree.root,
        f"{tree.ROOT}/Systems": tree.systems,
        f"{tree.ROOT}/Managers": tree.managers,
        vendor.system_path: tree.system,
        written: tree.settings if vendor.boot_in_settings else tree.system,
        vendor.manager_path: tree.manager,
        vendor.media_path: tree.media,
        tree.SESSION_SERVICE: tree.session_service,
        tree.SESSIONS: tree.sessions,
    }
    routes: Routes = {f"GET {path}": partial(_read, document) for path, document in documents.items()}
    for kind, names in (("Systems", vendor.other_systems), ("Managers", vendor.other_managers)):
        for path in (f"{tree.ROOT}/{kind}/{name}" for name in names):
            routes[f"GET {path}"] = partial(_read, partial(_other, path, kind))
    routes[f"PATCH {written}"] = _patch_boot
    routes[f"POST {vendor.system_path}/Actions/ComputerSystem.Reset"] = _reset
    for path in (f"{vendor.manager_path}/{each}" for each in vendor.attributes_linked):
        routes[f"GET {path}"] = partial(_read, partial(tree.other_attributes, path))
    if vendor.attributes:
        path = f"{vendor.manager_path}/{vendor.attributes}"
        routes |= {f"GET {path}": partial(_read, tree.attributes), f"PATCH {path}": _patch_attributes}
    if not vendor.media_enabled:
        routes[f"POST {vendor.enable_path}"] = _enable_media
    for slot in vendor.slots:
        path = f"{vendor.media_path}/{slot.name}"
        routes[f"GET {path}"] = partial(_read_drive, slot.name)
        if slot.action:
            routes[f"POST {path}/Actions/VirtualMedia.InsertMedia"] = partial(_insert, slot.name)
            routes[f"POST {path}/Actions/VirtualMedia.EjectMedia"] = partial(_eject, slot.name)
        elif vendor.media_by == "patch":
            routes[f"PATCH {path}"] = partial(_patch_drive, slot.name)
    return routes


def _other(path: str, kind: str, _: Machine) -> tree.Document:
    return tree.other(path, kind)


def _read(document: Callable[[Machine], tree.Document], machine: Machine, _: Request) -> Answer:
    return Answer(200, document(machine), {"ETag": f'"{machine.version}"'})


def _read_drive(name: str, machine: Machine, _: Request) -> Answer:
    if not machine.media_enabled:
        return refuse(MISSING, name)
    allow = "GET, HEAD, PATCH" if machine.vendor.media_by == "patch" else "GET, HEAD"
    document = tree.drive(machine, machine.drives[name])
    return Answer(200, document, {"ETag": f'"{machine.version}"', "Allow": allow})


def _asked(request: Request) -> Any:
    """What a write asks for; None where its body is not a JSON object."""
    body = request.document if request.body else {}
    return body if isinstance(body, dict) else None


def _outdated(machine: Machine, request: Request) -> Answer | None:
    """What is wrong with If-Match."""
    given = request.headers.get("if-match")
    if given is None:
        needed = machine.vendor.needs_etag
        return refuse(Refusal(needed, "Base.1.8.PreconditionRequired")) if needed else None
    return None if given in ("*", f'"{machine.version}"') else refuse(CHANGED)


def _patch_boot(machine: Machine, request: Request) -> Answer:
    vendor, changes = machine.vendor, (_asked(request) or {}).get("Boot", {})
    if wrong := _outdated(machine, request):
        return wrong
    if not changes or not set(changes) <= set(machine.boot):
        return refuse(READ_ONLY)
    if vendor.boot_whole and set(changes) != set(machine.boot):
        return refuse(INCOMPLETE)
    if changes.get("BootSourceOverrideTarget", "None") not in vendor.targets:
        return refuse(WRONG_VALUE)
    if machine.power == "On" and machine.since_change() <= vendor.boot_busy:
        return refuse(IN_POST)
    machine.write_boot(changes)
    machine.version += 1
    return DONE


def _patch_attributes(machine: Machine, request: Request) -> Answer:
    changes = (_asked(request) or {}).get("Attributes", {})
    if not changes or not set(changes) <= set(machine.attributes):
        return refuse(READ_ONLY)
    machine.attributes |= changes
    machine.version += 1
    return Answer(200, {})


def _reset(machine: Machine, request: Request) -> Answer:
    kind = (_asked(request) or {}).get("ResetType")
    if kind not in RESET_TYPES:
        return refuse(WRONG_VALUE)
    done = (
        ("Off", "PoweringOff") if kind in OFF_TYPES else ("On", "PoweringOn", "PoweringOff") if kind == "On" else ()
    )
    if machine.power in done:
        return refuse(ALREADY, f"the power is {machine.power}")
    if kind == "On" and machine.since_change() <= machine.vendor.on_busy:
        return refuse(ALREADY, "the server was just switched off")
    machine.reset(kind)
    return DONE


def _enable_media(machine: Machine, request: Request) -> Answer:
    if _asked(request) != {"RMediaState": "Enable"}:
        return refuse(WRONG_VALUE)
    machine.media_enabled = True
    return DONE


def _insert(name: str, machine: Machine, request: Request) -> Answer:
    vendor, drive, asked = machine.vendor, machine.drives[name], _asked(request)
    if not machine.media_enabled:
        return refuse(MISSING, name)
    if drive.slot.refuses:
        return refuse(Refusal(drive.slot.refuses, NOT_TAKEN))
    if asked is None or not asked.get("Image"):
        return refuse(MALFORMED)
    if unwanted := set(asked) & set(vendor.media_refused):
        return refuse(UNKNOWN_PARAMETER, ", ".join(sorted(unwanted)))
    if asked["Image"].partition(":")[0] not in vendor.media_schemes:
        words = f"what is at '{asked['Image']}' is of no known format"
        return refuse(Refusal(400, UNKNOWN_FORMAT, words, (asked["Image"],)))
    return _load(machine, drive, asked["Image"])


def _load(machine: Machine, drive: Drive, image: str) -> Answer:
    if drive.inserted:
        return refuse(machine.vendor.insert_full)
    drive.load(image)
    machine.figures.inserts.append(image)
    machine.version += 1
    return DONE


def _eject(name: str, machine: Machine, request: Request) -> Answer:
    if machine.vendor.eject_needs_body and not request.body:
        return refuse(NO_MEDIA_TYPE)
    return _unload(machine, machine.drives[name])


def _unload(machine: Machine, drive: Drive) -> Answer:
    vendor = machine.vendor
    if not drive.inserted:
        return refuse(vendor.eject_empty) if vendor.eject_empty else DONE

    def empty() -> None:
        drive.inserted = False
        if not vendor.image_stays:
            drive.image = ""

    machine.figures.ejects += 1
    machine.version += 1
    if vendor.eject_takes:
        machine.after(vendor.eject_takes, empty)
    else:
        empty()
    return DONE


def _patch_drive(name: str, machine: Machine, request: Request) -> Answer:
    if wrong := _outdated(machine, request):
        return wrong
    asked = _asked(request) or {}
    if asked.get("Image") and asked.get("Inserted"):
        return _load(machine, machine.drives[name], asked["Image"])
    if asked == {"Image": None, "Inserted": False}:
        return _unload(machine, machine.drives[name])
    return refuse(READ_ONLY)
