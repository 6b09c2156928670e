"""The tables of `discover`: the servers, their cards and disks, and all that was not told."""

from collections.abc import Callable, Iterator
from typing import Any

from base.errors import one_line
from cli.shared.command_line import table
from cluster.inventory.choice import boot_card, root_disk
from cluster.inventory.model import Inventory

Columns = dict[str, Callable[[Any], object]]
WORDS = {True: "yes", False: "no", None: ""}
SERVERS: Columns = {
    "BMC": lambda it: it.bmc,
    "SERVER": lambda it: f"{it.manufacturer} {it.model}".strip(),
    "SERIAL": lambda it: it.tag or it.serial,
    "RACK": lambda it: it.rack,
    "CPU": lambda it: f"{it.cpu.count or '?'} x {it.cpu.model or '?'}",
    "CORES": lambda it: it.cpu.cores,
    "ARCH": lambda it: it.cpu.architecture,
    "X86-64-V3": lambda it: WORDS[it.cpu.x86_64_v3],
    "MEMORY": lambda it: f"{it.memory_mib // 1024} GiB" if it.memory_mib else "",
    "BOOT MAC": lambda it: getattr(boot_card(it)[0], "mac", ""),
    "ROOT DISK": lambda it: root_disk(it)[0],
    "BOOTS BY": lambda it: ", ".join(it.ways),
    "SECURE BOOT": lambda it: it.secure_boot,
    "CLOCK": lambda it: "" if it.clock_ahead_s is None else f"{it.clock_ahead_s:+} s",
}
CARDS: Columns = {
    "CARD": lambda it: it.name,
    "MAC": lambda it: it.mac,
    "LINK": lambda it: "to the BMC" if it.to_bmc else it.link,
    "SPEED": lambda it: f"{it.speed_mbps} Mbit/s" if it.speed_mbps else "",
    "PXE": lambda it: WORDS[it.pxe],
    "PCI": lambda it: it.pci,
    "SWITCH": lambda it: it.switch,
    "PORT": lambda it: it.switch_port,
}
DISKS: Columns = {
    "DISK": lambda it: it.name,
    "SIZE": lambda it: it.size,
    "MODEL": lambda it: it.model,
    "SERIAL": lambda it: it.serial,
    "WWN": lambda it: it.wwn,
    "KIND": lambda it: " ".join(filter(None, (it.protocol, it.media, it.raid))),
    "DRIVES": lambda it: ", ".join(it.drives),
}


def lines_of(inventory: Inventory) -> Iterator[str]:
    """Yield what `discover` prints of an inventory."""
    servers = inventory.servers
    if servers:
        yield from table([list(SERVERS), *(cells(SERVERS, it) for it in servers)])
    yield from _parts(CARDS, [(it.bmc, part) for it in servers for part in it.cards])
    yield from _parts(DISKS, [(it.bmc, part) for it in servers for part in it.disks])
    gaps = [f"{it.bmc}: {gap.what}: {gap.why}" for it in servers for gap in it.gaps]
    for title, lines in (("Not told:", gaps), ("Not read:", unread_lines(inventory))):
        if lines:
            yield from ("", title, *map(one_line, lines))


def unread_lines(inventory: Inventory) -> list[str]:
    """Return a line for each address that was not read, and one for all that are only counted."""
    silent = sum(it.silent for it in inventory.unread)
    lines = [f"{it.address}: {it.why}. Fix: {it.fix}" for it in inventory.unread if not it.silent]
    return [*lines, f"{silent} addresses of ranges or boards have no server, see --json"] if silent else lines


def cells(columns: Columns, of: Any) -> list[str]:
    """Return the row of a server, a card or a disk."""
    return [_cell(column(of)) for column in columns.values()]


def _parts(columns: Columns, parts: list[tuple[str, Any]]) -> Iterator[str]:
    if parts:
        yield ""
        rows = ([bmc, *cells(columns, part)] for bmc, part in parts)
        yield from table([["BMC", *columns], *rows])


def _cell(value: object) -> str:
    return one_line("" if value is None else str(value)) or "-"
