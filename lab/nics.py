"""The network cards of a twin's server: those that its `networkConfig` names, and the bridge that each is on.

With a provisioning network, the card with the boot MAC is on it, and all others are on the machine network. All ports
of a bond are on one bridge, which has no LACP: a bond of mode 802.3ad then uses one of them.
"""

import hashlib
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from cluster.install_config.platform import DISABLED
from cluster.plan.model import Intent, PlannedHost
from cluster.plan.static_addresses import static_addresses
from cluster.values.mac import parse_mac

TRUNK = "trunk"
"""The bridge of the servers whose address is on a VLAN."""
_EMULATED = ("ethernet", "bond", "vlan")
_BROADCAST = ("broadcast", "3")
"""A bond's mode in which a bridge returns each frame to its sender; by name and by number."""


@dataclass(frozen=True)
class Nic:
    """One network card."""

    mac: str
    name: str
    """As Linux knows it."""
    bridge: str


def provisioning_bridge(plan: Intent) -> str | None:
    """Return the bridge of the provisioning network; None if the cluster has no such network."""
    return None if plan.provisioning.mode == DISABLED else plan.provisioning.bridge


def nics_of(host: PlannedHost, plan: Intent) -> tuple[Nic, ...]:
    """Return the cards of a host, that with its boot MAC first: of all cards, the emulator boots from the first.

    A card has the MAC that the config has for it, else one that follows from its name. A host on a provisioning
    network has a card on the machine network, too, whether or not the config names one.
    """
    given, boot, apart = _cards(host.network_config), _boot_card(host, plan), provisioning_bridge(plan)
    macs = {name: mac or _made_up(host, name) for name, mac in given.items()} | {boot: host.boot_mac}
    if apart and len(macs) == 1:
        name = _unnamed(macs)
        macs[name] = _made_up(host, name)
    home = plan.bootstrap.bridge if vlan_of(host, plan) is None else TRUNK
    cards = (Nic(mac, name, apart if apart and name == boot else home) for name, mac in macs.items())
    return tuple(sorted(cards, key=lambda card: card.name != boot))


def machine_mac(host: PlannedHost, plan: Intent) -> str:
    """Return the MAC that a host has on the machine network: that of the first card below what has its address."""
    if provisioning_bridge(plan) is None:
        return host.boot_mac
    _, *cards = nics_of(host, plan)
    macs = {card.name: card.mac for card in cards}
    below = {each.get("name"): _below(each) for each in _interfaces(host.network_config)}
    name = next(_addressed(host, plan), {}).get("name", cards[0].name)
    while name not in macs:
        name = next(iter(below.get(name, ())), cards[0].name)
    return macs[name]


def vlan_of(host: PlannedHost, plan: Intent) -> int | None:
    """Return the id of the VLAN on which a host has its address; None: its frames have no tag."""
    interface = next(_addressed(host, plan), {})
    return int(interface["vlan"]["id"]) if interface.get("type") == "vlan" else None


def not_emulated(network_config: Mapping[str, Any] | None) -> list[str]:
    """Return what of a `networkConfig` a twin's server cannot have."""
    interfaces = _interfaces(network_config)
    vlans = {each.get("name") for each in interfaces if each.get("type") == "vlan"}
    found = []
    for each in interfaces:
        vlan, mode = each.get("vlan") or {}, (each.get("link-aggregation") or {}).get("mode")
        if each.get("type") not in _EMULATED:
            found.append(str(each.get("type")))
        if str(mode) in _BROADCAST:
            found.append(f"bond of mode {mode}")
        if vlan.get("protocol", "802.1q") != "802.1q":
            found.append(f"vlan of protocol {vlan['protocol']}")
        if vlan.get("base-iface") in vlans:
            found.append(f"vlan on the VLAN {vlan['base-iface']}")
    return found


def _boot_card(host: PlannedHost, plan: Intent) -> str:
    """Return the name of the card with the boot MAC: that which the config has for it, if any.

    Else it is the first card for which the config has no MAC. On a provisioning network it is one that the config
    does not name, unless `provisioningNetworkInterface` is its name: what the config names is on the machine network.
    """
    given = _cards(host.network_config)
    named = [name for name, mac in given.items() if mac == host.boot_mac]
    if provisioning_bridge(plan) is None:
        named += [name for name, mac in given.items() if mac is None]
    elif plan.provisioning.interface:
        named.append(plan.provisioning.interface)
    return next(iter(named), _unnamed(given))


def _unnamed(given: Container[str]) -> str:
    return next(name for number in count() if (name := f"eth{number}") not in given)


def _cards(network_config: Mapping[str, Any] | None) -> dict[str, str | None]:
    """Return the names of the Ethernet interfaces, in the order of the file, with the MAC that it has for each.

    An interface that only a bond or a VLAN names is one as well, as it is to nmstate.
    """
    interfaces = _interfaces(network_config)
    own = {each.get("name"): each.get("type") for each in interfaces}
    found: dict[str, str | None] = {}
    for each in interfaces:
        for name in _below(each):
            if own.get(name, "ethernet") == "ethernet":
                found.setdefault(name, None)
        if each.get("type") == "ethernet":
            found[str(each.get("name"))] = parse_mac(str(each.get("mac-address", "")))
    return found


def _below(interface: Mapping[str, Any]) -> list[str]:
    """Return the names of the interfaces that a bond or a VLAN is on."""
    bond, vlan = interface.get("link-aggregation") or {}, interface.get("vlan") or {}
    return [*(bond.get("port") or bond.get("ports") or ()), *([vlan["base-iface"]] if vlan else [])]


def _addressed(host: PlannedHost, plan: Intent) -> Iterator[Mapping[str, Any]]:
    """Yield the interfaces that a host's address may be on: where it is set, else those that ask DHCP for it.

    A VLAN has the MAC of what it is on, so the reservation is that of either: what has no tag comes first.
    """
    elsewhere = _boot_card(host, plan) if provisioning_bridge(plan) else None
    interfaces = [each for each in _interfaces(host.network_config) if each.get("name") != elsewhere]
    own = {*host.addresses}
    yield from (each for each in interfaces if own & {*static_addresses({"interfaces": [each]}, host.boot_mac)})
    yield from sorted(filter(_asks, interfaces), key=lambda each: each.get("type") == "vlan")


def _asks(interface: Mapping[str, Any]) -> bool:
    """Whether an interface asks DHCP or a router for addresses."""
    settings = [interface.get(family) or {} for family in ("ipv4", "ipv6")]
    return any(each.get("enabled") and (each.get("dhcp") or each.get("autoconf")) for each in settings)


def _made_up(host: PlannedHost, name: str) -> str:
    """Return a MAC with the prefix of QEMU's network cards."""
    return f"52:54:00:{hashlib.sha256(f'{host.boot_mac} {name}'.encode()).digest()[:3].hex(':')}"


def _interfaces(network_config: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    return (network_config or {}).get("interfaces") or []
