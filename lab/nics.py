"""The network cards of a twin's server: those that its `networkConfig` names, and the bridge that each is on.

With a provisioning network, the card with the boot MAC is on it, and all others are on the machine network. All ports
of a bond are on one bridge, which has no LACP: a bond of mode 802.3ad then uses one of them. A server's own bridge
has one port: a second one on the same network would be a loop.
"""

import hashlib
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from cluster.install_config.platform import DISABLED
from cluster.plan.model import Intent, PlannedHost
from cluster.values.mac import parse_mac

TRUNK = "trunk"
"""The bridge of the servers whose address is on a VLAN."""
_EMULATED = ("ethernet", "bond", "vlan", "linux-bridge")
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
    """Return the cards of a host. The one with its boot MAC is first, since the emulator boots only from the first.

    A card has the MAC from the config, else one that follows from its name. A host on a provisioning
    network has a card on the machine network, too, whether or not the config names one.
    """
    named, boot, provisioning = _cards(host.network_config), _boot_card(host, plan), provisioning_bridge(plan)
    macs = {name: mac or _derived_mac(host, name) for name, mac in named.items()} | {boot: host.boot_mac}
    if provisioning and len(macs) == 1:
        name = _unused_name(macs)
        macs[name] = _derived_mac(host, name)
    others = plan.bootstrap.bridge if vlan_of(host, plan) is None else TRUNK
    cards = (Nic(mac, name, provisioning if provisioning and name == boot else others) for name, mac in macs.items())
    return tuple(sorted(cards, key=lambda card: card.name != boot))


def machine_mac(host: PlannedHost, plan: Intent) -> str:
    """Return a host's MAC on the machine network: that of the first card below the interface with its address."""
    if provisioning_bridge(plan) is None:
        return host.boot_mac
    _, *cards = nics_of(host, plan)
    macs = {card.name: card.mac for card in cards}
    below = {interface.get("name"): _below(interface) for interface in _interfaces(host.network_config)}
    name = next(_addressed(host, plan), {}).get("name", cards[0].name)
    while name not in macs:
        name = next(iter(below.get(name, ())), cards[0].name)
    return macs[name]


def vlan_of(host: PlannedHost, plan: Intent) -> int | None:
    """Return the id of the VLAN on which a host has its address; None: its frames have no tag."""
    vlan = next((_vlans_of(interface, host.network_config) for interface in _addressed(host, plan)), [])
    return int(vlan[0]["vlan"]["id"]) if vlan else None


def not_emulated(network_config: Mapping[str, Any] | None) -> list[str]:
    """Return the settings of a `networkConfig` that a twin's server cannot have."""
    settings = []
    for interface in _interfaces(network_config):
        vlan, mode = interface.get("vlan") or {}, (interface.get("link-aggregation") or {}).get("mode")
        if interface.get("type") not in _EMULATED:
            settings.append(str(interface.get("type")))
        if str(mode) in _BROADCAST:
            settings.append(f"bond of mode {mode}")
        if vlan.get("protocol", "802.1q") != "802.1q":
            settings.append(f"vlan of protocol {vlan['protocol']}")
        for outer in _vlans_of(interface, network_config)[1:] if vlan else ():
            settings.append(f"vlan on the VLAN {outer['name']}")
        if interface.get("type") == "linux-bridge" and len(_below(interface)) > 1:
            settings.append(f"linux-bridge of several ports: {', '.join(_below(interface))}")
    return settings


def _boot_card(host: PlannedHost, plan: Intent) -> str:
    """Return the name of the card with the boot MAC: the one that the config gives this MAC, if any.

    Else it is the first card for which the config has no MAC. On a provisioning network it is
    `provisioningNetworkInterface`, or a card without a name in the config: the named ones are on the machine network.
    """
    cards = _cards(host.network_config)
    named = [name for name, mac in cards.items() if mac == host.boot_mac]
    if provisioning_bridge(plan) is None:
        named += [name for name, mac in cards.items() if mac is None]
    elif plan.provisioning.interface:
        named.append(plan.provisioning.interface)
    return next(iter(named), _unused_name(cards))


def _unused_name(names: Container[str]) -> str:
    return next(name for number in count() if (name := f"eth{number}") not in names)


def _cards(network_config: Mapping[str, Any] | None) -> dict[str, str | None]:
    """Return the names of the Ethernet interfaces, in the order of the file, each with its MAC there, if any.

    Like nmstate, it counts an interface that only a bond, a bridge or a VLAN names.
    """
    interfaces = _interfaces(network_config)
    types = {interface.get("name"): interface.get("type") for interface in interfaces}
    cards: dict[str, str | None] = {}
    for interface in interfaces:
        for name in _below(interface):
            if types.get(name, "ethernet") == "ethernet":
                cards.setdefault(name, None)
        if interface.get("type") == "ethernet":
            cards[str(interface.get("name"))] = parse_mac(str(interface.get("mac-address", "")))
    return cards


def _below(interface: Mapping[str, Any]) -> list[str]:
    """Return the names of the interfaces that a bond, a bridge or a VLAN is on."""
    bond, bridge, vlan = (interface.get(section) or {} for section in ("link-aggregation", "bridge", "vlan"))
    ports = [port["name"] for port in _ports(bridge)]
    return [*_ports(bond), *ports, *([vlan["base-iface"]] if vlan else [])]


def _ports(section: Mapping[str, Any]) -> list[Any]:
    return section.get("port") or section.get("ports") or []


def _vlans_of(interface: Mapping[str, Any], network_config: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    """Return the VLANs that tag the frames of an interface: itself, or what it is on; itself first."""
    named = {other.get("name"): other for other in _interfaces(network_config)}
    vlans, names = [], [interface.get("name")]
    for name in names:  # it grows
        if (below := named.pop(name, None)) is not None:
            vlans += [below] if below.get("type") == "vlan" else []
            names += _below(below)
    return vlans


def _addressed(host: PlannedHost, plan: Intent) -> Iterator[Mapping[str, Any]]:
    """Yield the interfaces that may have a host's address: those that set it, then those that get it by DHCP.

    VLAN and bridge have the MAC of the interface below, so a reservation fits all: untagged interfaces come first.
    """
    elsewhere = _boot_card(host, plan) if provisioning_bridge(plan) else None
    interfaces = [interface for interface in _interfaces(host.network_config) if interface.get("name") != elsewhere]
    own = {
        interface.name
        for interface in host.network.up
        if any(static.address in host.addresses for static in interface.addresses)
    }
    yield from (interface for interface in interfaces if interface.get("name") in own)
    automatic = filter(_is_automatic, interfaces)
    yield from sorted(automatic, key=lambda interface: bool(_vlans_of(interface, host.network_config)))


def _is_automatic(interface: Mapping[str, Any]) -> bool:
    """Whether an interface gets addresses from DHCP or a router."""
    settings = [interface.get(family) or {} for family in ("ipv4", "ipv6")]
    return any(family.get("enabled") and (family.get("dhcp") or family.get("autoconf")) for family in settings)


def _derived_mac(host: PlannedHost, name: str) -> str:
    """Return a MAC that follows from the card's name, with the prefix of QEMU's network cards."""
    return f"52:54:00:{hashlib.sha256(f'{host.boot_mac} {name}'.encode()).digest()[:3].hex(':')}"


def _interfaces(network_config: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    return (network_config or {}).get("interfaces") or []
