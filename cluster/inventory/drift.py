"""What has changed of a server's cards and disks since its inventory."""

from collections.abc import Iterator, Mapping

from cluster.inventory.model import Card, DiscoveredServer, Disk

CARDS, DISKS = ("cards",), ("disk", "volume")
"""How the gaps begin that tell of a part which was not read at all."""


def changes(kept: DiscoveredServer, now: DiscoveredServer) -> Iterator[str]:
    """Yield what is another part now. Of cards or disks that one of the two does not tell whole, nothing is known."""
    if _is_whole(kept, CARDS) and _is_whole(now, CARDS):
        yield from _differences("card", _cards(kept), _cards(now))
    if _is_whole(kept, DISKS) and _is_whole(now, DISKS):
        yield from _differences("disk", _disks(kept), _disks(now))


def _is_whole(server: DiscoveredServer, beginnings: tuple[str, ...]) -> bool:
    return not any(part.startswith(beginnings) for gap in server.gaps for part in gap.what.split(", "))


def _cards(server: DiscoveredServer) -> dict[str, Card]:
    return {card.mac: card for card in server.cards if card.mac}


def _disks(server: DiscoveredServer) -> dict[str, Disk]:
    return {name: disk for disk in server.disks if (name := disk.serial or disk.wwn)}


def _differences(
    kind: str, kept: Mapping[str, Card] | Mapping[str, Disk], now: Mapping[str, Card] | Mapping[str, Disk]
) -> Iterator[str]:
    """Yield each part that only one of the two has, and each disk with another size, by what names it for good."""
    yield from (f"{kind} {part} is gone" for name, part in kept.items() if name not in now)
    yield from (f"{kind} {part} is new" for name, part in now.items() if name not in kept)
    for name, part in now.items():
        was = kept.get(name)
        if isinstance(part, Disk) and isinstance(was, Disk) and part.size_bytes != was.size_bytes:
            yield f"{kind} {part} had {was.size}"
