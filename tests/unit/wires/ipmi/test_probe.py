"""What `bmc check`, `bmc consent` and `bmc capture` say of servers behind IPMI. None of them changes anything."""

import json

import pytest
from pydantic import SecretStr

from providers.bmc_host.checks import BmcReport, Check, consented
from providers.bmc_host.engine import BmcHostEngine
from testing.fakes.bmc import UUID
from testing.fakes.ipmi.bmc import PASSWORD, USER
from testing.fakes.ipmi.traits import TRAITS, Traits
from testing.ipmi_server_under_test import MAC, NAME
from tests.unit.wires.ipmi.one_bmc import OneBmc, one_bmc
from wires.bmc.access import BmcAccess
from wires.ipmi.capture import IpmiCapture
from wires.ipmi.probe import IpmiProbe

ACCESS = BmcAccess(address="ipmi://192.0.2.1", username=USER, boot_mac=MAC)
WRITES = {(0, 2), (0, 8)}


def probe(it: OneBmc, password: str = PASSWORD) -> IpmiProbe:
    bmc = IpmiProbe(ACCESS, SecretStr(password))
    bmc._clock, bmc._connect = it.clock, it.link
    it.fake.sessions.users[USER.encode()] = PASSWORD.encode()
    return bmc


def report(it: OneBmc, consent: str = UUID, password: str = PASSWORD) -> BmcReport:
    bmc = probe(it, password)
    try:
        return Check(bmc, BmcHostEngine(bmc, it.clock, print, NAME, consent, 0), has_stack=True).report()
    finally:
        bmc.close()


def test_a_good_bmc_is_shown_and_nothing_is_changed() -> None:
    it = one_bmc()
    row = report(it)
    assert (row.reachable, row.login, row.system, row.uuid, row.serial) == (
        True,
        "accepted",
        "Dell R650",
        UUID,
        "SN-1",
    )
    assert (row.quirks, row.power, row.firmware) == ("IPMI 2.0, cipher suite 17, ADMINISTRATOR", "Off", "2.10")
    assert (row.stops, row.warnings) == ([], [])
    assert not WRITES & {request[:2] for request in it.fake.log}
    assert it.open_sessions == 0


@pytest.mark.parametrize(
    ("traits", "words"),
    [
        pytest.param(
            TRAITS["unsafe"], ["IPMI 1.5", "users without a name", "suite 0", "no cipher suite 17"], id="all"
        ),
        pytest.param(Traits(logins=0x94), ["IPMI 1.5"], id="readable-password"),
        pytest.param(Traits(logins=0x85), ["IPMI 1.5"], id="no-password"),
        pytest.param(Traits(users=0x06), ["users without a name"], id="null-users"),
        pytest.param(Traits(users=0x05), ["users without a name"], id="anonymous"),
        pytest.param(Traits(unsafe_suites=(0,)), ["suite 0"], id="suite-0"),
        pytest.param(Traits(suites=(3,)), ["no cipher suite 17"], id="only-suite-3"),
    ],
)
def test_what_is_unsafe_about_a_bmc_is_named(traits: Traits, words: list[str]) -> None:
    row = report(one_bmc(traits))
    assert [any(word in line for word in words) for line in row.warnings] == [True] * len(words)
    assert row.stops == []


def test_a_short_password_is_named_and_not_shown() -> None:
    it = one_bmc()
    bmc = probe(it, "short-pass")
    it.fake.sessions.users[USER.encode()] = b"short-pass"
    row = Check(bmc, BmcHostEngine(bmc, it.clock, print, NAME, UUID, 0), has_stack=True).report()
    assert [line for line in row.warnings if "hash of the password: set 16 to 20 random bytes" in line]
    assert "short-pass" not in str(row)


def test_a_nameless_bmc_is_consented_to_by_the_boot_mac_with_a_warning() -> None:
    it = one_bmc("virtualbmc")
    bmc = probe(it)
    assert consented(BmcHostEngine(bmc, it.clock, print, NAME, "", 0)) == MAC
    row = report(one_bmc("virtualbmc"), consent=MAC)
    assert row.stops == []
    assert [line for line in row.warnings if "whatever server is behind this BMC is switched off" in line]


def test_a_silent_bmc_costs_one_wait() -> None:
    it = one_bmc(silent_until=1e9)
    row = report(it)
    assert (row.reachable, len(row.stops)) == (False, 1)
    assert "switch IPMI over LAN on" in row.stops[0]
    assert it.clock.now() < 1010


def test_a_bmc_that_falls_silent_costs_one_wait() -> None:
    it = one_bmc()
    answers = it.fake.answers
    it.fake.answers = lambda datagram: answers(datagram) if len(it.fake.log) < 4 else []  # type: ignore[method-assign]
    row = report(it)
    assert len(row.stops) == 1
    assert it.clock.now() < 1030


def test_a_wrong_password_is_tried_once_and_not_shown() -> None:
    it = one_bmc()
    row = report(it, password="wrong-password")
    assert (row.reachable, row.login, len(row.stops)) == (True, "refused", 1)
    assert "wrong-password" not in str(row)


@pytest.mark.parametrize("name", TRAITS)
def test_a_capture_has_the_answers_and_nothing_that_names_the_server(name: str) -> None:
    it = one_bmc(name)
    bmc, read = IpmiCapture(ACCESS, SecretStr(PASSWORD)), list[str]()
    bmc._clock, bmc._connect = it.clock, it.link
    tree = bmc.tree(read.append)
    bmc.close()
    text = json.dumps(tree)
    assert "Get Device ID" in tree["resources"]
    assert read[:-1] == [*tree["resources"]][:-1]
    raw = it.fake._guid().hex(" ")
    assert not any(secret in text for secret in (PASSWORD, USER, UUID, "SN-1", raw, MAC))
    assert not WRITES & {request[:2] for request in it.fake.log}
