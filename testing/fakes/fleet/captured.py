"""A BMC made of a capture: its documents, with the state of a machine in them.

A capture does not show how a BMC handles a write, so this one handles each write as the standard says.
"""

import json
from collections.abc import Iterator
from copy import deepcopy
from functools import cache, partial
from http import HTTPStatus
from pathlib import Path

from testing.fakes.fleet import writes
from testing.fakes.fleet.http import Answer, Request
from testing.fakes.fleet.machine import FIRST_BOOT, HTTP_BOOT_URI, MODE, Drive, Machine
from testing.fakes.fleet.parts import Firmware, Slot
from testing.fakes.fleet.tree import Document
from testing.fakes.fleet.unusable import EVERY
from testing.fakes.fleet.vendor import Vendor
from testing.fakes.fleet.vendors import GENERIC
from testing.fakes.fleet.writes import Routes

INSERT, EJECT = "#VirtualMedia.InsertMedia", "#VirtualMedia.EjectMedia"
TARGETS = "BootSourceOverrideTarget@Redfish.AllowableValues"


@cache
def vendor_of(name: str) -> Vendor:
    """Return the row of a vendor, or one for the capture in the file of that name."""
    if name in EVERY:
        return EVERY[name]
    resources, system, boot, drives = _resources(name), _system(name), _boot(name), dict(_drives(name))
    secure = dict(_bodies(name)).get(_secure_boot(name)) or {}
    return Vendor(
        name,
        manufacturer="",
        model="",
        bmc_model="",
        bmc_version="",
        bios_version="",
        slots=tuple(
            Slot(drive["Id"], tuple(drive.get("MediaTypes") or ()), action=bool(_targets(drive)))
            for drive in drives.values()
        ),
        system=system.rsplit("/", 1)[1],
        media_by="patch" if any("PATCH" in resources[path].get("allow", "") for path in drives) else "action",
        cd_targets=("Cd", "UsbCd"),
        targets=tuple(boot.get(TARGETS) or GENERIC.targets),
        attributes=next((path for path, body in _bodies(name) if FIRST_BOOT in (body.get("Attributes") or {})), ""),
        boot_mode=boot.get(MODE, ""),
        http_boot=HTTP_BOOT_URI in boot,
        firmware=Firmware(keys=secure.get("SecureBootMode") or "", has_switch="SecureBootEnable" in secure),
        capture=name,
    )


def set_captured_state(machine: Machine) -> None:
    """Give a machine the state that it had when its BMC was captured."""
    file = machine.vendor.capture
    machine.power = _resources(file)[_system(file)]["body"].get("PowerState", "Off")
    machine.boot |= {word: value for word, value in _boot(file).items() if word in machine.boot}
    secure = dict(_bodies(file)).get(_secure_boot(file)) or {}
    machine.secure_boot |= {word: value for word, value in secure.items() if word in machine.secure_boot}
    for body in dict(_drives(file)).values():
        drive, inserted = machine.drives[body["Id"]], body.get("Inserted")
        drive.image = body.get("Image") or ""
        drive.inserted = bool(drive.image) if inserted is None else inserted


@cache
def routes(vendor: Vendor) -> Routes:
    """Return the handlers by `METHOD path`."""
    file, handlers = vendor.capture, Routes()
    for path in _resources(file):
        handlers[f"GET {path}"] = partial(_read, path)
    for path in (_system(file), _settings(file)):
        handlers[f"PATCH {path}"] = writes.patch_boot
    reset = (_resources(file)[_system(file)]["body"].get("Actions") or {}).get("#ComputerSystem.Reset") or {}
    handlers[f"POST {reset.get('target')}"] = writes.reset
    handlers[f"PATCH {vendor.attributes}"] = writes.patch_attributes
    handlers[f"PATCH {_secure_boot(file)}"] = writes.patch_secure_boot
    for path, body in _drives(file):
        for action, target in _targets(body).items():
            handlers[f"POST {target}"] = partial(writes.insert if action == INSERT else writes.eject, body["Id"])
        if "PATCH" in _resources(file)[path].get("allow", ""):
            handlers[f"PATCH {path}"] = partial(writes.patch_drive, body["Id"])
    return handlers


def _read(path: str, machine: Machine, _: Request) -> Answer:
    captured = _resources(machine.vendor.capture)[path]
    body, headers = deepcopy(captured["body"]), {"ETag": f'"{machine.version}"'}
    if "allow" in captured:
        headers["Allow"] = captured["allow"]
    if captured["status"] == HTTPStatus.OK and body is not None:
        _show(path, machine, body)
    return Answer(captured["status"], body, headers)


def _show(path: str, machine: Machine, body: Document) -> None:
    """Replace the captured state by that of the machine."""
    file = machine.vendor.capture
    if path == _system(file):
        _replace(body, {"PowerState": machine.power})
    if path in (_system(file), _settings(file)):
        _replace(body.get("Boot") or {}, machine.boot)
    if path == _secure_boot(file):
        _replace(body, machine.secure_boot)
    _replace(body.get("Attributes") or {}, machine.attributes)
    if path in dict(_drives(file)):
        _show_drive(machine.drives[body["Id"]], body)


def _show_drive(drive: Drive, body: Document) -> None:
    shown: Document = {"Image": drive.image or None, "ImageName": drive.image.rsplit("/", 1)[-1] or None}
    connected = "URI" if drive.inserted else "NotConnected"
    _replace(body, {**shown, "Inserted": drive.inserted, "ConnectedVia": connected})
    if len(_offered(body)) == 1:
        # Supermicro's X13 offers InsertMedia only while a drive is empty, and EjectMedia only while it is full.
        action = EJECT if drive.inserted else INSERT
        body["Actions"] = {action: {"target": _targets(body)[action]}}


def _replace(part: Document, state: Document) -> None:
    part |= {word: value for word, value in state.items() if word in part}


def _offered(drive: Document) -> dict[str, str]:
    """Return the drive's actions, each with its path."""
    actions = drive.get("Actions") or {}
    return {action: str(actions[action]["target"]) for action in (INSERT, EJECT) if action in actions}


def _targets(drive: Document) -> dict[str, str]:
    """Return the paths of both actions, if the drive offers one of them."""
    offered = _offered(drive)
    for here, there in ((INSERT, EJECT), (EJECT, INSERT)):
        if here in offered:
            offered.setdefault(there, offered[here].replace(here.rpartition(".")[2], there.rpartition(".")[2]))
    return offered


@cache
def _capture(file: str) -> Document:
    document: Document = json.loads(Path(file).read_text())
    return document


def _resources(file: str) -> Document:
    resources: Document = _capture(file)["resources"]
    return resources


def _bodies(file: str) -> Iterator[tuple[str, Document]]:
    """Yield the documents that the BMC had, with their paths."""
    for path, resource in _resources(file).items():
        if resource["status"] == HTTPStatus.OK and resource["body"] is not None:
            yield path, resource["body"]


def _system(file: str) -> str:
    return str(_capture(file)["system"])


def _settings(file: str) -> str:
    """Return the path of @Redfish.Settings; empty if the system has none."""
    settings = dict(_bodies(file))[_system(file)].get("@Redfish.Settings") or {}
    return str(settings.get("SettingsObject", {}).get("@odata.id", ""))


def _secure_boot(file: str) -> str:
    """Return the path of Secure Boot; empty if the system has none."""
    return str((dict(_bodies(file))[_system(file)].get("SecureBoot") or {}).get("@odata.id", ""))


def _boot(file: str) -> Document:
    """Return the properties of Boot, on the system or in its settings."""
    bodies = dict(_bodies(file))
    boots = (bodies.get(path, {}).get("Boot") or {} for path in (_settings(file), _system(file)))
    return {word: value for boot in boots for word, value in boot.items()}


def _drives(file: str) -> Iterator[tuple[str, Document]]:
    """Yield the virtual drives, with their paths."""
    bodies = dict(_bodies(file))
    listings = {(body.get("VirtualMedia") or {}).get("@odata.id", "").rstrip("/") for body in bodies.values()}
    for path, body in bodies.items():
        if path.rpartition("/")[0] in listings:
            yield path, body
