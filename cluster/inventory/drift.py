"""What has changed of a server's cards and disks since its inventory."""

from collections.abc import Iterator, Mapping

from base.shown import few
from cluster.inventory.model import Card, DiscoveredServer, Disk

CARDS, VOLUMES = ("cards",), ("volume",)
DISKS = ("disk", *VOLUMES)
"""How the gaps begin that tell of a part which was not read at all."""


def changes(kept: DiscoveredServer, now: DiscoveredServer) -> Iterator[str]:
    """Yield what is another part now, and what cannot be read now. Of what was not known whole, nothing is known."""
    if not any(_unread(kept, CARDS)):
        yield from (unread := [*_unread(now, CARDS)])
        yield from _differences("card", _cards(kept), _cards(now), is_whole=not unread)
    if not any(_unread(kept, DISKS)):
        yield from (unread := [*_unread(now, DISKS)])
        known, seen = _disks(kept), _disks(now)
        if any(_unread(now, VOLUMES)):  # they hide the disks that they are made of, which only look new without them
            seen = {name: disk for name, disk in seen.items() if name in known}
        yield from _differences("disk", known, seen, is_whole=not unread)


def _unread(server: DiscoveredServer, beginnings: tuple[str, ...]) -> Iterator[str]:
    """Yield which parts were not read, and why."""
    for gap in server.gaps:
        if parts := [part for part in gap.what.split(", ") if part.startswith(beginnings)]:
            yield f"{' and '.join(few(parts))} not compared ({gap.why})"


def _cards(server: DiscoveredServer) -> dict[str, Card]:
    return {card.mac: card for card in server.cards if card.mac}


def _disks(server: DiscoveredServer) -> dict[str, Disk]:
    return {name: disk for disk in server.disks if (name := disk.serial or disk.wwn)}


def _differences(
    kind: str,
    kept: Mapping[str, Card] | Mapping[str, Disk],
    now: Mapping[str, Card] | Mapping[str, Disk],
    *,
    is_whole: bool,
) -> Iterator[str]:
    """Yield each part that only one of the two has, and each disk with another size, by what names it for good."""
    yield from (f"{kind} {part} is gone" for name, part in kept.items() if is_whole and name not in now)
    yield from (f"{kind} {part} is new" for name, part in now.items() if name not in kept)
    for name, part in now.items():
        was = kept.get(name)
        if isinstance(part, Disk) and isinstance(was, Disk) and part.size_bytes != was.size_bytes:
            yield f"{kind} {part} had {was.size}"
