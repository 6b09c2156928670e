"""Sessions with fake BMCs of each kind, and with each fault of a network or a login."""

import logging

import pytest

from testing.fakes.ipmi.bmc import PASSWORD, USER
from testing.fakes.ipmi.traits import TRAITS, Traits
from tests.unit.wires.ipmi.one_bmc import one_bmc
from wires.ipmi.bmc import CHASSIS, DEVICE_ID
from wires.ipmi.session import (
    ANSWER_S,
    PACE_S,
    CodeError,
    IpmiError,
    LoginError,
    NoFreeSessionError,
    OwnKeyError,
    SilenceError,
)

SET_PRIVILEGE = (6, 0x3B)


@pytest.mark.parametrize("name", TRAITS)
def test_each_kind_of_bmc_lets_the_user_in_and_has_no_session_left(name: str) -> None:
    it, traits = one_bmc(name), TRAITS[name]
    session = it.opened()
    assert session.ask(CHASSIS)[0] == 0
    assert session.suite.number == (traits.picks or max(traits.suites))
    assert session.level == ("ADMINISTRATOR" if 4 in traits.levels else "OPERATOR")
    half_open = [one for one in it.fake.sessions.open.values() if one.keys is None]
    session.close()
    assert [*it.fake.sessions.open.values()] == half_open
    assert it.links[-1].closed


@pytest.mark.parametrize(
    ("user", "password", "why"),
    [
        pytest.param(USER, "wrong", "the password is not the one", id="password"),
        pytest.param("nobody", PASSWORD, "does not let this user log in: it has no such user", id="user"),
        pytest.param("", PASSWORD, "it has no such user", id="no-user"),
    ],
)
@pytest.mark.parametrize("kind", ["generic", "openbmc"])
def test_a_wrong_login_is_told_from_silence_and_counts_nowhere(user: str, password: str, why: str, kind: str) -> None:
    """OpenBMC refuses with tag 0: taken for silence, such a login would be tried again."""
    it = one_bmc(kind)
    with pytest.raises(LoginError, match=why):
        it.session(user, password).open()
    assert it.clock.now() - 1000 < ANSWER_S
    assert not any(0x14 in one.answered for one in it.fake.sessions.open.values()), "it counts a wrong RAKP 3"


def test_a_key_of_the_bmc_is_named() -> None:
    it = one_bmc(Traits(own_key=b"0123456789abcdef0123"))
    session = it.session()
    with pytest.raises(OwnKeyError):
        session.open()
    assert session.capabilities[2] & 0x20


@pytest.mark.parametrize("kind", ["operator_only", "operator_by_privilege"])
def test_a_level_that_the_address_names_is_the_only_one(kind: str) -> None:
    with pytest.raises(LoginError, match="ADMINISTRATOR"):
        one_bmc(kind).session(levels=("ADMINISTRATOR",)).open()


def test_a_bmc_without_a_suite_that_protects_anything_is_refused() -> None:
    with pytest.raises(IpmiError, match="no cipher suite of 17 and 3"):
        one_bmc(Traits(suites=())).session().open()


def test_silence_is_an_error_after_its_time() -> None:
    it = one_bmc(silent_until=1e9)
    with pytest.raises(SilenceError, match="no answer within 6 s"):
        it.session().open()
    assert it.clock.now() == pytest.approx(1000 + ANSWER_S)


def test_all_places_taken_is_named() -> None:
    it = one_bmc(Traits(slots=2))
    it.opened(), it.opened()
    with pytest.raises(NoFreeSessionError, match="no free session"):
        it.session().open()


def test_a_login_that_fails_behind_its_keys_leaves_no_session() -> None:
    """Issue 45: C0h to Set Session Privilege leaked all four sessions of a BMC."""
    it = one_bmc(codes={(0, 1): []})
    it.fake.sessions.run = lambda *_: (0xC0, b"")
    it.fake.sessions._own = lambda command, *_: None if command != 0x3C else it.fake.sessions.open.clear() or (0, b"")  # type: ignore[method-assign, func-returns-value]
    with pytest.raises(CodeError, match="0xc0"):
        it.session().open()
    assert it.open_sessions == 0


def test_two_hundred_logins_pass_where_one_datagram_in_twenty_is_lost() -> None:
    """Issue 45: with a second RAKP 1 or 3 in the same session, 2 of 60 logins were stuck."""
    it = one_bmc(Traits(slots=100), loss=0.05, seed=1)
    failed = 0
    for _ in range(200):
        try:
            it.opened().close()
        except IpmiError:
            failed += 1
    assert failed == 0


def test_strange_doubled_and_changed_datagrams_are_ignored() -> None:
    it = one_bmc(noise=True)
    session = it.opened()
    assert [session.ask(DEVICE_ID) for _ in range(5)] == [session.ask(DEVICE_ID)] * 5


def test_an_answer_that_was_recorded_is_not_taken_again() -> None:
    it = one_bmc()
    session = it.opened()
    recorded, answers = list[bytes](), it.fake.answers

    def recording(datagram: bytes) -> list[bytes]:
        recorded.extend(found := answers(datagram))
        return found

    it.fake.answers = recording  # type: ignore[method-assign]
    session.ask(CHASSIS)
    it.fake.answers = lambda datagram: recorded[:1]  # type: ignore[method-assign]
    session._sequence -= 1  # as after 64 requests
    with pytest.raises(SilenceError):
        session.ask(CHASSIS)


@pytest.mark.parametrize("latency_s", [0.0, 0.3])
def test_requests_keep_their_pace(latency_s: float) -> None:
    it = one_bmc(latency_s=latency_s)
    session = it.opened()
    for _ in range(4):
        session.ask(CHASSIS)
    gaps = [after - before for before, after in zip(it.fake.times, it.fake.times[1:], strict=False)]
    assert min(gaps) >= PACE_S - 1e-6


def test_no_secret_reaches_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    it = one_bmc()
    session = it.opened()
    session.ask(CHASSIS)
    keys = it.fake.sessions.open[next(iter(it.fake.sessions.open))].keys or ()
    text = caplog.text + repr(session.login)
    assert "Get Chassis Status" in text
    assert not any(secret in text for secret in (PASSWORD, *(key.hex() for key in keys), repr(keys)[1:20]))
