"""The effect of writes on a machine."""

from collections.abc import Callable
from functools import partial
from typing import Any

from testing.fakes.fleet import tree
from testing.fakes.fleet.http import Answer, Request
from testing.fakes.fleet.machine import MODE, OFF_TYPES, RESET_TYPES, Drive, Machine
from testing.fakes.fleet.parts import Refusal

Handler = Callable[[Machine, Request], Answer]
Routes = dict[str, Handler]
"""The handlers by `METHOD path`."""
DONE = Answer(204)
TARGET = "BootSourceOverrideTarget"
MISSING = Refusal(404, "Base.1.8.ResourceMissingAtURI")
NO_MEDIA_TYPE = Refusal(415, "Base.1.8.HeaderInvalid")
MALFORMED = Refusal(400, "Base.1.8.MalformedJSON")
WRONG_VALUE = Refusal(400, "Base.1.8.ActionParameterValueNotInList")
UNKNOWN_PARAMETER = Refusal(400, "Base.1.8.ActionParameterUnknown")
NOT_TAKEN = "Base.1.8.ActionNotSupported"
UNKNOWN_FORMAT = "Base.1.8.ResourceAtUriInUnknownFormat"
CHANGED = Refusal(412, "Base.1.8.PreconditionFailed")
READ_ONLY = Refusal(400, "Base.1.8.PropertyNotWritable")
UNKNOWN_PROPERTY = Refusal(400, "Base.1.8.PropertyUnknown")
INCOMPLETE = Refusal(400, "Base.1.8.PropertyMissing")
FULL = Refusal(409, "Base.1.8.CreateLimitReachedForResource")
CERTIFICATE_IDS = ("1", "2")
"""The certificates that a drive has room for."""
IN_POST = Refusal(400, "iLO.2.14.UnableToModifyDuringSystemPOST")
COMMITTED = Refusal(400, "IDRAC.2.14.SYS011")
IN_LEGACY = Refusal(400, "Base.1.8.PropertyValueConflict")
ALREADY = Refusal(409, "Base.1.8.ActionParameterValueConflict")


def refuse(refusal: Refusal, why: str = "") -> Answer:
    """Return a Redfish error."""
    message = why or refusal.message or refusal.message_id.rsplit(".", 1)[1]
    detail: tree.Document = {"MessageId": refusal.message_id, "Message": message, "Severity": "Critical"}
    if refusal.args:
        detail["MessageArgs"] = refusal.args
    error = {"code": refusal.message_id, "message": message, "@Message.ExtendedInfo": [detail]}
    return Answer(refusal.status, {"error": error})


def body_of(request: Request) -> Any:
    """Return the body of a write; None if it is not a JSON object."""
    body = request.document if request.body else {}
    return body if isinstance(body, dict) else None


def _outdated(machine: Machine, request: Request) -> Answer | None:
    """Return the refusal of a missing or outdated If-Match; None if it is right."""
    tag = request.headers.get("if-match")
    if tag is None:
        needed = machine.vendor.needs_etag
        return refuse(Refusal(needed, "Base.1.8.PreconditionRequired")) if needed else None
    return None if tag in ("*", f'"{machine.version}"') else refuse(CHANGED)


def patch_boot(machine: Machine, request: Request) -> Answer:
    """Change the boot override."""
    changes = (body_of(request) or {}).get("Boot", {})
    if wrong := _outdated(machine, request):
        return wrong
    refusal = _refused_boot(machine, changes)
    return refuse(refusal) if refusal else _boot(machine, changes)


def _refused_boot(machine: Machine, changes: dict[str, str | None]) -> Refusal | None:
    vendor, clearing, target = machine.vendor, machine.vendor.clearing, changes.get(TARGET)
    clears = changes.get("BootSourceOverrideEnabled") == "Disabled"
    checks = (
        (not changes or not set(changes) <= set(machine.boot), READ_ONLY),
        (vendor.boot_whole and set(changes) != set(machine.boot), INCOMPLETE),
        (target is not None and target not in vendor.targets, WRONG_VALUE),
        (clears and target == "None" and not clearing.takes_none, WRONG_VALUE),
        (clears and not set(clearing.needs) <= set(changes), INCOMPLETE),
        (machine.power == "On" and machine.since_change() <= vendor.boot_busy, IN_POST),
    )
    return next((refusal for is_wrong, refusal in checks if is_wrong), None)


def _boot(machine: Machine, changes: dict[str, str | None]) -> Answer:
    another_mode = changes.get(MODE, machine.boot.get(MODE)) != machine.boot.get(MODE)
    if another_mode and machine.vendor.firmware.fixed_mode:
        return refuse(READ_ONLY, MODE)
    if another_mode and machine.vendor.firmware.by_jobs:
        return _firmware(machine, partial(machine.write_boot, changes))
    machine.write_boot(changes)
    machine.version += 1
    return DONE


def _firmware(machine: Machine, change: Callable[[], None]) -> Answer:
    """Change a setting that belongs to the firmware, not to the BMC."""
    if machine.jobs:
        return refuse(COMMITTED)
    machine.later(change)
    machine.version += 1
    return DONE


def patch_secure_boot(machine: Machine, request: Request) -> Answer:
    """Switch Secure Boot on or off, from the next boot."""
    changes = body_of(request) or {}
    if wrong := _outdated(machine, request):
        return wrong
    if set(changes) != {"SecureBootEnable"} or not machine.vendor.firmware.has_switch:
        return refuse(READ_ONLY)
    if changes["SecureBootEnable"] and machine.boot.get(MODE) == "Legacy":
        return refuse(IN_LEGACY)
    return _firmware(machine, partial(machine.secure_boot.update, changes))


def patch_attributes(machine: Machine, request: Request) -> Answer:
    """Change the attributes that boot an iDRAC's virtual CD."""
    changes = (body_of(request) or {}).get("Attributes", {})
    if not changes or not set(changes) <= set(machine.attributes):
        return refuse(READ_ONLY)
    machine.attributes |= changes
    machine.version += 1
    return Answer(200, {})


def reset(machine: Machine, request: Request) -> Answer:
    """Begin a change of power."""
    kind = (body_of(request) or {}).get("ResetType")
    if kind not in RESET_TYPES:
        return refuse(WRONG_VALUE)
    done = (
        ("Off", "PoweringOff") if kind in OFF_TYPES else ("On", "PoweringOn", "PoweringOff") if kind == "On" else ()
    )
    if machine.power in done:
        return refuse(machine.vendor.already) if machine.vendor.already else DONE
    if kind == "On" and machine.since_change() <= machine.vendor.on_busy:
        return refuse(ALREADY, "the server was just switched off")
    machine.reset(kind)
    return DONE


def enable_media(machine: Machine, request: Request) -> Answer:
    """List the virtual drives."""
    if body_of(request) != {"RMediaState": "Enable"}:
        return refuse(WRONG_VALUE)
    machine.media_enabled = True
    return DONE


def insert(name: str, machine: Machine, request: Request) -> Answer:
    """Insert an image through the action."""
    vendor, drive, asked = machine.vendor, machine.drives[name], body_of(request)
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


def eject(name: str, machine: Machine, request: Request) -> Answer:
    """Empty a drive through the action."""
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


def verify_media(name: str, machine: Machine, request: Request) -> Answer:
    """Have a drive verify the servers of its images, or not."""
    if wrong := _outdated(machine, request):
        return wrong
    asked = body_of(request) or {}
    if set(asked) != {"VerifyCertificate"}:
        return refuse(READ_ONLY)
    machine.drives[name].verifies = asked["VerifyCertificate"]
    machine.version += 1
    return DONE


def add_certificate(name: str, machine: Machine, request: Request) -> Answer:
    """Add a certificate to a drive, as sushy-tools does: it answers nothing but its Location."""
    drive, asked = machine.drives[name], body_of(request) or {}
    free = [each for each in CERTIFICATE_IDS if each not in drive.certificates]
    if set(asked) != {"CertificateString", "CertificateType"} or asked["CertificateType"] != "PEM":
        return refuse(INCOMPLETE)
    if not free:
        return refuse(FULL)
    drive.certificates[free[0]] = asked["CertificateString"]
    machine.version += 1
    location = f"{machine.vendor.media_path}/{name}/Certificates/{free[0]}"
    return Answer(204, headers={"Location": location})


def remove_certificate(name: str, certificate: str, machine: Machine, request: Request) -> Answer:
    """Remove a certificate from a drive."""
    machine.version += 1
    return DONE if machine.drives[name].certificates.pop(certificate, "") else refuse(MISSING, certificate)


def patch_drive(name: str, machine: Machine, request: Request) -> Answer:
    """Fill or empty a drive that has no action."""
    if wrong := _outdated(machine, request):
        return wrong
    asked, takes = body_of(request) or {}, machine.vendor.patch_takes
    if unknown := set(asked) - set(takes):
        return refuse(UNKNOWN_PROPERTY, ", ".join(sorted(unknown)))
    inserted = asked.get("Inserted") if "Inserted" in takes else bool(asked.get("Image"))
    if asked.get("Image") and inserted:
        return _load(machine, machine.drives[name], asked["Image"])
    if asked.get("Image", "") is None and not inserted:
        return _unload(machine, machine.drives[name])
    return refuse(READ_ONLY)
