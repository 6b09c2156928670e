"""Description of a MAC by its prefix, without a table of vendors."""

QEMU = "52:54:00:"
VIRTUAL_ROUTERS = ("00:00:5e:00:01:", "00:00:5e:00:02:")
"""Prefixes for IPv4 and IPv6. The last octet is the VRID (RFC 5798, 7.3)."""
LOCAL = 0x02


def described(mac: str) -> str:
    """Return a MAC `aa:bb:cc:dd:ee:ff` and, if its prefix is known, what kind of machine it belongs to."""
    if mac.startswith(QEMU):
        return f"{mac} (QEMU's prefix)"
    if mac.startswith(VIRTUAL_ROUTERS):
        return f"{mac} (VRRP router {int(mac[-2:], 16)})"
    return f"{mac} (locally administered)" if int(mac[:2], 16) & LOCAL else mac
