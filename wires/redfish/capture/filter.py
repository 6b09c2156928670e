"""What a capture keeps of a BMC's documents.

A list of what is kept, because nobody can list all that may be secret. Its names are those that this program and
sushy read; each has a rule for its values.
"""

import re
from collections.abc import Callable
from enum import Enum, auto
from typing import Any

from wires.redfish.boot.idrac import BOOT_ONCE, FIRST_BOOT
from wires.redfish.drives.unusable import OWN


class Rule(Enum):
    """The kinds of values."""

    INNER = auto()
    """An object, or a list of objects, of which again only the listed names are kept."""
    LINK = auto()
    """The path of a resource, which is captured, too."""
    TARGET = auto()
    """The path of an action."""
    ID = auto()
    """The last part of a resource's path."""
    IDENTITY = auto()
    """A UUID or serial number."""
    IMAGE = auto()
    """The URL or the file name of an image."""
    WORD = auto()
    """A word of Redfish's."""
    TEXT = auto()
    """A name that all machines of one model share."""
    VERSION = auto()
    """The version of a firmware."""
    PLAIN = auto()
    """True or false."""
    OPERATOR_TEXT = auto()
    """A text that the operator wrote, which becomes a pseudonym."""
    MESSAGE = auto()
    """The name of a message in a registry."""
    NUMBER = auto()
    """A number that counts or measures."""
    TERM = auto()
    """A word of Redfish's with digits in it."""
    MAC = auto()
    """The MAC address of a card."""
    WWN = auto()
    """The worldwide name of a disk."""
    PCI = auto()
    """The place of a device, of which what follows the PCI bus is cut off: it may be a MAC address."""
    TIME = auto()
    """A time by the BMC's clock."""


_NAMES = {
    Rule.INNER: (
        *("@Message.ExtendedInfo", "@Redfish.Settings", "Actions", "Attributes", "Boot", "Dell", "DellAttributes"),
        *("License", "Links", "ManagedBy", "Managers", "Members", "Oem", "Parameters", "SecureBoot"),
        *("SettingsObject", "Status", "Systems", "VirtualMedia", "error"),
        *("Drives", "Ethernet", "EthernetInterfaces", "HostInterface", "Identifiers", "MemorySummary"),
        *("NetworkDeviceFunction", "NetworkDeviceFunctions", "NetworkInterfaces", "ProcessorSummary", "Processors"),
        *("Storage", "Volumes"),
        *("Location", "Placement", "DellSwitchConnectionCollection", "LLDPReceive", "NetworkAdapter", "Ports"),
    ),
    Rule.LINK: ("@odata.id", "@Redfish.ActionInfo"),
    Rule.TARGET: ("target",),
    Rule.ID: ("FQDD", "Id"),
    Rule.IDENTITY: ("SerialNumber", "UUID"),
    Rule.IMAGE: ("HttpBootUri", "Image", "ImageName"),
    Rule.WORD: (
        *("BootSourceOverrideEnabled", "BootSourceOverrideMode", "BootSourceOverrideTarget"),
        *("BootSourceOverrideTarget@Redfish.AllowableValues", "ResetType@Redfish.AllowableValues", "AllowableValues"),
        *("BootSourceOverrideMode@Redfish.AllowableValues", "SecureBootCurrentBoot", "SecureBootMode"),
        *("ConnectedVia", "Health", "HealthRollup", "MediaTypes", "PowerState", "SystemType", FIRST_BOOT, BOOT_ONCE),
        *(
            "BootMode",
            "DurableNameFormat",
            "LinkStatus",
            "MediaType",
            "ProcessorType",
            "PortIdSubtype",
            "Protocol",
            "VolumeType",
        ),
    ),
    Rule.NUMBER: (
        *("CapacityBytes", "CoreCount", "Count", "LogicalProcessorCount", "RotationSpeedRPM", "SpeedMbps"),
        *("RackOffset", "TotalCores", "TotalSystemMemoryGiB", "TotalThreads"),
    ),
    Rule.TERM: ("InstructionSet", "RAIDType", "RackOffsetUnits"),
    Rule.MAC: ("AssociatedMACAddresses", "MACAddress", "PermanentMACAddress", "SwitchConnectionID"),
    Rule.WWN: ("DurableName",),
    Rule.PCI: ("UefiDevicePath",),
    Rule.TIME: ("DateTime",),
    Rule.TEXT: ("LicenseString", "Manufacturer", "Model", "Product", "Vendor", "Version"),
    Rule.VERSION: ("BiosVersion", "FirmwareVersion"),
    Rule.PLAIN: ("Inserted", "SecureBootEnable"),
    Rule.OPERATOR_TEXT: (
        *("ChassisId", "DisplayName", "Name", "PortId", "SwitchPortConnectionID", "SystemName"),
        *("Rack", "Row"),
    ),
    Rule.MESSAGE: ("MessageId", "code"),
}
RULES = {name: rule for rule, names in _NAMES.items() for name in names}
ACTION = re.compile(r"(https?://[a-z.]+/redfish-schemas/[\w/.]+)?#[A-Za-z_]+(\.[A-Za-z_]+)+")
"""An action's name: also one of a vendor's own, which an iRMC puts behind the address of its schema."""
VENDOR = re.compile("[A-Za-z_]{1,20}")
"""A name directly within `Oem`, kept even if nothing in it is: AMI's service root has no more."""
Leaf = Callable[[Rule, Any], Any]


def filter_document(document: dict[str, Any], leaf: Leaf, within: str = "") -> dict[str, Any]:
    """Return what is kept of a document.

    Args:
        document: As the BMC answered it.
        leaf: Returns what is kept of a value that is no object and not null.
        within: Name of the property that the document is the value of.
    """
    rules = {name: _rule(name, within) for name in document}
    return {name: _filtered(rule, name, document[name], leaf) for name, rule in rules.items() if rule}


def _rule(name: str, within: str) -> Rule | None:
    if (within, name) == ("Parameters", "Name"):  # of an action, in its ActionInfo
        return Rule.WORD
    if (within, name) == ("Links", "Chassis"):  # those of the service root are of all parts
        return Rule.INNER
    own = ACTION.fullmatch(name) or (name.isalpha() and OWN.search(name))
    if own or (within == "Oem" and VENDOR.fullmatch(name)):
        return Rule.INNER
    return RULES.get(name)


def _filtered(rule: Rule, name: str, value: Any, leaf: Leaf) -> Any:
    match value:
        case None:
            return None
        case list():
            return [_filtered(rule, name, member, leaf) for member in value]
        case dict():
            return filter_document(value, leaf, name) if rule is Rule.INNER else {}
        case _:
            return leaf(rule, value)
