"""`python -m lab.site.emulator ARGUMENTS OF sushy-emulator`: sushy-emulator with a real server's UEFI HTTP boot.

sushy-tools 2.2.0 inserts the ISO into a virtual CD drive instead. Here the server's own UEFI gets the ISO's URI as
the option of its next boot only; edk2 gets an address by DHCP, fetches the ISO, and boots it from memory. The BMC
shows the URI until a client sets another boot. And each drive has a model and serial number of its own: sushy-tools
2.2.0 has those of one for all (templates/drive.json).
"""

import json
import re
import shutil
import sys
import xml.etree.ElementTree as ET
from http import HTTPStatus
from pathlib import Path
from typing import Any

import flask
import libvirt
from sushy_tools.emulator import main as sushy_emulator

from lab.paths import LIBVIRT
from lab.shell import run

_SYSTEM = re.compile(r"/redfish/v1/Systems/([^/]+)")
_DRIVE = re.compile(r"/redfish/v1/Systems/([^/]+)/Storage/([^/]+)/Drives/([^/]+)")
_TARGET, _URI = "BootSourceOverrideTarget", "HttpBootUri"
_HTTP = "UefiHttp"
_IN_LIBVIRTD = Path("/var/lib/libvirt")
"""The path at which libvirtd sees the folder `LIBVIRT`/lib."""

_uris: dict[str, str] = {}
"""By system: the URI that its UEFI fetches at the next boot, or has fetched."""


def _set_uri() -> tuple[str, int] | None:
    """Answer a PATCH to boot by HTTP in place of sushy-tools; any other target ends an earlier boot by HTTP."""
    system, boot = _requested_boot()
    if _TARGET not in boot:
        return None
    if boot[_TARGET] != _HTTP:
        if _uris.pop(system, None):
            _write(system, "--delete", "BootNext")
        return None
    if not boot.get(_URI):
        return f"{_HTTP} without {_URI} is not emulated", 400
    _write(system, "--set-boot-uri", boot[_URI])
    _uris[system] = boot[_URI]
    return "", 204


def _show_uri(response: flask.Response) -> flask.Response:
    """Show the URI; and the target until the server is switched on."""
    system = _SYSTEM.fullmatch(flask.request.path)
    if system and flask.request.method == "GET" and response.is_json:
        answer = response.get_json()
        answer["Boot"][_URI] = _uris.get(system[1])
        if system[1] in _uris and answer["PowerState"] == "Off":
            answer["Boot"] |= {_TARGET: _HTTP, "BootSourceOverrideEnabled": "Once"}
        response.set_data(json.dumps(answer))
    return response


def _show_drive(response: flask.Response) -> flask.Response:
    """Show a drive as the settings have it."""
    asked = _DRIVE.fullmatch(flask.request.path)
    if asked and response.status_code == HTTPStatus.OK:
        drives = sushy_emulator.app.config["SUSHY_EMULATOR_DRIVES"][asked[1], asked[2]]
        (drive,) = (each for each in drives if each["Id"] == asked[3])
        response.set_data(json.dumps({**(response.get_json() or {}), **drive}))
    return response


def _requested_boot() -> tuple[str, dict[str, Any]]:
    """Return the system of a PATCH, and its properties of `Boot`; empty for any other request."""
    system = _SYSTEM.fullmatch(flask.request.path)
    if not system or flask.request.method != "PATCH":
        return "", {}
    return system[1], (flask.request.get_json(silent=True) or {}).get("Boot") or {}


def _write(system: str, *change: str) -> None:
    """Change the variables of a server's UEFI, which libvirt makes only at the first boot."""
    with libvirt.open(sushy_emulator.app.config["SUSHY_EMULATOR_LIBVIRT_URI"]) as connection:
        domain = connection.lookupByUUIDString(system)
        nvram = ET.fromstring(domain.XMLDesc(libvirt.VIR_DOMAIN_XML_INACTIVE)).find("os/nvram")  # noqa: S314  (libvirtd's own)
    if nvram is None or not nvram.text:
        return  # the server was switched to legacy, which has no such variables
    file = LIBVIRT / "lib" / Path(nvram.text).relative_to(_IN_LIBVIRTD)
    if not file.exists():
        shutil.copy(nvram.attrib["template"], file)
    program = Path(sys.executable).parent / "virt-fw-vars"
    run(program, "--inplace", file, *change)


if __name__ == "__main__":
    sushy_emulator.app.before_request(_set_uri)
    sushy_emulator.app.after_request(_show_uri)
    sushy_emulator.app.after_request(_show_drive)
    sys.exit(sushy_emulator.main())
