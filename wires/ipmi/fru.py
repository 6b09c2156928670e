"""What FRU 0, the inventory of a server, says about it.

Source: "Platform Management FRU Information Storage Definition v1.0 rev. 1.3", sections 8 and 10 to 13.
"""

from collections.abc import Callable
from dataclasses import dataclass

HEADER_BYTES, UNIT = 8, 8
CHASSIS, BOARD, PRODUCT = 2, 3, 4
"""Offsets in the header, in units of 8 bytes, of the offsets of three areas."""
NO_MORE_FIELDS = 0xC1
SIX_BIT, LATIN_1 = 2, 3
"""Two of the four types of a field; the others are no text."""

Read = Callable[[int, int], bytes]
"""Reads from an offset, a number of bytes."""


@dataclass(frozen=True)
class Inventory:
    """The server as its inventory names it. A field is empty if it names none."""

    serial: str = ""
    model: str = ""
    manufacturer: str = ""


def inventory_of(read: Read) -> Inventory:
    """Return what the product area says; its serial is that of the chassis, else of the board, if it has none."""
    header = read(0, HEADER_BYTES)
    if len(header) < HEADER_BYTES or sum(header) & 0xFF:
        return Inventory()
    maker, model, _, _, serial = _fields(read, header[PRODUCT] * UNIT, 3, 5)
    _, chassis_serial = ("", "") if serial else _fields(read, header[CHASSIS] * UNIT, 3, 2)
    _, _, board_serial = ("", "", "") if serial or chassis_serial else _fields(read, header[BOARD] * UNIT, 6, 3)
    return Inventory(serial or chassis_serial or board_serial, model, maker)


def _fields(read: Read, offset: int, skipped: int, count: int) -> list[str]:
    """Return the first fields of an area, which begin after some bytes; each is empty if the area lacks it."""
    area = read(offset, int.from_bytes(read(offset + 1, 1)) * UNIT) if offset else b""
    texts, at = list[str](), skipped
    while at < len(area) and area[at] != NO_MORE_FIELDS and len(texts) < count:
        kind, size = area[at] >> 6, area[at] & 0x3F
        texts.append(_text(kind, area[at + 1 : at + 1 + size]))
        at += 1 + size
    return texts + [""] * (count - len(texts))


def _text(kind: int, data: bytes) -> str:
    if kind == SIX_BIT:
        bits = int.from_bytes(data, "little")
        return "".join(chr(0x20 + (bits >> 6 * index & 0x3F)) for index in range(len(data) * 8 // 6)).strip()
    text = data.decode("latin-1").strip("\0 ") if kind == LATIN_1 else ""
    return text if text.isprintable() else ""
