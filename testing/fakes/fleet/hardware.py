"""What is in a server, as its BMC tells it: a row per shape of captured trees, and the documents of it."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from testing.fakes.fleet.http import Answer, Request
from testing.fakes.fleet.machine import Machine
from testing.fakes.fleet.tree import ROOT, Document, collection, link, resource
from testing.fakes.fleet.vendor import Vendor

TB = 10**12
CHASSIS = f"{ROOT}/Chassis/1"
EXPAND = "?$expand=.($levels=1)"


@dataclass(frozen=True)
class Hardware:
    """One row.

    Args:
        cpu: The name of its CPUs.
        summary: What ProcessorSummary has in place of it.
        count: What ProcessorSummary counts.
        cpus: Number of CPUs.
        cores: Of each CPU.
        instructions: InstructionSet of the CPUs; empty if they have none.
        accelerators: Ids that the list of processors has before the CPUs.
        memory_gib: TotalSystemMemoryGiB.
        cards: Ids of the EthernetInterfaces; none: the System links no such list.
        link: Their LinkStatus.
        to_bmc: Id of a card that leads to the BMC.
        functions: Whether each card links its NetworkDeviceFunction.
        drives: Number of drives; 0: the System links no Storage.
        drive: Properties of each drive.
        raid: RAIDType of one volume of all drives; empty if there is none.
        raw: Whether each drive is listed as a volume, too.
        expands: Whether the service expands lists.
        place: Where its chassis was told that it is, without the unit; empty: the System links none.
        lldp: Where LLDP neighbours are: `ports` of network adapters, or `connections` of an iDRAC; empty: nowhere.
    """

    cpu: str = "Intel(R) Xeon(R) Gold 6354 CPU @ 3.00GHz"
    summary: str | None = "Intel(R) Xeon(R) Gold 6354 CPU @ 3.00GHz"
    count: int = 2
    cpus: int = 2
    cores: int = 18
    instructions: str = "x86-64"
    accelerators: tuple[str, ...] = ()
    memory_gib: float | None = 128
    cards: tuple[str, ...] = ("NIC1", "NIC2")
    link: str | None = "LinkUp"
    to_bmc: str = ""
    functions: bool = False
    drives: int = 2
    drive: tuple[tuple[str, Any], ...] = (("MediaType", "SSD"), ("Protocol", "NVMe"))
    raid: str = ""
    raw: bool = False
    expands: bool = False
    place: tuple[tuple[str, Any], ...] = ()
    lldp: str = ""


PLAIN = Hardware()
# A captured R750 (NVIDIA/libredfish c094c9e6): a GPU first, each raw drive as a volume, lists that expand.
DELL = replace(
    PLAIN,
    accelerators=("Video.Slot.2-1",),
    cards=("NIC.Embedded.1-1-1", "NIC.Slot.5-1"),
    raw=True,
    expands=True,
    place=(("Rack", "A1"), ("RackOffsetUnits", "EIA_310"), ("Row", "")),
    lldp="connections",
)
# A captured DL365 (HewlettPackard/ilo-redfish-emulator 578997c): RAID1. A captured DL385, off: no links.
HPE = replace(
    PLAIN, cpu="AMD EPYC 7313 16-Core Processor                ", summary=None, link=None, raid="RAID1", lldp="ports"
)
# A captured SR670 V2 and SYS-821GE: the card to the BMC is listed among the others.
# Of the first, an empty place.
LENOVO = replace(PLAIN, to_bmc="ToManager", expands=True, place=(("Rack", ""), ("RackOffsetUnits", "EIA_310")))
SUPERMICRO = replace(
    LENOVO,
    summary="Intel(R) Xeon(R) processor",
    functions=True,
    place=(),
    drive=(("MediaType", None), ("Protocol", None)),
)
# A captured X10DRi (bmc-toolbox/redfish-mocks 1cb61a9): it counts cores, and links no Storage.
OLD = replace(PLAIN, cpu="Intel(R) Xeon(R) CPU E5-2630 v2 @ 2.60GHz", count=20, cores=10, drives=0)
# A captured GB200: Arm, whose word is in the summary, and no list of cards.
GRACE = replace(PLAIN, cpu="Grace A02", summary="ARMv9", cores=72, instructions="", cards=(), expands=True)
# A captured DGX H100: CPUs without a name.
DGX = replace(PLAIN, cpu="", summary=None, instructions="", drives=0)
NOTHING = replace(PLAIN, cpus=0, count=0, memory_gib=None, cards=(), drives=0)
BY_VENDOR = {
    **dict.fromkeys(("dell", "dell_r750", "dell5", "dell10"), DELL),
    **dict.fromkeys(("hpe", "hpe_target"), HPE),
    **dict.fromkeys(("lenovo", "lenovo_patch"), LENOVO),
    **dict.fromkeys(("supermicro", "supermicro_x13"), SUPERMICRO),
    **dict.fromkeys(("supermicro_x10", "dell3", "dell4", "hpe_ilo4"), OLD),
    **dict.fromkeys(("gb300", "gb300_https"), GRACE),
    "dgx": DGX,
    **dict.fromkeys(("hgx", "bluefield", "bluefield_23", "smartnic", "intel"), NOTHING),
}
"""Rows other than `PLAIN`."""
Documents = dict[str, Callable[[Machine], Document]]


def hardware_of(vendor: Vendor) -> Hardware:
    """Return the row of a vendor."""
    return BY_VENDOR.get(vendor.name, PLAIN)


def mac_of(index: int, card: int) -> str:
    """Return the MAC address of a host's card."""
    return f"52:54:00:{index >> 8:02x}:{index & 255:02x}:{card:02x}"


def disk_serial_of(index: int, drive: int) -> str:
    """Return the serial number of a host's drive."""
    return f"DISK{index:04d}{drive:02d}"


def of_system(vendor: Vendor) -> Document:
    """Return what the System has of it."""
    row, path = hardware_of(vendor), vendor.system_path
    lists = {"Processors": row.cpus, "EthernetInterfaces": row.cards, "Storage": row.drives}
    return {
        "ProcessorSummary": {"Count": row.count or None, "Model": row.summary},
        "MemorySummary": {"TotalSystemMemoryGiB": row.memory_gib},
        **{name: link(f"{path}/{name}") for name, has in lists.items() if has},
        **({"NetworkInterfaces": link(f"{path}/NetworkInterfaces")} if row.lldp == "ports" else {}),
    }


def with_chassis(vendor: Vendor, system: Document) -> Document:
    """Return a system with its link to its chassis, if it has one."""
    if hardware_of(vendor).place:
        system["Links"]["Chassis"] = [link(CHASSIS)]
    return system


def with_links(vendor: Vendor, manager: Document) -> Document:
    """Return a manager with its link to Dell's list of neighbours, if it has one."""
    if hardware_of(vendor).lldp == "connections":
        dell = manager["Links"].setdefault("Oem", {}).setdefault("Dell", {})
        dell["DellSwitchConnectionCollection"] = link(_connections(vendor.system_path))
    return manager


def _connections(system: str) -> str:
    return f"{system}/NetworkPorts/Oem/Dell/DellSwitchConnections"


def of_root(vendor: Vendor) -> Document:
    """Return what the service root has of it."""
    query = {"ExpandAll": True, "Levels": True, "Links": True, "MaxLevels": 1, "NoLinks": True}
    return {"ProtocolFeaturesSupported": {"ExpandQuery": query}} if hardware_of(vendor).expands else {}


def documents(vendor: Vendor) -> Documents:
    """Return the documents by path."""
    row, path = hardware_of(vendor), vendor.system_path
    cpus = [f"CPU.Socket.{number}" for number in range(1, row.cpus + 1)]
    cards = [*([row.to_bmc] if row.to_bmc else []), *row.cards]
    drives = [str(number) for number in range(row.drives)]
    volumes = [*(["Volume0"] if row.raid else []), *(drives if row.raw else [])]
    controller = f"{path}/Storage/1"
    return {
        f"{path}/Processors": _collection(f"{path}/Processors", "ProcessorCollection", [*row.accelerators, *cpus]),
        **{f"{path}/Processors/{name}": _always(_gpu(f"{path}/Processors/{name}")) for name in row.accelerators},
        **{f"{path}/Processors/{name}": _always(_cpu(row, f"{path}/Processors/{name}")) for name in cpus},
        f"{path}/EthernetInterfaces": _collection(f"{path}/EthernetInterfaces", "EthernetInterfaceCollection", cards),
        **{f"{path}/EthernetInterfaces/{name}": partial(_card, row, path, name) for name in cards},
        **{
            _function_path(name): partial(_function, name, row.cards.index(name))
            for name in row.cards
            if row.functions
        },
        **(_cabling(row, path) if row.lldp else {}),
        **({CHASSIS: partial(_chassis, row)} if row.place else {}),
        f"{path}/Storage": _collection(f"{path}/Storage", "StorageCollection", ["1"]),
        controller: _always(_storage(controller, drives)),
        **{f"{controller}/Drives/{name}": partial(_drive, row, controller, name) for name in drives},
        **{f"{controller}/Volumes/{name}": partial(_volume, row, controller, name, drives) for name in volumes},
    }


def expanded(answer: Answer, request: Request, ask: Callable[[Request], Answer]) -> Answer:
    """Return the answer to a list with its members, or to a storage with its drives, in place of the links."""
    document = dict(answer.document)
    for name in ("Members", "Drives"):
        if name in document:
            paths = [it["@odata.id"] for it in document[name]]
            document[name] = [ask(replace(request, path=path)).document for path in paths]
    return Answer(answer.status, document, answer.headers)


def _always(document: Document) -> Callable[[Machine], Document]:
    """Return what makes a document anew for each answer: a fault may change that of one."""
    return lambda _: deepcopy(document)


def _collection(path: str, kind: str, members: list[str]) -> Callable[[Machine], Document]:
    return _always(collection(path, kind, members))


def _gpu(path: str) -> Document:
    return resource(path, "Processor.v1_11_0.Processor", ProcessorType="GPU", Manufacturer="NVIDIA")


def _cpu(row: Hardware, path: str) -> Document:
    told = {"Model": row.cpu or None, "TotalCores": row.cores, "TotalThreads": row.cores * 2}
    instructions = {"InstructionSet": row.instructions} if row.instructions else {}
    return resource(path, "Processor.v1_11_0.Processor", ProcessorType="CPU", **told, **instructions)


def _card(row: Hardware, system: str, name: str, machine: Machine) -> Document:
    to_bmc = name == row.to_bmc
    number = len(row.cards) if to_bmc else row.cards.index(name)
    links: Document = {"HostInterface": link(f"{machine.vendor.manager_path}/HostInterfaces/1")} if to_bmc else {}
    if row.functions and not to_bmc:
        links["NetworkDeviceFunction"] = link(_function_path(name))
    return resource(
        f"{system}/EthernetInterfaces/{name}",
        "EthernetInterface.v1_6_0.EthernetInterface",
        PermanentMACAddress=mac_of(machine.index, number).upper(),
        MACAddress=mac_of(machine.index, number).upper(),
        LinkStatus=row.link,
        SpeedMbps=25_000 if row.link == "LinkUp" and not to_bmc else None,
        Links=links,
    )


def _cabling(row: Hardware, system: str) -> Documents:
    """Return the LLDP neighbours as a captured iDRAC9 and a captured DL360 have them, of the first card alone."""
    if row.lldp == "connections":
        path = _connections(system)
        names = ["iDRAC.Embedded.1", *row.cards]
        listed = _collection(path, "DellSwitchConnectionCollection", names)
        return {path: listed, **{f"{path}/{it}": partial(_connection, row, path, it) for it in names}}
    interfaces, adapter = f"{system}/NetworkInterfaces", f"{ROOT}/Chassis/1/NetworkAdapters/DE080000"
    kind = "NetworkInterface.v1_1_1.NetworkInterface"
    interface = resource(f"{interfaces}/DE080000", kind, Links={"NetworkAdapter": link(adapter)})
    numbers = [str(number) for number in range(len(row.cards))]
    return {
        interfaces: _collection(interfaces, "NetworkInterfaceCollection", ["DE080000"]),
        f"{interfaces}/DE080000": _always(interface),
        adapter: _always(resource(adapter, "NetworkAdapter.v1_9_0.NetworkAdapter", Ports=link(f"{adapter}/Ports"))),
        f"{adapter}/Ports": _collection(f"{adapter}/Ports", "PortCollection", numbers),
        **{f"{adapter}/Ports/{number}": partial(_port, f"{adapter}/Ports", number) for number in numbers},
    }


def _connection(row: Hardware, path: str, name: str, machine: Machine) -> Document:
    is_cabled = name != row.cards[-1]
    return resource(
        f"{path}/{name}",
        "DellSwitchConnection.v1_1_0.DellSwitchConnection",
        FQDD=name,
        SwitchConnectionID="B0:A8:6E:0A:9B:40" if is_cabled else "No Link",
        SwitchPortConnectionID=f"ethernet1/1/{machine.index + 1}" if is_cabled else "No Link",
    )


def _port(path: str, number: str, machine: Machine) -> Document:
    cabled = {"ChassisId": "90:20:C2:C7:22:00", "ChassisIdSubtype": "MacAddr", "PortId": "31:2F:31:2F:33:3A:31"}
    nothing = {"ChassisId": "", "ChassisIdSubtype": "NotTransmitted", "PortId": "", "PortIdSubtype": "NotTransmitted"}
    ethernet = {
        "AssociatedMACAddresses": [mac_of(machine.index, int(number))],
        "LLDPReceive": {**cabled, "PortIdSubtype": "IfName"} if number == "0" else nothing,
    }
    return resource(f"{path}/{number}", "Port.v1_6_0.Port", Ethernet=ethernet)


def _chassis(row: Hardware, machine: Machine) -> Document:
    unit = machine.index + 9 if dict(row.place)["Rack"] else 1
    placement = {**dict(row.place), "RackOffset": unit}
    links = {"ComputerSystems": [link(machine.vendor.system_path)]}
    kind = "Chassis.v1_14_0.Chassis"
    return resource(CHASSIS, kind, ChassisType="RackMount", Location={"Placement": placement}, Links=links)


def _function_path(card: str) -> str:
    return f"{ROOT}/Chassis/1/NetworkAdapters/{card}/NetworkDeviceFunctions/1"


def _function(card: str, number: int, machine: Machine) -> Document:
    mode, mac = "PXE" if number == 0 else "Disabled", mac_of(machine.index, number)
    kind = "NetworkDeviceFunction.v1_5_0.NetworkDeviceFunction"
    return resource(_function_path(card), kind, BootMode=mode, Ethernet={"PermanentMACAddress": mac})


def _storage(path: str, drives: list[str]) -> Document:
    kind, links = "Storage.v1_10_0.Storage", [link(f"{path}/Drives/{name}") for name in drives]
    return resource(path, kind, Drives=links, Volumes=link(f"{path}/Volumes"))


def _drive(row: Hardware, storage: str, name: str, machine: Machine) -> Document:
    volumes = [name] if row.raw else ["Volume0"] if row.raid else []
    eui = f"{machine.index:08x}{int(name) + 1:08x}"
    return resource(
        f"{storage}/Drives/{name}",
        "Drive.v1_12_0.Drive",
        Model="MZQL21T9HCJR-00A07",
        SerialNumber=disk_serial_of(machine.index, int(name)),
        CapacityBytes=2 * TB,
        Identifiers=[{"DurableNameFormat": "EUI", "DurableName": eui}],
        Links={"Volumes": [link(f"{storage}/Volumes/{volume}") for volume in volumes]},
        **dict(row.drive),
    )


def _volume(row: Hardware, storage: str, name: str, drives: list[str], machine: Machine) -> Document:
    is_raid = name == "Volume0"
    members = drives if is_raid else [name]
    naa = f"600508b1{machine.index:024x}"
    return resource(
        f"{storage}/Volumes/{name}",
        "Volume.v1_6_0.Volume",
        CapacityBytes=2 * TB,
        RAIDType=row.raid if is_raid else None,
        VolumeType="Mirrored" if is_raid else "RawDevice",
        Identifiers=[{"DurableNameFormat": "NAA", "DurableName": naa}] if is_raid else [],
        Links={"Drives": [link(f"{storage}/Drives/{member}") for member in members]},
    )
