"""From documents of Redfish to the parts of an inventory. What has another shape counts as not told."""

from typing import Any

from cluster.inventory.model import Card, Cpu, Disk, Link
from cluster.values.mac import parse_mac
from wires.bmc.identity import is_shared
from wires.redfish.inventory.cpu import AMD64, architecture, has_v3

Document = dict[str, Any]
LINKS: dict[str, Link] = {"linkup": "up", "up": "up", "linkdown": "down", "down": "down", "nolink": "down"}
"""By LinkStatus."""
BOOTS = {"PXE": True, "HTTP": True, "Disabled": False}
"""Whether the firmware boots from a card, by BootMode of its NetworkDeviceFunction."""
MIB_OF_GIB = 1024
UNITS = {"EIA_310": "U", "OpenU": "OU"}
"""By RackOffsetUnits."""
MOST = 10**18
"""Above it, a number is none of a server: JSON's `1e999` is infinite."""


def part(document: Document, *names: str) -> Document:
    """Return an object within others; empty where one of them is missing."""
    for name in names:
        inner = document.get(name)
        document = inner if isinstance(inner, dict) else {}
    return document


def words(document: Document, *names: str) -> str:
    """Return the first of some properties that is a text; empty if none is, or all are spaces."""
    texts = (" ".join(text.split()) for name in names if isinstance(text := document.get(name), str))
    return next(filter(None, texts), "")


def own(document: Document, name: str) -> str:
    """Return an identity; empty if it is a value that many parts share."""
    value = words(document, name)
    return "" if is_shared(value) else value


def number(document: Document, *names: str) -> float | None:
    """Return the first of some properties that is a number above zero, and not above `MOST`."""
    values = (document.get(name) for name in names)
    numbers = (it for it in values if isinstance(it, int | float) and not isinstance(it, bool))
    return next((it for it in numbers if 0 < it <= MOST), None)


def whole(document: Document, *names: str) -> int | None:
    """Return the same as an integer."""
    value = number(document, *names)
    return None if value is None else int(value)


def listed(document: Document, name: str) -> list[Document]:
    """Return the objects of a list."""
    value = document.get(name)
    return [it for it in value if isinstance(it, dict)] if isinstance(value, list) else []


def link_of(document: Document, *names: str) -> str:
    """Return the path that a property links; empty if none."""
    return words(part(document, *names), "@odata.id").partition("#")[0]


def memory_mib(system: Document) -> int | None:
    """Return the memory of a system."""
    gib = number(part(system, "MemorySummary"), "TotalSystemMemoryGiB")
    return None if gib is None else round(gib * MIB_OF_GIB)


def rack(chassis: Document) -> str:
    """Return where a chassis is, with two digits for its unit, so that texts sort as units do; empty without a rack.

    Source: captured trees of Dell and Lenovo (NVIDIA/libredfish c094c9e6), where an untold place is an empty Rack
    with a RackOffset of 0 or 1. Those of HPE, Supermicro and NVIDIA have none.
    """
    place = part(chassis, "Location", "Placement")
    unit, named = whole(place, "RackOffset"), words(place, "Rack")
    at = f"{UNITS.get(words(place, 'RackOffsetUnits'), '')}{unit:02}" if unit else ""
    return " ".join(filter(None, (words(place, "Row"), named, at))) if named else ""


def cpu(system: Document, first: Document, most: int) -> Cpu:
    """Return the CPUs of a system.

    Args:
        system: Its ProcessorSummary counts all. A captured X10 counts the cores, and a captured EX235a its GPUs, too.
        first: One of its CPUs; empty if none was read.
        most: How many CPUs the system lists at most; 0: unknown.
    """
    summary = part(system, "ProcessorSummary")
    counted = whole(summary, "Count")
    count = min(counted or most, most) if most else counted
    named = words(first, "Model", "Version") or words(summary, "Model")
    kind = architecture((words(first, "InstructionSet"), words(summary, "Model"), named))

    def of_all(summed: str, *each: str) -> int | None:
        if known := whole(summary, summed):
            return known
        one = whole(first, *each)
        return one * count if one and count else None

    return Cpu(
        count=count,
        model=named,
        architecture=kind,
        cores=of_all("CoreCount", "TotalCores"),
        threads=of_all("LogicalProcessorCount", "TotalThreads"),
        x86_64_v3=has_v3(named) if kind == AMD64 else None,
    )


def card(interface: Document, function: Document) -> Card:
    """Return a card.

    Args:
        interface: Its EthernetInterface, or its NetworkDeviceFunction in place of that.
        function: Its NetworkDeviceFunction; empty if it was not read.
    """
    ethernet = part(function, "Ethernet")
    # The permanent one: the system may have given a bond's address to all its cards.
    macs = words(interface, "PermanentMACAddress", "MACAddress") or words(
        ethernet, "PermanentMACAddress", "MACAddress"
    )
    mac = parse_mac(macs) or ""
    return Card(
        name=words(interface, "Id"),
        mac="" if is_shared(mac) else mac,
        speed_mbps=whole(interface, "SpeedMbps"),
        link=LINKS.get(words(interface, "LinkStatus").lower(), ""),
        pci=words(interface, "UefiDevicePath"),
        pxe=BOOTS.get(words(function, "BootMode")),
        to_bmc="HostInterface" in part(interface, "Links"),
    )


def drive(document: Document) -> Disk:
    """Return a drive."""
    return Disk(
        name=words(document, "Id"),
        size_bytes=whole(document, "CapacityBytes"),
        model=words(document, "Model"),
        serial=own(document, "SerialNumber"),
        wwn=_wwn(document),
        media=_media(document),
        protocol=words(document, "Protocol"),
    )


def volume(document: Document, drives: list[Disk]) -> Disk:
    """Return a RAID volume of some drives."""
    media = {disk.media for disk in drives}
    return Disk(
        name=words(document, "Id"),
        size_bytes=whole(document, "CapacityBytes"),
        model=words(document, "DisplayName", "Name"),
        wwn=_wwn(document),
        media=media.pop() if len(media) == 1 else "",
        raid=words(document, "RAIDType") or words(document, "VolumeType"),
        drives=tuple(disk.serial or disk.name for disk in drives),
    )


def is_raid(document: Document) -> bool:
    """Return whether a volume stands in place of its drives. Dell and others list each raw drive as a volume, too."""
    kind = words(document, "VolumeType")
    return bool(words(document, "RAIDType")) or (bool(kind) and kind != "RawDevice")


def _media(document: Document) -> str:
    """Return HDD or SSD: by MediaType, else by a rotation that is told, zero meaning none."""
    if told := words(document, "MediaType"):
        return told
    speed = document.get("RotationSpeedRPM")
    if isinstance(speed, int | float) and not isinstance(speed, bool):
        return "HDD" if speed else "SSD"
    return ""


def _wwn(document: Document) -> str:
    """Return the durable name as udev's ID_WWN has it: `0x…` for NAA, `eui.…` for the EUI of an NVMe drive."""
    for each in listed(document, "Identifiers"):
        kind, name = words(each, "DurableNameFormat"), words(each, "DurableName").lower()
        digits = name.removeprefix("0x").removeprefix("eui.").removeprefix("naa.").replace(":", "")
        if digits and not is_shared(digits) and all(digit in "0123456789abcdef" for digit in digits):
            if kind == "NAA":
                return f"0x{digits}"
            if kind in ("EUI", "NGUID"):
                return f"eui.{digits}"
    return ""
