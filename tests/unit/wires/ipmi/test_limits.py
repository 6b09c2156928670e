"""Limits of what a BMC can make the client do, whatever it answers, and of what it can have shown."""

import json
from typing import Any

import pytest
from pydantic import SecretStr

from base.errors import BmcTimeoutError
from testing.fakes.ipmi.bmc import PASSWORD, USER
from tests.unit.wires.ipmi.one_bmc import OneBmc, one_bmc
from wires.bmc.access import BmcAccess, Limits
from wires.bmc.client import Identity
from wires.ipmi.bmc import FRU_READS, IpmiBmc
from wires.ipmi.capture import IpmiCapture
from wires.ipmi.session import ANSWER_S, LOGIN_S

ACCESS = BmcAccess(address="ipmi://192.0.2.1", username=USER)
READ_FRU = (0x0A, 0x11)


def client(it: OneBmc, **limits: Any) -> IpmiBmc:
    return IpmiBmc(ACCESS, SecretStr(PASSWORD), Limits(**limits), clock=it.clock, connect=it.link)


def test_an_inventory_without_an_end_names_nothing() -> None:
    """Three areas of 2,040 bytes, a byte per answer: 6,120 reads, at one per second."""
    it = one_bmc()
    head = bytes((1, 0, 1, 1, 1, 0, 0))
    content = head + bytes((-sum(head) & 0xFF,)) + b"\xff" * 0xFFFF

    def inventory(command: int, data: bytes) -> tuple[int, bytes]:
        at = int.from_bytes(data[1:3], "little")
        return (0, b"\xff\xff\0") if command == 0x10 else (0, b"\1" + content[at : at + 1])

    it.fake._inventory = inventory  # type: ignore[method-assign]
    bmc = client(it)
    assert bmc.identity() == bmc.identity() == Identity(it.fake.server.machine.uuid, "")
    assert len([request for request in it.fake.log if request[:2] == READ_FRU]) == FRU_READS


def test_all_answers_together_have_a_limit() -> None:
    it = one_bmc(latency_s=3.0)
    bmc, began = client(it, whole_s=40), it.clock.now()
    with pytest.raises(BmcTimeoutError):
        [bmc.power() for _ in range(40)]
    sent = bmc.requests
    with pytest.raises(BmcTimeoutError, match=r"all its answers together took more than 40 s\. Fix: see whether"):
        bmc.power()
    assert bmc.requests == sent
    assert it.clock.now() - began < 40 + LOGIN_S + ANSWER_S


def test_a_bmc_that_sends_without_end_is_silent_after_one_wait() -> None:
    it = one_bmc()
    bmc = client(it, whole_s=120)
    bmc.power()
    it.fake.answers = lambda datagram: [b"\x06\x00\xff\x07" + datagram[4:]] * 1000  # type: ignore[method-assign]
    began = it.clock.now()
    with pytest.raises(BmcTimeoutError, match="no answer within 6 s"):
        bmc.power()
    assert it.clock.now() - began < 2 * ANSWER_S


@pytest.mark.parametrize("word", ["R650", "Dell"])
def test_a_capture_shows_no_password_that_the_bmc_repeats(word: str) -> None:
    it = one_bmc()
    it.fake.sessions.users[USER.encode()] = word.encode()
    bmc = IpmiCapture(ACCESS, SecretStr(word))
    bmc._clock, bmc._connect = it.clock, it.link
    shown = json.dumps(bmc.tree(lambda _: None))
    assert word not in shown
