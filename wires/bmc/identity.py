"""Identities of machines as they are recorded and compared, without the values that many machines share."""

import re

from base.spec import Model
from wires.bmc.client import Identity, is_same_uuid, spellings


def _bare(value: str) -> str:
    """Return the letters and digits of a value, in lower case."""
    return re.sub(r"[\W_]", "", value.lower())


SHARED = frozenset(
    map(
        _bare,
        (
            "00020003-0004-0005-0006-000700080009",
            "01020304-0506-0708-090a-0b0c0d0e0f10",
            "03000200-0400-0500-0006-000700080009",
            "12345678-1234-5678-1234-567812345678",
            "12345678-1234-5678-90ab-cddeefaabbcc",
            "chassis serial number",
            "default string",
            "empty",
            "invalid",
            "n/a",
            "none",
            "not applicable",
            "not available",
            "not present",
            "not settable",
            "not specified",
            "null",
            "o.e.m.",
            "serial number",
            "system serial",
            "system serial number",
            "tbd",
            "to be filled by o.e.m.",
            "undefined",
            "unknown",
            "unspecified",
        ),
    )
)
"""Placeholders that the firmware of many boards reports instead of a UUID or serial number.

Sources: FOGProject/fogproject, Host::getHostByUuidAndSerial; trees of BMCs that other projects captured.
"""
COUNTED = ("0123456789abcdef", "1234567890abcdef")
"""Digits in order: what one of these begins with is a placeholder if it has at least `COUNTED_FROM` of them."""
COUNTED_FROM = 4
UUID_DIGITS = 32


def is_shared(value: str) -> bool:
    """Return whether many machines may report this value: a placeholder, a repeated pattern, or nothing."""
    bare = _bare(value)
    orders = set(map(_bare, spellings(value)))
    is_counted = len(bare) >= COUNTED_FROM and any(digits.startswith(bare) for digits in COUNTED)
    repeated = 2 if len(bare) == UUID_DIGITS else 1
    return bool(orders & SHARED) or bare in SHARED or is_counted or len(set(bare)) <= repeated


def is_uuid(name: str) -> bool:
    """Return whether a name is that of a UUID, as no serial number or service tag is."""
    return re.fullmatch(f"[0-9a-f]{{{UUID_DIGITS}}}", _bare(name)) is not None


def usable(identity: Identity) -> str:
    """Return the machine's UUID, else its serial number. Empty if other machines may share both."""
    return next((value for value in (identity.uuid, identity.serial) if not is_shared(value)), "")


def same(one: Identity, other: Identity) -> bool:
    """Return whether two identities are of one machine. Values that many machines share are not compared."""
    pairs = ((one.uuid, other.uuid), (one.serial, other.serial))
    return all(is_same_uuid(left, right) for left, right in pairs if not (is_shared(left) or is_shared(right)))


def named(identity: Identity) -> str:
    """Return the identity in words, for messages."""
    kind = " ".join(word for word in (identity.manufacturer, identity.model) if word) or "a system"
    tag = f", service tag {identity.tag}" if identity.tag else ""
    return f"{kind}, UUID {identity.uuid or 'unreported'}, serial {identity.serial or 'unreported'}{tag}"


def is_one_machine(one: Identity, other: Identity) -> bool:
    """Return whether two identities are certainly of one machine: they share a UUID or serial, and none differs."""
    shared = [value for value in (one.uuid, one.serial) if not is_shared(value)]
    common = (is_same_uuid(own, its) for own in shared for its in (other.uuid, other.serial))
    return any(common) and same(one, other)


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
