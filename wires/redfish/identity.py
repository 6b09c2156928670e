"""Identities of machines as they are recorded and compared, without the values that many machines share."""

from base.spec import Model
from wires.redfish.bmc import Identity

SHARED = frozenset(
    {
        "03000200-0400-0500-0006-000700080009",
        "0123456789",
        "123456789",
        "1234567890",
        "default string",
        "n/a",
        "none",
        "not specified",
        "system serial number",
        "to be filled by o.e.m.",
    }
)
"""Placeholders that the firmware of many boards reports instead of a UUID or serial number, in lower case."""


def is_shared(value: str) -> bool:
    """Return whether many machines may report this value: a placeholder, one repeated character, or nothing."""
    word = value.strip().lower()
    return word in SHARED or len({character for character in word if character.isalnum()}) <= 1


def usable(identity: Identity) -> str:
    """Return the machine's UUID, else its serial number. Empty if other machines may share both."""
    return next((value for value in (identity.uuid, identity.serial) if not is_shared(value)), "")


def same(one: Identity, other: Identity) -> bool:
    """Return whether two identities are of one machine. Values that many machines share are not compared."""
    pairs = ((one.uuid, other.uuid), (one.serial, other.serial))
    return all(left.lower() == right.lower() for left, right in pairs if not (is_shared(left) or is_shared(right)))


def named(identity: Identity) -> str:
    """Return the identity in words, for messages."""
    kind = " ".join(word for word in (identity.manufacturer, identity.model) if word) or "a system"
    return f"{kind}, UUID {identity.uuid or 'unreported'}, serial {identity.serial or 'unreported'}"


def is_one_machine(one: Identity, other: Identity) -> bool:
    """Return whether two identities are certainly of one machine: they share a UUID or serial, and none differs."""
    shared = {value.lower() for value in (one.uuid, one.serial) if not is_shared(value)}
    return bool(shared & {other.uuid.lower(), other.serial.lower()}) and same(one, other)


class MachineId(Model):
    """The machine behind a host's BMC."""

    uuid: str = ""
    serial: str = ""

    @property
    def identity(self) -> Identity:
        """The same, for comparison with what a BMC reports."""
        return Identity(self.uuid, self.serial)

    @property
    def own(self) -> str:
        """The machine's unique UUID, else its unique serial number, in lower case; empty if neither is unique."""
        return usable(self.identity).lower()


UNIDENTIFIED = MachineId()
