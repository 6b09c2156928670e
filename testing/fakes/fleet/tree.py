"""The Redfish resources of one machine, each a function of its state."""

from collections.abc import Iterable
from typing import Any

from testing.fakes.fleet.machine import RESET_TYPES, Drive, Machine, serial_of, uuid_of

ROOT = "/redfish/v1"
SESSION_SERVICE = f"{ROOT}/SessionService"
SESSIONS = f"{SESSION_SERVICE}/Sessions"
ENABLE_MEDIA = "Actions/Oem/AMIVirtualMedia.EnableRMedia"
Document = dict[str, Any]


def link(path: str) -> Document:
    """A reference."""
    return {"@odata.id": path}


def resource(path: str, kind: str, **fields: Any) -> Document:
    """What every resource has."""
    return {"@odata.id": path, "@odata.type": f"#{kind}", "Id": path.rsplit("/", 1)[1], "Name": kind, **fields}


def collection(path: str, kind: str, members: Iterable[str]) -> Document:
    """A collection of resources below it, by id."""
    links = [link(f"{path}/{member}") for member in members]
    return resource(path, kind, **{"Members@odata.count": len(links), "Members": links})


def root(machine: Machine) -> Document:
    """The service root."""
    vendor = machine.vendor
    return resource(
        ROOT,
        "ServiceRoot.v1_11_0.ServiceRoot",
        RedfishVersion="1.13.0",
        UUID=uuid_of(machine.index),
        Vendor=vendor.manufacturer,
        Product=vendor.bmc_model,
        Systems=link(f"{ROOT}/Systems"),
        Managers=link(f"{ROOT}/Managers"),
        SessionService=link(SESSION_SERVICE),
        Links={"Sessions": link(SESSIONS)},
    )


def systems(machine: Machine) -> Document:
    """What the BMC lists; the one with Boot last."""
    members = (*machine.vendor.other_systems, machine.vendor.system)
    return collection(f"{ROOT}/Systems", "ComputerSystemCollection", members)


def managers(machine: Machine) -> Document:
    """What the BMC lists; the one that manages the system last."""
    members = (*machine.vendor.other_managers, machine.vendor.manager)
    return collection(f"{ROOT}/Managers", "ManagerCollection", members)


def other(path: str, kind: str) -> Document:
    """A neighbour of the system or the manager that is meant."""
    return resource(path, kind, Status={"State": "Enabled"})


def boot(machine: Machine) -> Document:
    """The boot override."""
    return {**machine.boot, "BootSourceOverrideTarget@Redfish.AllowableValues": machine.vendor.targets}


def system(machine: Machine) -> Document:
    """The server."""
    vendor, path = machine.vendor, machine.vendor.system_path
    document = resource(
        path,
        "ComputerSystem.v1_13_0.ComputerSystem",
        SystemType="Physical",
        UUID=uuid_of(machine.index),
        SerialNumber=serial_of(machine.index),
        Manufacturer=vendor.manufacturer,
        Model=vendor.model,
        BiosVersion=vendor.bios_version,
        PowerState=machine.power,
        Status={"State": "Enabled", "Health": "OK"},
        Boot=dict(machine.boot) if vendor.boot_in_settings else boot(machine),
        Links={"ManagedBy": [link(vendor.manager_path)]},
        Actions={
            "#ComputerSystem.Reset": {
                "target": f"{path}/Actions/ComputerSystem.Reset",
                "ResetType@Redfish.AllowableValues": RESET_TYPES,
            }
        },
    )
    if vendor.boot_in_settings:
        document["@Redfish.Settings"] = {
            "@odata.type": "#Settings.v1_3_0.Settings",
            "SettingsObject": link(f"{path}/Settings"),
        }
    if vendor.media_on == "Systems":
        document["VirtualMedia"] = link(vendor.media_path)
    return document


def settings(machine: Machine) -> Document:
    """What of the system is written elsewhere."""
    return resource(
        f"{machine.vendor.system_path}/Settings", "ComputerSystem.v1_13_0.ComputerSystem", Boot=boot(machine)
    )


def manager(machine: Machine) -> Document:
    """The BMC itself."""
    vendor = machine.vendor
    document = resource(
        vendor.manager_path,
        "Manager.v1_11_0.Manager",
        ManagerType="BMC",
        Model=vendor.bmc_model,
        FirmwareVersion=vendor.bmc_version,
        Status={"State": "Enabled", "Health": "OK"},
        Links={"ManagerForServers": [link(vendor.system_path)]},
    )
    if vendor.media_on == "Managers":
        document["VirtualMedia"] = link(vendor.media_path)
    if not vendor.media_enabled:
        target = f"{vendor.manager_path}/{ENABLE_MEDIA}"
        document["Actions"] = {"Oem": {"#AMIVirtualMedia.EnableRMedia": {"target": target}}}
    return document


def media(machine: Machine) -> Document:
    """The virtual drives."""
    listed = machine.drives if machine.media_enabled else ()
    return collection(machine.vendor.media_path, "VirtualMediaCollection", listed)


def drive(machine: Machine, which: Drive) -> Document:
    """A virtual drive."""
    path = f"{machine.vendor.media_path}/{which.slot.name}"
    document = resource(
        path,
        "VirtualMedia.v1_3_0.VirtualMedia",
        MediaTypes=which.slot.types,
        Image=which.image or None,
        ImageName=which.image.rsplit("/", 1)[-1] or None,
        Inserted=which.inserted,
        WriteProtected=True,
        ConnectedVia="URI" if which.inserted else "NotConnected",
    )
    if which.slot.action:
        document["Actions"] = {
            f"#VirtualMedia.{verb}": {"target": f"{path}/Actions/VirtualMedia.{verb}"}
            for verb in ("InsertMedia", "EjectMedia")
        }
    return document


def session_service(machine: Machine) -> Document:
    """Where sessions are made."""
    return resource(SESSION_SERVICE, "SessionService.v1_1_8.SessionService", Sessions=link(SESSIONS))


def sessions(machine: Machine) -> Document:
    """The open sessions."""
    return collection(SESSIONS, "SessionCollection", machine.sessions.values())
