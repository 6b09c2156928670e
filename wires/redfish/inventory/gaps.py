"""What an inventory lacks of a server, in words: each thing that the BMC does not tell is named once."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from cluster.inventory.choice import boot_card, root_disk
from cluster.inventory.model import DiscoveredServer, Gap
from wires.redfish.inventory.cpu import AMD64

SILENT = "the BMC does not tell"
Told = dict[str, Callable[[Any], object]]
OF_SERVER: Told = {
    "memory": lambda it: it.memory_mib is not None,
    "cards": lambda it: it.cards,
    "disks": lambda it: it.disks,
    "CPU model": lambda it: it.cpu.model,
    "CPU count": lambda it: it.cpu.count,
    "CPU architecture": lambda it: it.cpu.architecture,
    "UUID": lambda it: it.uuid,
    "serial": lambda it: it.serial,
    "rack": lambda it: it.rack,
    "power": lambda it: it.power,
    "BMC firmware": lambda it: it.firmware,
    "BIOS": lambda it: it.bios,
    "boot mode": lambda it: it.boot_mode,
    "Secure Boot": lambda it: it.secure_boot,
    "clock": lambda it: it.clock_ahead_s is not None,
}
OF_CARD: Told = {
    "MAC": lambda it: it.mac,
    "speed": lambda it: it.speed_mbps or it.link != "up",
    "link": lambda it: it.link,
    "PCI place": lambda it: it.pci,
    "PXE": lambda it: it.pxe is not None,
    "LLDP neighbour": lambda it: it.switch or it.to_bmc,
}
OF_DISK: Told = {
    "size": lambda it: it.size_bytes,
    "model": lambda it: it.model,
    "serial": lambda it: it.serial or it.raid,
    "WWN": lambda it: it.wwn,
    "kind": lambda it: it.media,
    "protocol": lambda it: it.protocol or it.raid,
}


def gaps_of(server: DiscoveredServer, known: set[str]) -> Iterator[Gap]:
    """Yield what a server lacks, without what is `known` to be a gap for a reason of its own."""
    for what, is_told in OF_SERVER.items():
        if what not in known and not is_told(server):
            yield Gap(what=what, why=SILENT)
    if server.cpu.architecture == AMD64 and server.cpu.x86_64_v3 is None:
        yield Gap(what="x86-64-v3", why=f"the name {server.cpu.model or 'of the CPU'!r} does not tell")
    for table, them in ((OF_CARD, server.cards), (OF_DISK, server.disks)):
        for what, is_told in table.items():
            names = [it.name for it in them if not is_told(it) and f"{what} of {it.name}" not in known]
            if names and what not in known:
                yield Gap(what=f"{what} of {', '.join(names)}", why=SILENT)
    for what, why in (("boot MAC", boot_card(server)[1]), ("root disk", root_disk(server)[1])):
        if why:
            yield Gap(what=what, why=why)


def joined(gaps: Sequence[Gap]) -> tuple[Gap, ...]:
    """Return the gaps with those of one reason in one."""
    reasons = dict[str, list[str]]()
    for gap in gaps:
        reasons.setdefault(gap.why, []).append(gap.what)
    return tuple(Gap(what=", ".join(dict.fromkeys(what)), why=why) for why, what in reasons.items())
