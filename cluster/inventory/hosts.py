"""The section `hosts` of an install-config, proposed from an inventory: what a person reads, corrects and commits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from base.errors import ConfigError, Fault
from base.yaml_text import line_of, yaml_of
from cluster.install_config import InstallConfig
from cluster.inventory.choice import CARD_RULE, DISK_RULE, NO_WAY, boot_card, names_of, root_disk
from cluster.inventory.model import DiscoveredServer, Inventory
from cluster.plan.intent import replicas
from cluster.values.role import Role

KEYS = ("platform", "baremetal")


@dataclass(frozen=True)
class ProposedHost:
    """A host, and the server that it is to be."""

    name: str
    role: Role
    server: DiscoveredServer

    @property
    def entry(self) -> dict[str, object]:
        """Its entry of `hosts`, without the login."""
        card, disk = boot_card(self.server)[0], root_disk(self.server)[0]
        return {
            "name": self.name,
            "role": self.role.pool,
            "bmc": {"address": bmc_address(self.server)},
            "bootMACAddress": card.mac if card else "",
            "rootDeviceHints": names_of(self.server, disk) if disk else {},
        }


def bmc_address(server: DiscoveredServer) -> str:
    """Return `bmc.address` with the best type by which the program can boot the server."""
    transport, _, rest = server.bmc.partition("://")
    plus = "" if transport == "https" else f"+{transport}"
    return f"{server.ways[0]}{plus}://{rest}"


def proposed(config: InstallConfig, inventory: Inventory, where: str) -> tuple[list[ProposedHost], str]:
    """Return the hosts that the replicas of an install-config want, and the rule of their roles in words.

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
    hosts = [
        ProposedHost(f"{config.metadata.name}-{role.pool}-{index}", role, server)
        for role in Role
        for index, server in enumerate(islice(in_order, wanted[role]))
    ]
    if faults := [fault for host in hosts for fault in _faults(host.server, where)]:
        raise ConfigError(*faults)
    return hosts, rule


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


def _faults(server: DiscoveredServer, where: str) -> Iterator[Fault]:
    """Yield what an entry needs, and its BMC did not tell."""
    at = f"{where}: {server.bmc}"
    if why := boot_card(server)[1]:
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
        fix = "leave out --discover, or take hosts out of the file"
        raise ConfigError(Fault(f"{where}.hosts", "written already", fix))
    if text.splitlines()[number - 1].lstrip(" \"'").startswith(("{", *KEYS)):
        fix = "write each of its keys on a line of its own, without braces"
        raise ConfigError(Fault(where, "no line can be put before its keys", fix))
    return number - 1


def with_hosts(text: str, hosts: Sequence[ProposedHost], rule: str, inventory: Inventory) -> str:
    """Return the text of an install-config with `hosts`, before the rest of its platform, which stays as it is."""
    lines, at = text.splitlines(keepends=True), room_for_hosts(text)
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    return "".join([*lines[:at], *(f"{indent}{line}\n" for line in _section(hosts, rule, inventory)), *lines[at:]])


def _section(hosts: Sequence[ProposedHost], rule: str, inventory: Inventory) -> Iterator[str]:
    yield f"# Proposed from the BMCs' answers of {inventory.dated:%Y-%m-%d %H:%M} UTC: compare it with the servers."
    left_out = len(inventory.servers) - len(hosts)
    yield f"# Control plane: {rule}; arbiters, then compute: the next ones. Left out: {left_out}."
    yield f"# bootMACAddress: {CARD_RULE}."
    yield f"# rootDeviceHints: {DISK_RULE}."
    yield "hosts:"
    for host in hosts:
        server, disk = host.server, root_disk(host.server)[0]
        kind = " ".join(filter(None, (server.manufacturer, server.model)))
        yield f"# {kind}, serial {server.tag or server.serial or 'unreported'}; {disk}"
        yield from yaml_of([host.entry]).splitlines()
