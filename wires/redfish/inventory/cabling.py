"""The switch port at the other end of a card's cable, as LLDP told the BMC."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cluster.values.mac import parse_mac
from wires.redfish.inventory import parts
from wires.redfish.inventory.parts import Document

UNTOLD = ("not available", "feature disabled", "no link", "not supported", "not support")
"""What Dell has in place of a neighbour (NVIDIA/libredfish c094c9e6, dell/…/DellSwitchConnection.v1_1_0.json)."""
OCTETS = re.compile(r"[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2})+")


class Neighbour(NamedTuple):
    """What LLDP told of the other end."""

    switch: str
    """Its name, else its chassis' MAC or other Id."""
    port: str


def of_connections(connections: Iterable[Document]) -> Iterator[tuple[str, Neighbour]]:
    """Yield the neighbours that an iDRAC lists, by the Id of the card; those of the iDRAC itself, too."""
    for it in connections:
        switch, port = (_dell(it, name) for name in ("SwitchConnectionID", "SwitchPortConnectionID"))
        if switch:
            yield parts.words(it, "FQDD", "Id"), Neighbour(switch, port)


def of_ports(ports: Iterable[Document]) -> Iterator[tuple[str, Neighbour]]:
    """Yield the neighbours that ports of network adapters have, by the MAC of the card.

    Source of the values: captured trees of DL360 and others (HewlettPackard/ilo-redfish-emulator 578997c), where an
    empty ChassisId is none, and a PortId of an interface's name is in hexadecimal octets.
    """
    for it in ports:
        ethernet = parts.part(it, "Ethernet")
        told = parts.part(ethernet, "LLDPReceive")
        switch = parts.words(told, "SystemName", "ChassisId")
        macs = ethernet.get("AssociatedMACAddresses")
        for text in macs if switch and isinstance(macs, list) else ():
            if mac := parse_mac(text) if isinstance(text, str) else None:
                yield mac, Neighbour(parse_mac(switch) or switch, _port(told))


def _port(told: Document) -> str:
    text = parts.words(told, "PortId")
    if parts.words(told, "PortIdSubtype") == "MacAddr" or not OCTETS.fullmatch(text):
        return text
    name = bytes.fromhex(text.replace(":", "")).decode("ascii", errors="replace")
    return name if name.isprintable() and name.isascii() else text


def _dell(connection: Document, name: str) -> str:
    text = parts.words(connection, name)
    return "" if text.lower() in UNTOLD else parse_mac(text) or text
