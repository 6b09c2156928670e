"""The Redfish resources of one machine, each a function of its state."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from testing.fakes.fleet.machine import MODE, RESET_TYPES, Drive, Machine, serial_of, uuid_of
from testing.fakes.fleet.vendor import Vendor

ROOT = "/redfish/v1"
SESSION_SERVICE = f"{ROOT}/SessionService"
SESSIONS = f"{SESSION_SERVICE}/Sessions"
CHOSEN = {"UefiTarget": "UefiTargetBootSourceOverride", "UefiBootNext": "BootNext"}
"""By boot target: the property that says what it boots."""
Document = dict[str, Any]


def link(path: str) -> Document:
    """Return a reference."""
    return {"@odata.id": path}


def resource(path: str, kind: str, **fields: Any) -> Document:
    """Return a resource with the properties that each one has."""
    return {"@odata.id": path, "@odata.type": f"#{kind}", "Id": path.rsplit("/", 1)[1], "Name": kind, **fields}


def collection(path: str, kind: str, members: Iterable[str]) -> Document:
    """Return a collection of the resources below it."""
    links = [link(f"{path}/{member}") for member in members]
    counted = {"Members@odata.count": len(links), "Members": links}
    return {"@odata.id": path, "@odata.type": f"#{kind}.{kind}", "Name": kind, **counted}


def root(machine: Machine) -> Document:
    """Return the service root."""
    vendor, product, oem = machine.vendor.service
    maker = {"Vendor": vendor, "Product": product, "Oem": {oem: {}} if oem else {}}
    return resource(
        ROOT,
        "ServiceRoot.v1_11_0.ServiceRoot",
        RedfishVersion="1.13.0",
        UUID=uuid_of(machine.index),
        Systems=link(f"{ROOT}/Systems"),
        Managers=link(f"{ROOT}/Managers"),
        SessionService=link(SESSION_SERVICE),
        Links={"Sessions": link(SESSIONS)},
        **{word: value for word, value in maker.items() if value},
    )


def systems(machine: Machine) -> Document:
    """Return the collection of systems; the one with Boot is last."""
    members = (*machine.vendor.other_systems, machine.vendor.system)
    return collection(f"{ROOT}/Systems", "ComputerSystemCollection", members)


def managers(machine: Machine) -> Document:
    """Return the collection of managers; the one that manages the system is last."""
    members = (*machine.vendor.other_managers, machine.vendor.manager)
    return collection(f"{ROOT}/Managers", "ManagerCollection", members)


def other(path: str, kind: str) -> Document:
    """Return another system or manager of the same BMC."""
    return resource(path, kind, Status={"State": "Enabled"})


def boot(machine: Machine) -> Document:
    """Return the boot override, of the resource in which it is written."""
    shown = machine.written if machine.vendor.boot_pending else machine.boot
    modes = machine.vendor.firmware.modes
    allowed = {f"{MODE}@Redfish.AllowableValues": modes} if modes else {}
    chosen = {word: None for target, word in CHOSEN.items() if target in machine.vendor.targets}
    return {**shown, **chosen, **allowed, "BootSourceOverrideTarget@Redfish.AllowableValues": machine.vendor.targets}


def system(machine: Machine) -> Document:
    """Return the server's system."""
    vendor, path = machine.vendor, machine.vendor.system_path
    document = resource(
        path,
        "ComputerSystem.v1_16_0.ComputerSystem",
        SystemType=vendor.system_type,
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
    if vendor.sku:
        document["SKU"] = vendor.sku.format(index=machine.index)
    if not vendor.boots:
        del document["Boot"]
    if vendor.firmware.keys:
        document["SecureBoot"] = link(f"{path}/SecureBoot")
    if vendor.boot_in_settings:
        document["@Redfish.Settings"] = {
            "@odata.type": "#Settings.v1_3_0.Settings",
            "SettingsObject": link(f"{path}/Settings"),
        }
    _add_media(document, vendor, "Systems")
    return document


def settings(machine: Machine) -> Document:
    """Return the system's settings, which are a resource of their own."""
    return resource(
        f"{machine.vendor.system_path}/Settings", "ComputerSystem.v1_16_0.ComputerSystem", Boot=boot(machine)
    )


def secure_boot(machine: Machine) -> Document:
    """Return the resource of Secure Boot."""
    document = resource(
        f"{machine.vendor.system_path}/SecureBoot", "SecureBoot.v1_1_0.SecureBoot", **machine.secure_boot
    )
    if not machine.vendor.firmware.has_switch:
        del document["SecureBootEnable"]
    return document


def manager(machine: Machine) -> Document:
    """Return the BMC's manager."""
    vendor = machine.vendor
    document = resource(
        vendor.manager_path,
        "Manager.v1_11_0.Manager",
        ManagerType="BMC",
        Model=vendor.bmc_model,
        FirmwareVersion=vendor.bmc_version,
        DateTime=datetime.now(UTC).isoformat(timespec="seconds"),
        Status={"State": "Enabled", "Health": "OK"},
        Links={"ManagerForServers": [link(vendor.system_path)]},
    )
    if vendor.attributes_linked:
        linked = [link(f"{vendor.manager_path}/{path}") for path in vendor.attributes_linked]
        document["Links"]["Oem"] = {"Dell": {"DellAttributes": linked}}
    _add_media(document, vendor, "Managers")
    return document


def _add_media(document: Document, vendor: Vendor, owner: str) -> None:
    """Link the virtual drives, and the action that enables them, where the vendor has them."""
    if vendor.media_on == owner:
        document["VirtualMedia"] = link(vendor.media_path)
    if vendor.own_action and owner == "Systems":
        target = {"target": f"{vendor.system_path}/Actions/Oem/{vendor.own_action.rpartition('#')[2]}"}
        document["Actions"]["Oem"] = {vendor.own_action: target}
    if not vendor.media_enabled and vendor.enable_on == owner:
        enable = {"Oem": {f"#{vendor.enable_action}": {"target": vendor.enable_path}}}
        document["Actions"] = document.get("Actions", {}) | enable


def attributes(machine: Machine) -> Document:
    """Return the attributes that boot an iDRAC's virtual CD."""
    path = f"{machine.vendor.manager_path}/{machine.vendor.attributes}"
    return resource(path, "DellAttributes.v1_0_0.DellAttributes", Attributes=machine.attributes)


def other_attributes(path: str, _: Machine) -> Document:
    """Return attributes that boot nothing."""
    return resource(path, "DellAttributes.v1_0_0.DellAttributes", Attributes={})


def media(machine: Machine) -> Document:
    """Return the collection of virtual drives."""
    vendor, listed = machine.vendor, machine.drives if machine.media_enabled else ()
    document = collection(vendor.media_path, "VirtualMediaCollection", listed)
    if vendor.media_config:
        document["Oem"] = {"VirtualMediaConfig": link(f"{vendor.media_path}/Config")}
    return document


def drive(machine: Machine, state: Drive) -> Document:
    """Return a virtual drive."""
    path, slot = f"{machine.vendor.media_path}/{state.slot.name}", state.slot
    verifies = machine.vendor.verifies is not None
    document = resource(
        path,
        f"VirtualMedia.v1_{4 if verifies else 3}_0.VirtualMedia",
        Image=_reported(state.image, machine.vendor.image_as) or None,
        ImageName=state.image.rsplit("/", 1)[-1] or None,
        Inserted=state.inserted,
        WriteProtected=True,
        ConnectedVia="URI" if state.inserted else "NotConnected",
    )
    if verifies:
        document |= {"VerifyCertificate": state.verifies, "Certificates": link(f"{path}/Certificates")}
    if slot.types:
        document["MediaTypes"] = slot.types
    if slot.protocol:
        document["TransferProtocolType"] = slot.protocol
    verbs = ["InsertMedia", "EjectMedia"]
    if machine.vendor.eject_when_full:
        verbs = [verbs[state.inserted]]
    if slot.action:
        document["Actions"] = {
            f"#VirtualMedia.{verb}": {"target": f"{path}/Actions/VirtualMedia.{verb}"} for verb in verbs
        }
    if slot.own_action:
        maker = machine.vendor.manufacturer
        target = {"target": f"{path}/Oem/{maker}/Actions/{slot.own_action}"}
        document["Oem"] = {maker: {"Actions": {f"#{slot.own_action}": target}}}
    return document


def certificates(machine: Machine, state: Drive) -> Document:
    """Return the collection of certificates by which a virtual drive verifies."""
    path = f"{machine.vendor.media_path}/{state.slot.name}/Certificates"
    return collection(path, "CertificateCollection", state.certificates)


def certificate(machine: Machine, state: Drive, name: str) -> Document:
    """Return a certificate of a virtual drive."""
    path = f"{machine.vendor.media_path}/{state.slot.name}/Certificates/{name}"
    text = state.certificates[name]
    return resource(path, "Certificate.v1_3_0.Certificate", CertificateType="PEM", CertificateString=text)


def _reported(image: str, form: str) -> str:
    """Return the image in the form in which its drive reports it."""
    name = image.rsplit("/", 1)[-1]
    return {"url": image, "twice": f"//{image.partition('//')[2]}/{name}" if image else "", "name": name}[form]


def session_service(machine: Machine) -> Document:
    """Return the session service."""
    return resource(SESSION_SERVICE, "SessionService.v1_1_8.SessionService", Sessions=link(SESSIONS))


def session(name: str, username: str) -> Document:
    """Return an open session."""
    return resource(f"{SESSIONS}/{name}", "Session.v1_3_0.Session", UserName=username)


def sessions(machine: Machine) -> Document:
    """Return the collection of open sessions."""
    return collection(SESSIONS, "SessionCollection", machine.sessions.values())
