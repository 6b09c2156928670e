"""The identity of a machine: which of its reports are unique, and when two reports name one machine."""

import uuid as uuids

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wires.bmc.client import Identity
from wires.bmc.identity import is_one_machine, is_shared, named, same, usable

UUID = "c0ffee00-0000-4000-8000-000000000001"
OEM, BOARD = "To be filled by O.E.M.", "03000200-0400-0500-0006-000700080009"
PLACEHOLDERS = (
    *("00020003-0004-0005-0006-000700080009", "fefefefe-fefe-fefe-fefe-fefefefefefe", "Not Available", "Unknown"),
    *("12345678-1234-5678-90ab-cddeefaabbcc", "FFFFFF00-FFFF-FFFF-FFFF-FFFFFFFFFFFF", "NULL", "Empty", "INVALID"),
    *("Serial Number", "System Serial", "Chassis Serial Number", "0123456789ABCDEF", "NA", "O.E.M.", "TBD", "12345"),
    *("Not Applicable", "NotSpecified", "To Be Filled By OEM", "..........", "1234"),
)
"""Issue 42, 11: those that captured trees and other projects have, and spellings of them."""
RECORDED = Identity(UUID, "SN-1", "R650", "Dell")


@pytest.mark.parametrize(
    ("value", "shared"),
    [
        ("", True),
        (OEM, True),
        (BOARD, True),
        ("Default string", True),
        ("00000000-0000-0000-0000-000000000000", True),
        ("FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF", True),
        ("0123456789", True),
        ("123456789", True),
        ("1234567890", True),
        ("N/A", True),
        ("None", True),
        ("Not Specified", True),
        ("System Serial Number", True),
        (" default STRING ", True),
        *((value, True) for value in PLACEHOLDERS),
        (UUID, False),
        ("SN-1", False),
        ("CZ0123456789", False),
        ("JXKFBZL", False),
        ("1001", False),
        ("123", False),
        ("00000000-0000-0000-0000-ac1f6b8d0a12", False),
    ],
)
def test_placeholders_are_recognized(value: str, shared: bool) -> None:
    assert is_shared(value) is shared


@pytest.mark.parametrize(
    ("identity", "own"),
    [
        (Identity(UUID, "SN-1"), UUID),
        (Identity(BOARD, "SN-1"), "SN-1"),
        (Identity("", "SN-1"), "SN-1"),
        (Identity(BOARD, OEM), ""),
    ],
    ids=["uuid", "uuid-of-many", "uuid-unreported", "neither"],
)
def test_a_machine_is_identified_by_values_that_are_unique_to_it(identity: Identity, own: str) -> None:
    assert usable(identity) == own


@pytest.mark.parametrize(
    ("other", "is_it"),
    [
        (Identity(UUID.upper(), "sn-1"), True),
        (Identity(UUID, OEM), True),
        (Identity("", "SN-1"), True),
        (Identity(UUID, "SN-2"), False),
        (Identity("c0ffee00-0000-4000-8000-000000000002", "SN-1"), False),
    ],
    ids=["case", "serial-unfilled", "uuid-unreported", "another-serial", "another-uuid"],
)
def test_a_record_matches_a_machine_by_uuid_and_serial(other: Identity, is_it: bool) -> None:
    assert same(RECORDED, other) is is_it


@pytest.mark.parametrize(
    ("identity", "words"),
    [
        (RECORDED, f"Dell R650, UUID {UUID}, serial SN-1"),
        (Identity("", ""), "a system, UUID unreported, serial unreported"),
        (Identity("", "SN-1", "R650"), "R650, UUID unreported, serial SN-1"),
        (Identity("", "CN1", "R650", tag="ABC1234"), "R650, UUID unreported, serial CN1, service tag ABC1234"),
    ],
    ids=["all", "nothing", "some", "dell"],
)
def test_messages_name_a_machine_by_everything_it_reports(identity: Identity, words: str) -> None:
    assert named(identity) == words


@pytest.mark.parametrize(
    ("name", "answers"),
    [(UUID, True), (f" {UUID.upper()} ", True), ("sn-1", True), ("SN-2", False), ("", False), (" ", False)],
)
def test_a_machine_is_named_by_uuid_or_serial_in_any_case(name: str, answers: bool) -> None:
    assert RECORDED.answers_to(name) is answers
    assert Identity("", "").answers_to(name) is False


def test_blanks_around_a_value_count_on_neither_side() -> None:
    """Issue 42, 11: a BlueField pads its serial, so a consent that was written from it was refused for ever."""
    padded = Identity("", "MT2423600ANG            ")
    assert padded.answers_to("MT2423600ANG            ")
    assert padded.answers_to("mt2423600ang")
    assert same(padded, Identity("", "MT2423600ANG"))
    assert is_one_machine(padded, Identity("", "MT2423600ANG"))
    assert named(padded) == "a system, UUID unreported, serial MT2423600ANG"


def test_a_service_tag_names_a_machine_and_an_empty_one_does_not() -> None:
    assert Identity(UUID, "CN1", tag="ABC1234").answers_to("abc1234")
    assert not Identity(UUID, "CN1").answers_to("")


ORDERS = {
    "smbios": lambda it: it.bytes_le,
    "rfc": lambda it: it.bytes,
    "reversed": lambda it: it.bytes[::-1],
}
"""The bytes in which BMCs send the UUID of a machine by IPMI."""


def by_ipmi(uuid: str, order: str) -> Identity:
    """Return the identity that the IPMI client makes of the bytes of a UUID."""
    return Identity(str(uuids.UUID(bytes_le=ORDERS[order](uuids.UUID(uuid)))), "")


@given(st.uuids().map(str), st.sampled_from(sorted(ORDERS)), st.sampled_from(sorted(ORDERS)))
def test_a_uuid_names_its_machine_in_any_order_of_its_bytes(uuid: str, one: str, other: str) -> None:
    """Issue 45: a host may move between Redfish and IPMI, and firmware may change the order."""
    by_redfish, before, after = Identity(uuid, "SN-1"), by_ipmi(uuid, one), by_ipmi(uuid, other)
    assert before.answers_to(uuid.upper())
    assert by_redfish.answers_to(before.uuid)
    assert same(before, after)
    for machine in (before, by_redfish):
        assert same(machine, after)
        assert is_one_machine(machine, after) is not is_shared(uuid)


@given(st.uuids().map(str), st.uuids().map(str), st.sampled_from(sorted(ORDERS)))
def test_another_uuid_names_no_machine_in_any_order(uuid: str, another: str, order: str) -> None:
    is_one = sorted(uuids.UUID(uuid).bytes) == sorted(uuids.UUID(another).bytes)
    assert not by_ipmi(uuid, order).answers_to(another) or is_one
    assert not is_one_machine(by_ipmi(uuid, order), Identity(another, "")) or is_one


@pytest.mark.parametrize("order", sorted(ORDERS))
def test_a_placeholder_is_one_in_any_order_of_its_bytes(order: str) -> None:
    """OpenBMC without a UUID sends the bytes 1 to 16 (phosphor-net-ipmid)."""
    for placeholder in ("01020304-0506-0708-090a-0b0c0d0e0f10", BOARD):
        assert usable(by_ipmi(placeholder, order)) == ""
