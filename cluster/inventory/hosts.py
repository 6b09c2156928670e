"""The section `hosts` of an install-config, proposed from an inventory: what a person reads, corrects and commits."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from base.errors import ConfigError, Fault, one_line
from base.yaml_text import line_of, yaml_of
from cluster.install_config import InstallConfig
from cluster.inventory.choice import CARD_RULE, DISK_RULE, NO_WAY, boot_card, names_of, root_disk
from cluster.inventory.model import Card, DiscoveredServer, Inventory
from cluster.plan.intent import replicas
from cluster.values.role import Role

KEYS = ("platform", "baremetal")


@dataclass(frozen=True, kw_only=True)
class ProposedHost:
    """A host, and the server that it is to be."""

    name: str
    role: Role
    bmc: str
    boot_mac: str
    hints: Mapping[str, str]
    """Empty if no disk is known, which is left to the reader."""
    about: str
    """A comment: which machine it is."""
    server: DiscoveredServer | None
    """None: its BMC was not read."""

    @property
    def entry(self) -> dict[str, object]:
        """Its entry of `hosts`, without the login."""
        entry: dict[str, object] = {
            "name": self.name,
            "role": self.role.pool,
            "bmc": {"address": self.bmc},
            "bootMACAddress": self.boot_mac,
        }
        return entry | ({"rootDeviceHints": dict(self.hints)} if self.hints else {})


@dataclass(frozen=True)
class Proposal:
    """The hosts of an install-config, and the rules that chose them."""

    hosts: Sequence[ProposedHost]
    rules: Sequence[str]
    """Comments of the file."""


def of_server(name: str, role: Role, server: DiscoveredServer, card: Card | None) -> ProposedHost:
    """Return the host of a server that boots from a card, or from that of `CARD_RULE`."""
    card, disk = card or boot_card(server)[0], root_disk(server)[0]
    kind = " ".join(filter(None, (server.manufacturer, server.model)))
    return ProposedHost(
        name=name,
        role=role,
        bmc=bmc_address(server),
        boot_mac=card.mac if card else "",
        hints=names_of(server, disk) if disk else {},
        about=f"{kind}, serial {server.tag or server.serial or 'unreported'}; {disk}",
        server=server,
    )


def bmc_address(server: DiscoveredServer) -> str:
    """Return `bmc.address` with the best type by which the program can boot the server."""
    transport, _, rest = server.bmc.partition("://")
    plus = "" if transport == "https" else f"+{transport}"
    return f"{server.ways[0]}{plus}://{rest}"


def proposed(config: InstallConfig, inventory: Inventory, where: str) -> Proposal:
    """Return the hosts that the replicas of an install-config want.

    Raises:
        ConfigError: There are too few servers, or one lacks what its entry needs.
    """
    wanted = replicas(config)
    count = sum(wanted.values())
    if len(inventory.servers) < count:
        what = f"{len(inventory.servers)} servers, and the replicas want {count}"
        raise ConfigError(
            Fault(where, what, "discover more BMCs, or correct controlPlane.replicas and compute.replicas")
        )
    masters, rule = _masters(inventory.servers, wanted[Role.CONTROL_PLANE])
    others = [server for server in inventory.servers if server not in masters]
    in_order = iter([*masters, *others])
    chosen = [
        (f"{config.metadata.name}-{role.pool}-{index}", role, server)
        for role in Role
        for index, server in enumerate(islice(in_order, wanted[role]))
    ]
    if faults := [fault for _, _, server in chosen for fault in faults_of(server, where)]:
        raise ConfigError(*faults)
    left_out = len(inventory.servers) - count
    rules = (
        told_by(inventory),
        f"Control plane: {rule}; arbiters, then compute: the next ones. Left out: {left_out}.",
        f"bootMACAddress: {CARD_RULE}.",
        f"rootDeviceHints: {DISK_RULE}.",
    )
    return Proposal([of_server(*each, None) for each in chosen], rules)


def told_by(inventory: Inventory) -> str:
    """Return the comment that says whose answers a file repeats."""
    return f"Proposed from the BMCs' answers of {inventory.dated:%Y-%m-%d %H:%M} UTC: compare it with the servers."


def _masters(servers: Sequence[DiscoveredServer], count: int) -> tuple[list[DiscoveredServer], str]:
    """Return the servers of the control plane, and why."""
    kinds = dict[tuple[object, ...], list[DiscoveredServer]]()
    for server in servers:
        sizes = tuple(sorted(disk.size_bytes or 0 for disk in server.disks))
        kind = (server.manufacturer, server.model, server.cpu.model, server.cpu.count, server.memory_mib, sizes)
        kinds.setdefault(kind, []).append(server)
    alike = max(kinds.values(), key=len, default=[])
    if len(alike) < count:
        return [*servers[:count]], f"the first {count} of {len(servers)} servers, of which no {count} are alike"
    return alike[:count], f"the first {count} of the {len(alike)} servers that are most alike"


def faults_of(server: DiscoveredServer, where: str, *, has_card: bool = False) -> Iterator[Fault]:
    """Yield what an entry needs, and its BMC did not tell. Whether its card is known already: `has_card`."""
    at = f"{where}: {server.bmc}"
    if (why := boot_card(server)[1]) and not has_card:
        fix = (
            'give the card on the machine network "link": "up" in "cards"; if it is not there, also "name" and "mac"'
        )
        yield Fault(at, f"boot MAC: {why}", fix)
    if why := root_disk(server)[1]:
        fix = 'give the disk its "serial" and "size_bytes" in "disks"; if it is not there, also a "name"'
        yield Fault(at, f"root disk: {why}", fix)
    if not server.ways:
        yield Fault(at, NO_WAY, "take the server out of the file")


def room_for_hosts(text: str) -> int:
    """Return the index of the line of an install-config before which `hosts` can be written.

    Raises:
        ConfigError: It has hosts, or no such line.
    """
    where, number = ".".join(KEYS), line_of(text, *KEYS)
    if number is None:
        raise ConfigError(Fault(where, "missing", "write the platform, without hosts"))
    if line_of(text, *KEYS, "hosts") is not None:
        fix = "leave out --discover and --netbox, or take hosts out of the file"
        raise ConfigError(Fault(f"{where}.hosts", "written already", fix))
    if text.splitlines()[number - 1].lstrip(" \"'").startswith(("{", *KEYS)):
        fix = "write each of its keys on a line of its own, without braces"
        raise ConfigError(Fault(where, "no line can be put before its keys", fix))
    return number - 1


def with_hosts(text: str, proposal: Proposal) -> str:
    """Return the text of an install-config with `hosts`, before the rest of its platform, which stays as it is."""
    lines, at = text.splitlines(keepends=True), room_for_hosts(text)
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    return "".join([*lines[:at], *(f"{indent}{line}\n" for line in _section(proposal)), *lines[at:]])


def _section(proposal: Proposal) -> Iterator[str]:
    yield from (f"# {one_line(rule)}" for rule in proposal.rules)
    yield "hosts:"
    for host in proposal.hosts:
        yield f"# {one_line(host.about)}"
        yield from yaml_of([host.entry]).splitlines()
