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
from testing.documents import table
from testing.fakes.bmc import UUID
from testing.fakes.ipmi.traits import TRAITS, Traits
from testing.ipmi_server_under_test import MAC, NAME, IpmiServer
from wires.bmc.client import BootOverride, Power

CONTROL, SET_BOOT, CHASSIS = (0, 2), (0, 8), (0, 1)
PERSISTENT_PXE = bytes.fromhex("e004000000")
IGNORED = "ignores boot flags for one boot"
Change = Callable[[IpmiServer], object]


def having(**values: object) -> Change:
    return lambda it: vars(it.fake).update(values)


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


INSTALLED: dict[str, Change] = {
    "loses one datagram in twenty, each way": having(loss=0.05),
    "loses one datagram in ten, each way": having(loss=0.1),
    "answers after 0.3 s": having(latency_s=0.3),
    "answers after 1.2 s": having(latency_s=1.2),
    "loses its answers to three requests for power": having(lost_answers=3),
    "sends strange, doubled and changed datagrams": having(noise=True),
    "has the boot flags of an earlier run": having(flags=PERSISTENT_PXE),
    "changes the power after 8 s": late_power(8),
    "changes the power after 50 s": late_power(50),
    "is asked to boot long after its flags were set": slow_media,
    "is busy (C0h) with power": answering(CONTROL, 0xC0, 0xC0, 0xC0),
    "is busy (C0h) with boot flags": answering(SET_BOOT, 0xC0, 0xC0),
    "may or may not have switched power (C3h, CEh, FFh)": answering(CONTROL, 0xC3, 0xCE, 0xFF),
    "starts up (FFh, D1h, D2h, D5h)": answering(CHASSIS, 0xFF, 0xD1, 0xD2, 0xD5),
    **{f"restarts after {at} s, for 90 s": resetting(after_s=at) for at in (5, 20, 40, 70, 110, 160)},
}
REFUSED: dict[str, tuple[Traits, Change, type[BmcError], str]] = {
    "has a key of its own, K_g": (
        Traits(own_key=b"k" * 20),
        having(),
        BmcAuthError,
        "key of its own.*Fix: remove K_g",
    ),
    "has neither suite 17 nor suite 3": (Traits(suites=()), having(), BmcAuthError, "17 and 3.*Fix: allow cipher"),
    "refuses power for want of a privilege (D4h)": (
        Traits(),
        answering(CHASSIS, *[0xD4] * 9),
        BmcRefusedError,
        r"0xd4\. Fix: give the user",
    ),
    "has no free session": (Traits(slots=0), having(), BmcTimeoutError, "no free session.*Fix: end other"),
    "is silent": (
        Traits(),
        having(silent_until=1e9),
        BmcTimeoutError,
        "no answer.*Fix: .* IPMI over LAN.* write redfish://",
    ),
    "has no boot flags": (Traits(flags=False), having(), BmcRefusedError, "read the boot flags.*0xc1"),
    "reports neither UUID nor serial, and the consent names one": (
        TRAITS["virtualbmc"],
        having(),
        BmcIdentityError,
        f"known only by its boot MAC, .*consent.{NAME}' {MAC}$",
    ),
}


def test_the_document_lists_what_is_tried() -> None:
    rows = table("explanation/servers.md", "what an IPMI BMC does")
    ends = {**dict.fromkeys(INSTALLED, "installed"), **dict.fromkeys(REFUSED, "error"), IGNORED: "error"}
    assert {row["what an IPMI BMC does"]: row["end"] for row in rows} == ends


@pytest.mark.parametrize("fault", INSTALLED.values(), ids=INSTALLED)
def test_a_server_is_installed_in_spite_of(fault: Change) -> None:
    it = IpmiServer()
    fault(it)
    installed(it)


def test_a_whole_life_takes_few_datagrams() -> None:
    it = IpmiServer()
    installed(it)
    assert sum(it.requests) < 150, it.requests


def test_flags_of_an_earlier_run_are_set_anew_as_they_may_expire() -> None:
    it = IpmiServer()
    it.take_over()
    it.fake.flags = bytes.fromhex("a004000000")
    it.install()
    assert it.fake.log.count((*SET_BOOT, bytes.fromhex("05a004000000"))) == 1


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


def test_a_shutdown_is_left_to_the_operating_system() -> None:
    it = IpmiServer()
    it.take_over()
    bmc = it.bmc()
    bmc.request_power(Power.ON)
    it.clock.sleep(10)
    bmc.request_shutdown()
    it.clock.sleep(it.fake.server.shutdown_s - 1)
    assert bmc.power() is Power.ON
    it.clock.sleep(2)
    assert bmc.power() is Power.OFF


@pytest.mark.parametrize(("traits", "fault", "kind", "why"), REFUSED.values(), ids=REFUSED)
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


def test_a_bmc_that_ignores_flags_for_one_boot_installs_nothing() -> None:
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
