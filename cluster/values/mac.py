"""MAC addresses of network cards, in every spelling that Go's net package accepts."""

import re

from base.errors import Fault, Stricter

_SPELLINGS = re.compile(
    r"[0-9a-fA-F]{2}([:-])[0-9a-fA-F]{2}(?:\1[0-9a-fA-F]{2}){4}|[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4}){2}"
)
GROUP_BIT = 1


def parse_mac(text: str) -> str | None:
    """Return `52:54:00:ab:cd:ef` for `52-54-00-AB-CD-EF` and `5254.00ab.cdef`. None: not an Ethernet address."""
    return bytes.fromhex(re.sub("[^0-9a-fA-F]", "", text)).hex(":") if _SPELLINGS.fullmatch(text) else None


def mac_fault(text: str) -> Fault | None:
    """Return why a text is not the MAC address of one network card. None: it is one."""
    mac, fix = parse_mac(text), "write that of the network card"
    if mac is None:
        fix = "write six pairs of hexadecimal digits, for example 52:54:00:ab:cd:ef"
        return Fault("", f"{text} is not a MAC address", fix)
    if bytes.fromhex(mac.replace(":", ""))[0] & GROUP_BIT:
        return Fault("", f"{text} is the address of a group (its first octet is odd)", fix)
    return Stricter("", f"{text} is not a network card's", fix) if mac == "00:00:00:00:00:00" else None
