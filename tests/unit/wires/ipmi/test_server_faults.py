"""Faults of an IPMI BMC and their ends: servers are taken over, installed and released by the engines as they are."""

from collections.abc import Callable
from functools import partial

import pytest

from base.errors import (
    BmcAuthError,
    BmcError,
    BmcIdentityError,
    BmcRefusedError,
    BmcTimeoutError,
    OkdBaremetalError,
    ProvisioningError,
)
from testing.fakes.bmc import UUID
from testing.fakes.ipmi.traits import TRAITS, Traits
from testing.ipmi_server_under_test import MAC, NAME, IpmiServer
from wires.bmc.client import BootOverride, Power

CONTROL, SET_BOOT, CHASSIS = (0, 2), (0, 8), (0, 1)
PERSISTENT_PXE = bytes.fromhex("e004000000")
Change = Callable[[IpmiServer], object]


def having(**values: object) -> Change:
    return lambda it: [setattr(it.fake, name, value) for name, value in values.items()]


def late_power(seconds: float) -> Change:
    return lambda it: setattr(it.fake.server, "change_s", seconds)


def answering(request: tuple[int, int], *codes: int) -> Change:
    return lambda it: it.fake.codes.update({request: [*codes]})


def resetting(*, after_s: float) -> Change:
    return lambda it: it.after(after_s, partial(it.fake.reset, 90.0))


def slow_media(it: IpmiServer) -> None:
    """Have the flags of an earlier run expire while this run reads them."""
    it.media.makes = 30


def installed(it: IpmiServer) -> None:
    """Take over, install and release, and see the server as found, with no session left."""
    found = it.take_over()
    assert it.fake.server.state is Power.OFF
    it.install()
    assert it.is_installed, it.lines
    assert it.release(found) == []
    assert it.fake.server.state is Power.OFF
    assert it.open_sessions == 0


@pytest.mark.parametrize("name", TRAITS)
def test_a_server_of_each_kind_is_installed_and_released_as_found(name: str) -> None:
    has_uuid = TRAITS[name].guid in ("smbios", "rfc", "reversed")
    consent = UUID if has_uuid else MAC if TRAITS[name].fru == "none" else "SN-1"
    it = IpmiServer(TRAITS[name], consent=consent)
    it.fake.flags = PERSISTENT_PXE
    installed(it)
    as_found = PERSISTENT_PXE if TRAITS[name].uefi_bit else bytes.fromhex("c004000000")
    assert it.fake.flags == as_found


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(having(loss=0.05), id="loss-of-5-percent"),
        pytest.param(having(loss=0.1), id="loss-of-10-percent"),
        pytest.param(having(latency_s=0.3), id="latency"),
        pytest.param(having(latency_s=1.2), id="long-latency"),
        pytest.param(having(lost_answers=3), id="lost-answers-to-power"),
        pytest.param(having(noise=True), id="noise"),
        pytest.param(having(flags=PERSISTENT_PXE), id="flags-of-an-earlier-run"),
        pytest.param(late_power(8), id="late-power"),
        pytest.param(late_power(50), id="very-late-power"),
        pytest.param(slow_media, id="slow-media"),
        pytest.param(answering(CONTROL, 0xC0, 0xC0, 0xC0), id="busy"),
        pytest.param(answering(CONTROL, 0xC3, 0xCE, 0xFF), id="unknown-end"),
        pytest.param(answering(CHASSIS, 0xFF, 0xD1, 0xD2, 0xD5), id="starting-up"),
        pytest.param(answering(SET_BOOT, 0xC0, 0xC0), id="busy-with-flags"),
        *(pytest.param(resetting(after_s=at), id=f"reset-after-{at}-s") for at in (5, 20, 40, 70, 110, 160)),
    ],
)
def test_a_server_is_installed_in_spite_of(fault: Change) -> None:
    it = IpmiServer()
    fault(it)
    installed(it)


def test_a_whole_life_takes_few_datagrams() -> None:
    it = IpmiServer()
    installed(it)
    assert sum(it.requests) < 150, it.requests


def test_flags_are_sent_again_with_a_power_on_that_comes_late() -> None:
    """An older OpenBMC has no boot option 3, and forgets the flags after 60 s."""
    it = IpmiServer(TRAITS["openbmc"])
    it.take_over()
    bmc = it.bmc()
    bmc.set_override("Pxe", "Once")
    it.clock.sleep(61)
    it.media.makes = 0
    assert bmc.boot_override() == BootOverride("None", "Disabled")
    it.media.enable_boot("okd-master-0")
    bmc.request_power(Power.ON)
    it.clock.sleep(10)
    assert bmc.power() is Power.ON
    assert it.fake.server.booted_from == it.media.url("okd-master-0")


def test_flags_for_the_disk_are_not_sent_with_the_power_on_of_a_later_boot() -> None:
    it = IpmiServer()
    it.take_over()
    bmc = it.bmc()
    bmc.set_override("Pxe", "Once")
    it.clock.sleep(61)
    bmc.request_power(Power.OFF)
    it.fake.flags = bytes(5)
    bmc.request_power(Power.ON)
    assert it.fake.flags == bytes(5)


@pytest.mark.parametrize(
    ("traits", "fault", "kind", "why"),
    [
        pytest.param(
            Traits(own_key=b"k" * 20), having(), BmcAuthError, "key of its own.*Fix: remove K_g", id="own-key"
        ),
        pytest.param(Traits(suites=()), having(), BmcTimeoutError, "no cipher suite of 17 and 3", id="no-suite"),
        pytest.param(
            Traits(), answering(CONTROL, *[0xD4] * 9), BmcRefusedError, "0xd4. Fix: give the user", id="privilege"
        ),
        pytest.param(Traits(slots=0), having(), BmcTimeoutError, "no free session", id="no-session"),
        pytest.param(
            Traits(),
            having(silent_until=1e9),
            BmcTimeoutError,
            "no answer.*Fix: switch IPMI over LAN on",
            id="silent",
        ),
        pytest.param(
            TRAITS["virtualbmc"],
            having(),
            BmcIdentityError,
            f"known only by its boot MAC, .*consent.{NAME}' {MAC}$",
            id="nameless",
        ),
    ],
)
def test_a_bmc_that_cannot_be_used_is_refused_untouched(
    traits: Traits, fault: Change, kind: type[BmcError], why: str
) -> None:
    it = IpmiServer(traits)
    fault(it)
    with pytest.raises(kind, match=why):
        it.take_over()
    assert it.fake.server.state is Power.ON
    # One whose keys this side cannot make cannot be closed; it ends after a minute.
    assert it.open_sessions == (1 if traits.own_key else 0)


def test_a_wrong_password_is_tried_once() -> None:
    it = IpmiServer(password="wrong")
    with pytest.raises(BmcAuthError, match=r"the password is not the one.* Fix: correct the login \(bmc_credentials"):
        it.take_over()
    assert it.requests == [3]
    assert "wrong" not in "".join(it.lines)


def test_a_bmc_without_boot_flags_installs_nothing() -> None:
    it = IpmiServer(Traits(flags=False))
    with pytest.raises(BmcRefusedError, match=r"read the boot flags.*0xc1"):
        it.take_over()
    assert it.fake.server.state is Power.ON


def test_a_bmc_that_ignores_flags_for_one_boot_is_an_error_and_nothing_is_installed() -> None:
    it = IpmiServer(Traits(once_works=False))
    it.take_over()
    with pytest.raises(ProvisioningError, match="never asked for its boot script"):
        it.install()
    assert it.fake.server.installs == 0


def test_another_machine_is_not_touched() -> None:
    it = IpmiServer(consent="c0ffee00-0000-4000-8000-000000000002")
    with pytest.raises(OkdBaremetalError, match="nothing was changed"):
        it.take_over()
    assert it.fake.server.state is Power.ON
    assert {request[:2] for request in it.fake.log} <= {(6, 0x37), (0x0A, 0x10), (0x0A, 0x11)}
