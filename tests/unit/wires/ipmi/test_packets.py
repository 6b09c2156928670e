"""Frames of a session: what protects them, and the frames of others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wires.ipmi.packets import SUITES, Seal, answer_in, checksum, message, unsealed

K1, K2 = bytes(range(20)), bytes(range(16))


def pair(suite: int) -> tuple[Seal, Seal]:
    """Return the seals of both sides."""
    return Seal(SUITES[suite], K1, K2, own=1, theirs=2), Seal(SUITES[suite], K1, K2, own=2, theirs=1)


@given(st.binary(min_size=8, max_size=64), st.sampled_from([0, 1]))
def test_a_sealed_message_is_opened_once_and_only_unchanged(payload: bytes, suite: int) -> None:
    ours, theirs = pair(suite)
    frame = ours.sealed(payload)
    changed = bytes((*frame[:20], frame[20] ^ 1, *frame[21:]))
    assert theirs.opened(changed) is None
    assert theirs.opened(frame[:-1]) is None
    assert theirs.opened(frame) == payload
    assert theirs.opened(frame) is None
    assert theirs.opened(ours.sealed(payload)) == payload


@pytest.mark.parametrize("suite", [0, 1])
def test_a_frame_of_another_session_is_not_opened(suite: int) -> None:
    ours, theirs = pair(suite)
    assert Seal(SUITES[suite], K1, K2, own=3, theirs=1).opened(ours.sealed(b"12345678")) is None
    assert Seal(SUITES[suite], K2, K2, own=2, theirs=1).opened(ours.sealed(b"12345678")) is None
    assert theirs.opened(ours.sealed(b"12345678")) == b"12345678"


@given(st.binary(max_size=40))
def test_any_datagram_is_read_or_ignored(datagram: bytes) -> None:
    _, theirs = pair(0)
    assert theirs.opened(datagram) is None
    found = unsealed(datagram)
    assert found is None or answer_in(found[1], 6, 1, 0) is None or checksum(found[1][3:]) == 0


def test_a_request_is_that_of_the_specification() -> None:
    """Section 13.8: Get Device ID, sequence 1, as `ipmitool -vvv` prints it."""
    assert message(0x06, 0x01, b"", 1).hex(" ") == "20 18 c8 81 04 01 7a"
