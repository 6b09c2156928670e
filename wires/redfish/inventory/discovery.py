"""Reads one server for the inventory: few requests in turn, and a reason for all that it does not learn."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, TypeVar

import sushy
from pydantic import SecretStr

from base.errors import BmcError, BmcRefusedError, BmcTimeoutError
from cluster.inventory.model import Card, Cpu, DiscoveredServer, Disk, Gap
from wires.bmc.access import BmcAccess, Limits
from wires.redfish.boot.network import network_types
from wires.redfish.client.adapter import ROOT
from wires.redfish.client.resources import SYSTEMS
from wires.redfish.inventory import cabling, parts
from wires.redfish.inventory.gaps import gaps_of, joined
from wires.redfish.inventory.parts import Document
from wires.redfish.probe import BmcProbe
from wires.redfish.sushy_bmc import MODE

MOST_READS = 38
DISCOVERY_LIMITS = Limits(whole_s=120, reads=MOST_READS)
"""The limits of one BMC: 40 requests, of which two may open and end a session."""
CPU = re.compile(r"cpu|proc|^\d+$", re.IGNORECASE)
"""The last parts of the paths of CPUs. The list has accelerators, too, in any order (a captured R750: first)."""
LLDP, CONNECTIONS = "LLDP neighbour", "DellSwitchConnectionCollection"
NOTHING: Document = {}
T = TypeVar("T")


class BmcDiscovery(BmcProbe):
    """A BMC that is read for the inventory."""

    def __init__(self, access: BmcAccess, password: SecretStr, limits: Limits = DISCOVERY_LIMITS) -> None:
        super().__init__(access, password, limits)
        self._gaps: list[Gap] = []
        self._expand: str | None = None
        self._document_read: Document = {}
        self._over = ""
        """Why nothing more can be read; empty while it can."""

    @property
    def takes_only_sessions(self) -> bool:
        """Whether the BMC refused the last login because it was a Basic one, whatever the password."""
        return self._http.adapter.lacks_basic

    @property
    def is_server(self) -> bool:
        """Whether the system that was read can boot: a board of GPUs has no Boot, and a DPU says that it is one."""
        system = self._document_read
        return bool(parts.part(system, "Boot")) and parts.words(system, "SystemType") != "DPU"

    def systems(self) -> list[str]:
        """Return the paths of the BMC's systems, with one request."""
        with self._converted_errors("read the systems"):
            listing = self._http.get(SYSTEMS).json()
            return [path for it in parts.listed(listing, "Members") if (path := parts.link_of(it))]

    def server(self) -> DiscoveredServer:
        """Read the server. Texts have no password, whatever the BMC repeats.

        Raises:
            BmcError: The BMC does not answer, refuses the login, or has no system to read.
        """
        certificate = self.certificate()
        system = self._system_document()
        # First what takes few requests. There may be more disks than requests, and whether a card boots says least.
        cpu, interfaces = self._cpu(system), self._interfaces(system)
        quirks, ways = self._try("quirks", "", self.kind), self._ways(system)
        secure_boot = self._try("Secure Boot", "", self._secure_boot)
        disks = self._disks(system)
        read = DiscoveredServer(
            bmc=f"{self._server.base}{self._server.system_id or ''}",
            uuid=parts.own(system, "UUID").lower(),
            serial=parts.own(system, "SerialNumber"),
            manufacturer=parts.words(system, "Manufacturer"),
            model=parts.words(system, "Model"),
            tag=parts.words(system, "SKU") if self._try("tag", False, self._has_tag) else "",
            bios=parts.words(system, "BiosVersion"),
            firmware=self._try("BMC firmware", "", self.bmc_version),
            quirks=quirks,
            power=parts.words(system, "PowerState"),
            cpu=cpu,
            memory_mib=parts.memory_mib(system),
            cards=tuple(self._cards(interfaces)),
            disks=tuple(sorted(disks, key=lambda disk: disk.name)),
            ways=tuple(ways),
            licence=self._try("licence", "", self.licence),
            boot_mode=parts.words(parts.part(system, "Boot"), MODE),
            secure_boot=secure_boot,
            clock_ahead_s=self._try("clock", None, self._clock_ahead_s),
            certificate_sha256=certificate.sha256 if certificate else "",
        )
        rack = self._try("rack", "", self._rack, system)
        cards = tuple(self._cabled(system, read.cards))
        read = read.changed(rack=rack, cards=cards, requests=self.requests)
        gaps = joined([*self._gaps, *gaps_of(read, {gap.what for gap in self._gaps})])
        return self._masked(read.changed(gaps=gaps))

    def cards_and_disks(self) -> DiscoveredServer:
        """Read only these, and gaps where they cannot be read. Whether a card boots is not asked.

        Raises:
            BmcError: As `server`.
        """
        system = self._system_document()
        cards = [parts.card(interface, _function_in(interface)) for interface in self._interfaces(system)]
        read = DiscoveredServer(
            bmc=f"{self._server.base}{self._server.system_id or ''}",
            cards=tuple(cards),
            disks=tuple(self._disks(system)),
        )
        return self._masked(read.changed(gaps=joined(self._gaps)))

    def _masked(self, read: DiscoveredServer) -> DiscoveredServer:
        return DiscoveredServer.model_validate(_with_texts(read.model_dump(), self._shown))

    def _shown(self, text: str) -> str:
        """Return a text masked, and without half characters (`U+D800`), which JSON may have and no file can."""
        return self.masked(text).encode(errors="replace").decode()

    def _system_document(self) -> Document:
        """Read the System, also of a BMC that this program cannot use."""
        try:
            self._read.system()
        except BmcRefusedError as error:
            if self._read.seen is None:
                raise
            self._gap("boot methods", error)
        self._document_read = self._read.seen.json
        return self._document_read

    def _ways(self, system: Document) -> list[str]:
        """Return the types of `bmc.address` with which this program can boot the server, best first."""
        if any(gap.what == "boot methods" for gap in self._gaps):
            return []
        by_cd = self._try("virtual CD", "", self._by_cd)
        boot = self._try("boot targets", NOTHING, self._boot_targets)
        others = [way.split(",")[0] for way in network_types(boot)]
        if not by_cd and not others:
            self._gaps.append(Gap(what="boot methods", why="the BMC offers none that this program can use"))
        return [*filter(None, [by_cd]), *others]

    def _by_cd(self) -> str:
        self.expect_boot_method()
        self.virtual_cd()
        with self._converted_errors("read the BMC's version"):
            maker, generation = self._read.quirks.vendor, self._read.bmc_kind()
        if maker.startswith("Dell"):
            return "idrac-virtualmedia"
        return "ilo5-virtualmedia" if maker == "HPE iLO" and "iLO 4" not in generation else "redfish-virtualmedia"

    def _boot_targets(self) -> Document:
        with self._converted_errors("read the boot targets"):
            return self._boot()

    def _has_tag(self) -> bool:
        with self._converted_errors("read the service tag"):
            return self._read.quirks.sku_is_tag

    def _secure_boot(self) -> str:
        secure_boot = self.secure_boot()
        return secure_boot.word if secure_boot else ""

    def _clock_ahead_s(self) -> int | None:
        with self._converted_errors("read the clock"):
            told = (parts.words(manager.json, "DateTime") for manager in self._read.managers)
            return next((_ahead_s(time) for time in told if time), None)

    def _cpu(self, system: Document) -> Cpu:
        """Return the CPUs of a system, which are alike, by one of them: with as few requests as that takes."""
        members = self._listed("CPU", system, "Processors")
        others = [it for it in members if parts.words(it, "ProcessorType") not in ("CPU", "")]
        named = [it for it in members if CPU.search(_name(it)) and it not in others]
        cpus = named or [it for it in members if it not in others]
        for member in cpus:
            processor = self._try("CPU", NOTHING, self._resolved, member)
            if processor and parts.words(processor, "ProcessorType") in ("CPU", ""):
                return parts.cpu(system, processor, len(cpus))
        return parts.cpu(system, NOTHING, 0)

    def _interfaces(self, system: Document) -> list[Document]:
        """Return the documents of the system's cards: EthernetInterfaces, else functions of network adapters."""
        found = self._members("cards", system, "EthernetInterfaces")
        if not found:
            for interface in self._members("cards", system, "NetworkInterfaces"):
                found += self._members("cards", interface, "NetworkDeviceFunctions")
        return found

    def _cards(self, interfaces: Iterable[Document]) -> list[Card]:
        """Return the cards; whether the firmware boots from one is read last, at one request for each."""
        cards = list[Card]()
        for interface in interfaces:
            links = parts.part(interface, "Links")
            functions = [*parts.listed(links, "NetworkDeviceFunctions"), parts.part(links, "NetworkDeviceFunction")]
            path = next(filter(None, map(parts.link_of, functions)), "")
            function = _function_in(interface)
            if path:
                what = f"PXE of {parts.words(interface, 'Id')}"
                function = self._try(what, NOTHING, self._document, path)
            cards.append(parts.card(interface, function))
        return cards

    def _rack(self, system: Document) -> str:
        chassis = map(parts.link_of, parts.listed(parts.part(system, "Links"), "Chassis"))
        path = next(filter(None, chassis), "")
        return parts.rack(self._document(path)) if path else ""

    def _cabled(self, system: Document, cards: Sequence[Card]) -> Iterator[Card]:
        """Yield the cards with what LLDP told of the other ends of their cables. It is read last of all."""
        dell = self._try(LLDP, NOTHING, self._dell_lists)
        if not cards:
            told = dict[str, cabling.Neighbour]()
        elif dell:
            told = dict(cabling.of_connections(self._members(LLDP, dell, CONNECTIONS)))
        else:
            told = dict(cabling.of_ports(self._ports(system)))
        for card in cards:
            other = told.get(card.name) or told.get(card.mac)
            yield card.changed(switch=other.switch, switch_port=other.port) if other else card

    def _dell_lists(self) -> Document:
        """Return the links of an iDRAC to its list of neighbours; empty if it has none."""
        with self._converted_errors("read the managers"):
            lists = [parts.part(it.json, "Links", "Oem", "Dell") for it in self._read.managers]
        return next((it for it in lists if parts.link_of(it, CONNECTIONS)), NOTHING)

    def _ports(self, system: Document) -> Iterator[Document]:
        for interface in self._members(LLDP, system, "NetworkInterfaces"):
            path = parts.link_of(interface, "Links", "NetworkAdapter")
            adapter = self._try(LLDP, NOTHING, self._document, path) if path else NOTHING
            yield from self._members(LLDP, adapter, "Ports") if adapter else ()

    def _disks(self, system: Document) -> list[Disk]:
        """Return the disks of all storages, with RAID volumes in place of their drives."""
        storages = self._listed("disks", system, "Storage", read=self._document)
        disks = list[Disk]()
        for link in storages:
            disks += self._disks_of(self._try("disks", NOTHING, self._expanded, parts.link_of(link)))
        if storages and not disks:
            self._gaps.append(Gap(what="disks", why="none of its storages has a drive that could be read"))
        return disks

    def _disks_of(self, storage: Document) -> list[Disk]:
        links = parts.listed(storage, "Drives")
        read = [self._try(f"disk {_name(it)}", NOTHING, self._resolved, it) for it in links]
        documents = {_name(link): document for link, document in zip(links, read, strict=True) if document}
        disks = {name: parts.drive(document) for name, document in documents.items()}
        for path in self._volumes(storage, documents):
            volume = self._try(f"volume {_last(path)}", None, self._document, path)
            if volume is None or parts.is_raid(volume):
                members = [_name(it) for it in parts.listed(parts.part(volume or {}, "Links"), "Drives")]
                members += [name for name, it in documents.items() if path in _volumes_of(it)]
                behind = [disk for name in members if (disk := disks.pop(name, None))]
                if volume is not None:
                    disks[path] = parts.volume(volume, behind)
        return [*disks.values()]

    def _volumes(self, storage: Document, drives: dict[str, Document]) -> list[str]:
        """Return the paths of the volumes that may be RAIDs: those of the drives, else those of the storage."""
        if not drives or any("Volumes" in parts.part(drive, "Links") for drive in drives.values()):
            # A captured R750 has each raw drive as a volume with its own Id.
            return sorted({it for name, drive in drives.items() for it in _volumes_of(drive) if _last(it) != name})
        path = parts.link_of(storage, "Volumes")
        listing = self._try("volumes", NOTHING, self._document, path) if path else NOTHING
        return [parts.link_of(it) for it in parts.listed(listing, "Members")]

    def _listed(
        self, what: str, owner: Document, name: str, read: Callable[[str], Document] | None = None
    ) -> list[Document]:
        """Return the members of a collection that a document links, each a link or what it names.

        A gap says why there are none.
        """
        path = parts.link_of(owner, name)
        if not path:
            self._gaps.append(Gap(what=what, why=f"its {_name(owner)} links no {name}"))
            return []
        listing = self._try(what, None, read or self._expanded, path)
        members = parts.listed(listing or {}, "Members")
        if listing is not None and not members:
            self._gaps.append(Gap(what=what, why=f"its list of {name} is empty"))
        return members

    def _members(self, what: str, owner: Document, name: str) -> list[Document]:
        """Return the members of such a collection, read; a gap for each that cannot be."""
        links = self._listed(what, owner, name)
        read = [self._try(f"{what} {_name(it)}", NOTHING, self._resolved, it) for it in links]
        return [document for document in read if document]

    def _resolved(self, link: Document) -> Document:
        """Return what a link names: it may stand in place of the link, since the list was read expanded."""
        return link if link.keys() - {"@odata.id"} else self._document(parts.link_of(link))

    def _expanded(self, path: str) -> Document:
        """Return a document with those below it, if the BMC says that it can."""
        if self._expand is None:
            self._expand, query = "", {}
            with suppress(BmcRefusedError):
                query = parts.part(self._document(ROOT), "ProtocolFeaturesSupported", "ExpandQuery")
            levels = "($levels=1)" if query.get("Levels") is True else ""
            self._expand = f"?$expand=.{levels}" if query.get("NoLinks") is True else ""
        if self._expand:
            try:
                return self._document(f"{path}{self._expand}")
            except BmcRefusedError:
                self._expand = ""
        return self._document(path)

    def _document(self, path: str) -> Document:
        with self._converted_errors(f"read {path}"):
            try:
                body = self._http.get(path).json()
            except sushy.exceptions.HTTPError as error:
                if error.status_code != HTTPStatus.NOT_FOUND:
                    raise
                raise BmcRefusedError(f"the BMC has no {path}, which it links (HTTP 404)", where=self.url) from None
            if not isinstance(body, dict):
                raise TypeError(f"{type(body).__name__} in place of an object")
            return body

    def _try(self, what: str, otherwise: T, read: Callable[..., T], *of: Any) -> T:
        """Return what is read of something; if it cannot be, note the gap."""
        if self._over:
            self._gaps.append(Gap(what=what, why=self._over))
            return otherwise
        try:
            return read(*of)
        except BmcError as error:
            self._gap(what, error)
            if isinstance(error, BmcTimeoutError):
                self._over = error.fault.what
            return otherwise

    def _gap(self, what: str, error: BmcError) -> None:
        self._gaps.append(Gap(what=what, why=error.fault.what))


def _function_in(interface: Document) -> Document:
    """Return the NetworkDeviceFunction that stands in place of an EthernetInterface; empty if none does."""
    return interface if "NetDevFuncType" in interface or "Ethernet" in interface else {}


def _with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return a document with each of its texts changed, and its names as they are."""
    match value:
        case dict():
            return {name: _with_texts(each, change) for name, each in value.items()}
        case tuple():
            return tuple(_with_texts(each, change) for each in value)
        case str():
            return change(value)
        case _:
            return value


def _ahead_s(time: str) -> int | None:
    """Return the seconds by which a time is ahead of this machine's clock. None: it is no time with its zone."""
    try:
        told = datetime.fromisoformat(time)
    except ValueError:
        return None
    return None if told.tzinfo is None else round((told - datetime.now(UTC)).total_seconds())


def _last(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _name(document: Document) -> str:
    """Return the last part of a document's path, by which links to it are compared."""
    return _last(parts.link_of(document)) or _last(parts.words(document, "@odata.id"))


def _volumes_of(drive: Document) -> list[str]:
    return [parts.link_of(it) for it in parts.listed(parts.part(drive, "Links"), "Volumes")]
