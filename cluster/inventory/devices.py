"""Devices as a source of truth has them: what NetBox says of servers, beside what their BMCs tell."""

from base.spec import Model
from cluster.values.role import Role

ROLES = {word: role for role in Role for word in (role.value, role.pool)}
"""The role of a host, by the slug of a device's role or tag."""
NO_CARDS = ("virtual", "bridge", "lag")
"""Types of NetBox's interfaces that are no port (netbox 4.6.8, dcim/choices.py)."""
CARD_RULE = "the first card of the interface that has the primary IP, of its bond, bridge or VLAN; or the only card"


class Interface(Model):
    """An interface of a device."""

    id: int
    name: str
    kind: str
    """The value of its type: `25gbase-x-sfp28`, `lag`."""
    mac: str
    """Lower case, with colons; empty if NetBox has none."""
    in_use: bool
    """Whether it is enabled, and not of the management alone."""
    parent: int | None = None
    """Id of the interface whose VLAN it is."""
    members_of: tuple[int, ...] = ()
    """Ids of the bridge and bond that it is in."""


class Device(Model):
    """A server in NetBox."""

    name: str
    """Empty if it has none."""
    serial: str
    manufacturer: str
    model: str
    words: tuple[str, ...]
    """The slugs of its role and tags."""
    bmc: str
    """The address of its out-of-band IP; empty if it has none."""
    addresses: tuple[str, ...]
    """Its primary IPs."""
    interfaces: tuple[Interface, ...]
    primary: tuple[int, ...]
    """Ids of the interfaces that have the primary IPs."""

    @property
    def title(self) -> str:
        """How messages call it."""
        return self.name or f"an unnamed {self.model}, serial {self.serial or 'unknown'}"

    @property
    def roles(self) -> set[Role]:
        """What its role and tags say; empty if nothing."""
        return {ROLES[word] for word in self.words if word in ROLES}

    @property
    def cards(self) -> list[Interface]:
        """Its ports with a MAC address, in NetBox's order."""
        return [it for it in self.interfaces if it.mac and it.in_use and it.kind not in NO_CARDS]

    def boot_card(self) -> tuple[Interface | None, str]:
        """Return the card of `bootMACAddress` by `CARD_RULE`, or None and why."""
        below, known = set(self.primary), 0
        while len(below) > known:
            known = len(below)
            below |= {it.parent for it in self.interfaces if it.id in below and it.parent}
            below |= {it.id for it in self.interfaces if below.intersection(it.members_of)}
        carrying = [it for it in self.cards if it.id in below]
        if carrying or len(self.cards) == 1:
            return (carrying or self.cards)[0], ""
        if not self.cards:
            return None, "no enabled interface has a MAC address"
        named = ", ".join(f"{it.name} {it.mac}" for it in self.cards)
        return None, f"none of {len(self.cards)} cards has the primary IP: {named}"
