"""The identity of a machine: which of its reports are unique, and when two reports name one machine."""

import pytest

from wires.redfish.bmc import Identity
from wires.redfish.identity import is_shared, named, same, usable

UUID = "c0ffee00-0000-4000-8000-000000000001"
OEM, BOARD = "To be filled by O.E.M.", "03000200-0400-0500-0006-000700080009"
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
        (" default STRING ", True),
        (UUID, False),
        ("SN-1", False),
        ("CZ0123456789", False),
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
    ],
    ids=["all", "nothing", "some"],
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
