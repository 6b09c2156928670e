"""What a MAC tells of its machine, without a table of vendors."""

QEMU = "52:54:00:"
VIRTUAL_ROUTERS = ("00:00:5e:00:01:", "00:00:5e:00:02:")
"""Of IPv4 and IPv6; the router id comes last (RFC 5798, 7.3)."""
LOCAL = 0x02


def described(mac: str) -> str:
    """A MAC `aa:bb:cc:dd:ee:ff` and, where that is certain, what it stands for."""
    if mac.startswith(QEMU):
        return f"{mac} (QEMU's prefix)"
    if mac.startswith(VIRTUAL_ROUTERS):
        return f"{mac} (VRRP router {int(mac[-2:], 16)})"
    return f"{mac} (locally administered)" if int(mac[:2], 16) & LOCAL else mac
