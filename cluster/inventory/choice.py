"""The card and the disk that `init` proposes for a server, each by a rule, or why there is none."""

from collections.abc import Iterator

from cluster.inventory.model import GIB, HDD, Card, DiscoveredServer, Disk

LEAST_DISK_BYTES = 100 * GIB
"""Of a disk to install on (openshift-docs, modules/installation-minimum-resource-requirements.adoc: 100 GB)."""
CARD_RULE = "the first card with a link, in the order of its BMC, or its only card"
DISK_RULE = "the smallest disk of at least 100 GiB, solid state first, then by name"
NO_WAY = "no type of bmc.address by which it can be booted"
REMOVABLE = ("USB",)


def boot_card(server: DiscoveredServer) -> tuple[Card | None, str]:
    """Return the card of `bootMACAddress` by `CARD_RULE`, or None and why."""
    cards = [card for card in server.cards if card.mac and not card.to_bmc]
    linked = [card for card in cards if card.link == "up"]
    if linked or len(cards) == 1:
        return (linked or cards)[0], ""
    if not cards:
        return None, "the BMC tells no MAC address"
    named = ", ".join(f"{card.name} {card.mac}" for card in cards)
    return None, f"no card of {len(cards)} has a link that the BMC tells, as on servers that are off: {named}"


def root_disk(server: DiscoveredServer) -> tuple[Disk | None, str]:
    """Return the disk to install on by `DISK_RULE`, or None and why. It has a name that survives a reboot."""
    if not server.disks:
        return None, "the BMC tells no disk"
    fitting = [
        disk for disk in server.disks if (disk.size_bytes or 0) >= LEAST_DISK_BYTES and disk.protocol not in REMOVABLE
    ]
    if not fitting:
        return None, f"none of {len(server.disks)} is known to have {LEAST_DISK_BYTES // GIB} GiB"
    named = [disk for disk in fitting if names_of(server, disk)]
    if not named:
        return None, f"none of {len(fitting)} large enough has a serial number or WWN of its own"
    return min(named, key=lambda disk: (disk.media == HDD, disk.size_bytes or 0, disk.name)), ""


def stops(server: DiscoveredServer) -> Iterator[str]:
    """Yield why a server cannot be a host, as far as its BMC tells."""
    if why := boot_card(server)[1]:
        yield f"boot MAC: {why}"
    if why := root_disk(server)[1]:
        yield f"root disk: {why}"
    if not server.ways:
        yield NO_WAY
    if server.cpu.x86_64_v3 is False:
        yield f"{server.cpu.model} lacks x86-64-v3, which CentOS Stream CoreOS 10 needs"


def names_of(server: DiscoveredServer, disk: Disk) -> dict[str, str]:
    """Return the hints that name one disk of a server by what survives a reboot. Empty if none does."""
    for hint, value in (("serialNumber", disk.serial), ("wwn", disk.wwn)):
        same = [other for other in server.disks if value and value in (other.serial, other.wwn)]
        if len(same) == 1 and not (hint == "wwn" and not value.startswith("0x")):
            return {hint: value}
    return {}
