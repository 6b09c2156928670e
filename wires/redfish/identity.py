"""Which machine it is: what of an identity may be relied on, and what it is called in messages."""

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
"""What firmware of many boards says of all of them, lower case: nobody has filled it in."""


def is_shared(value: str) -> bool:
    """Whether many machines may report this UUID or serial number: a placeholder, one digit only, or nothing."""
    word = value.strip().lower()
    return word in SHARED or len({each for each in word if each.isalnum()}) <= 1


def usable(identity: Identity) -> str:
    """What is this machine's alone: its UUID, else its serial number; empty: neither is."""
    return next((value for value in (identity.uuid, identity.serial) if not is_shared(value)), "")


def same(one: Identity, other: Identity) -> bool:
    """Whether two reports are of one machine; what either shares with many is not compared."""
    pairs = ((one.uuid, other.uuid), (one.serial, other.serial))
    return all(left.lower() == right.lower() for left, right in pairs if not (is_shared(left) or is_shared(right)))


def named(identity: Identity) -> str:
    """For messages."""
    kind = " ".join(word for word in (identity.manufacturer, identity.model) if word) or "a system"
    return f"{kind}, UUID {identity.uuid or 'unreported'}, serial {identity.serial or 'unreported'}"
