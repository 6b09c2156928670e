"""The rule of the table: no two values coincide, except those of one owner and of uses that may."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator

from base.errors import Fault
from cluster.install_config import InstallConfig
from cluster.options import MachineOptions
from cluster.plan.address_table.rows import Row, rows_of
from cluster.plan.address_table.uses import IN_ONE_CLUSTER, Pairs, Use, rivals
from cluster.plan.intent import NO_OPTIONS
from cluster.values.address import Address, Network, in_any, overlap

NAMED = 3
"""The number of other places that one line names."""
FIXES = {
    Use.CARD: "write another: each network card has its own",
    Use.SYSTEM: "write another: a server belongs to one cluster",
    Use.ROUTE: "remove the route, or choose other networks of pods and services",
    Use.PROVISIONING: "write a network of its own, or provisioningNetwork: Disabled",
}


def conflicts_within(config: InstallConfig, options: MachineOptions = NO_OPTIONS, file: str = "") -> Iterator[Fault]:
    """Yield the conflicts of one cluster; `file` is the install-config's path, if the faults are to have it."""
    for row, fault in conflicts(rows_of(config, options), IN_ONE_CLUSTER):
        yield fault.within(file) if file and not row.is_option else fault


def conflicts(rows: Iterable[Row], may_coincide: Pairs) -> Iterator[tuple[Row, Fault]]:
    """Yield each row that contradicts earlier ones, with a fault at its path that names their places.

    Args:
        rows: The networks first: an address is compared with the networks before it.
        may_coincide: The pairs of uses that may have the same value.
    """
    rivals_of = {use: frozenset(rivals(use, may_coincide)) for use in Use}
    points: dict[Hashable, list[Row]] = defaultdict(list)
    ranges: list[Row] = []
    for row in rows:
        earlier = [
            other
            for other in (*points[row.value], *(each for each in ranges if _touch(row, each)))
            if other.use in rivals_of[row.use]
            and other.owner != row.owner
            and not (row.part and other.part and row.part != other.part)
        ]
        if earlier:
            yield row, _fault(row, earlier)
        (ranges if isinstance(row.value, Network) else points[row.value]).append(row)


def listed(texts: Iterable[str]) -> str:
    """Return as many texts as a line can hold, and the number of the others."""
    every = list(texts)
    more = len(every) - NAMED
    return ", ".join(every[:NAMED]) + (f" and {more} more" if more > 0 else "")


def _touch(row: Row, other: Row) -> bool:
    """Return whether a network contains or overlaps a row's value. A route to more than a network leaves it alone."""
    value, network = row.value, other.value
    if not isinstance(network, Network):
        return False
    if isinstance(value, Network):
        return overlap(value, network) and (row.use is not Use.ROUTE or value.prefixlen >= network.prefixlen)
    return isinstance(value, Address) and in_any(value, [network])


def _fault(row: Row, earlier: list[Row]) -> Fault:
    around = [other for other in earlier if isinstance(other.value, Network)]
    unusable = any(other.use is Use.UNUSABLE for other in earlier)
    verb, fix = "is already", "choose another" if unusable else "give each an address of its own"
    if around:
        verb = "overlaps" if isinstance(row.value, Network) else "is in"
        fix = "choose an address outside of it, or another network"
    what = _places(around or earlier)
    return Fault(row.path, f"{row.text} {verb} {what}", FIXES.get(row.use, fix))


def _places(rows: list[Row]) -> str:
    """Return the uses of rows, each with its places."""
    places: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        places[f"{row.use} {row.text}" if isinstance(row.value, Network) else row.use].append(row.place)
    return ", ".join(f"{name} ({listed(paths)})" for name, paths in places.items())
