"""What FRU 0 names, whatever area has the serial."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testing.fakes.ipmi.bmc import inventory
from wires.ipmi.fru import Inventory, inventory_of


def read(content: bytes) -> Inventory:
    return inventory_of(lambda offset, count: content[offset : offset + count])


@pytest.mark.parametrize("area", ["product", "chassis", "board"])
def test_the_serial_is_that_of_the_product_else_chassis_else_board(area: str) -> None:
    assert read(inventory(area, "SN-1")) == Inventory("SN-1", "R650", "Dell")


@pytest.mark.parametrize(
    "content", [b"", bytes(8), b"\1" + bytes(7), bytes(255)], ids=["none", "zeros", "bad", "long"]
)
def test_an_empty_or_broken_inventory_names_nothing(content: bytes) -> None:
    assert read(content) == Inventory()


def test_six_bit_texts_are_read() -> None:
    """Section 13.3 of the FRU's definition has `IPMI` as 29 DC A6."""
    content = inventory("product", "SN-1").replace(b"\xc4SN-1", b"\x83\x29\xdc\xa6\xc1")
    assert read(content).serial == "IPMI"


@given(st.binary(max_size=64), st.integers(0, 7), st.integers(0, 7))
def test_any_content_is_read(rest: bytes, chassis: int, product: int) -> None:
    head = bytes((1, 0, chassis, 0, product, 0, 0))
    found = read(head + bytes((-sum(head) & 0xFF,)) + rest)
    assert all(text.isprintable() for text in (found.serial, found.model, found.manufacturer))
