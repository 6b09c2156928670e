"""How a host boots: checked before anything is touched, set, proven, and restored as found."""

from pathlib import Path
from typing import Any

import pytest

from base.errors import BmcRefusedError
from testing.fakes.bmc import FakeBmc
from testing.fakes.clock import FakeClock
from testing.fakes.fleet.fleet import Fault
from testing.fakes.fleet.vendors import VENDORS
from testing.server_under_test import ServerUnderTest, server
from tests.unit.wires.redfish.test_writes import only_planned
from wires.bmc.boot_mode import BootMode, SecureBootProof, check_boot_mode
from wires.bmc.client import BootOverride, SecureBoot
from wires.bmc.steps import Steps, run_steps

SECURE, LEGACY = "UEFISecureBoot", "Legacy"
POST_S = 900
READY = SecureBoot(enabled=False, current="Disabled", keys="UserMode")


def bmc(wanted: str = SECURE, secure: SecureBoot | None = READY, **state: Any) -> FakeBmc:
    return FakeBmc(FakeClock(), wanted_mode=wanted, secure=secure, **state)


def set_up(fake: FakeBmc) -> None:
    steps = Steps(fake, fake.clock, fake.clock.now() + 3600)
    run_steps(BootMode(steps, POST_S).set_up(), fake.clock)


def put_back(fake: FakeBmc, mode: str, secure_boot: str) -> list[str]:
    steps = Steps(fake, fake.clock, fake.clock.now() + 3600)
    return run_steps(BootMode(steps).as_found(mode, secure_boot), fake.clock)


@pytest.mark.parametrize(
    ("fake", "why"),
    [
        pytest.param(bmc(secure=None), "bootMode UEFISecureBoot: the BMC has no Secure Boot. Fix: write", id="none"),
        pytest.param(bmc(secure=SecureBoot()), "does not report SecureBootEnable. Fix: write", id="unreported"),
        pytest.param(
            bmc(secure=SecureBoot(enabled=False, keys="SetupMode")), "reads SetupMode.*Fix: enrol", id="setup"
        ),
        pytest.param(bmc(secure=SecureBoot(enabled=True, keys="AuditMode")), "reads AuditMode", id="audit"),
        pytest.param(bmc(modes=("Legacy",)), "bootMode UEFISecureBoot is not offered; Legacy is", id="no-uefi"),
        pytest.param(bmc(LEGACY, modes=("UEFI",)), "bootMode Legacy is not offered; UEFI is. Fix:", id="no-legacy"),
        pytest.param(bmc("UEFI", modes=("Legacy",)), "bootMode UEFI is not offered; Legacy is", id="uefi"),
    ],
)
def test_what_a_bmc_cannot_do_is_refused_by_name(fake: FakeBmc, why: str) -> None:
    with pytest.raises(BmcRefusedError, match=why):
        check_boot_mode(fake)
    assert fake.writes == []


@pytest.mark.parametrize("wanted", ["UEFI", LEGACY])
def test_a_host_that_does_not_want_secure_boot_keeps_its_own(wanted: str) -> None:
    """As in metal3, where UEFI sets no `secure_boot`."""
    fake = bmc(wanted, SecureBoot(enabled=True, keys="SetupMode"), override=BootOverride("Hdd", "Once", wanted))
    assert check_boot_mode(fake) is None
    set_up(fake)
    assert fake.writes == []


@pytest.mark.parametrize(
    ("wanted", "mode", "writes"),
    [
        ("UEFI", "UEFI", []),
        ("UEFI", "", []),
        ("UEFI", "Legacy", ["mode UEFI"]),
        (LEGACY, "UEFI", ["mode Legacy"]),
        (SECURE, "Legacy", ["mode UEFI", "secure boot True"]),
    ],
)
def test_what_reads_otherwise_is_set_and_nothing_else(wanted: str, mode: str, writes: list[str]) -> None:
    fake = bmc(wanted, override=BootOverride("Hdd", "Once", mode))
    set_up(fake)
    assert fake.writes == writes
    set_up(fake)
    assert fake.writes == writes, "it is as wanted now"


def test_a_mode_that_goes_with_each_override_is_not_set_separately() -> None:
    fake = bmc("UEFI", override=BootOverride("Hdd", "Once", "Legacy"), boot_mode="UEFI")
    set_up(fake)
    assert fake.writes == []


IN_SETUP = ["override BiosSetup Once", "On", "Off"]


def test_a_pending_change_is_applied_in_the_firmwares_own_setup() -> None:
    """A job of an iDRAC; what is on the disk, perhaps an older cluster, must not run."""
    fake = bmc(by_job=True, disk="older", sticky=False)
    set_up(fake)
    assert fake.writes == ["secure boot True", *IN_SETUP]
    assert (fake.secure, fake.is_up()) == (SecureBoot(enabled=True, current="Enabled", keys="UserMode"), False)


def test_a_job_that_a_killed_run_left_is_taken_for_the_change() -> None:
    fake = bmc(by_job=True, sticky=False)
    fake.set_secure_boot(enabled=True)

    def committed(request: str) -> None:
        if request == "set_secure_boot":
            raise BmcRefusedError("cannot switch Secure Boot on: HTTP 400 (IDRAC.2.14.SYS011)")

    fake.fault = committed
    set_up(fake)
    assert fake.writes == ["secure boot True", *IN_SETUP]
    assert fake.secure is not None
    assert fake.secure.enabled


def test_a_pending_change_without_a_firmware_setup_boots_nothing() -> None:
    fake = bmc(by_job=True)

    def lacking(request: str) -> None:
        if request == "set_override":
            raise BmcRefusedError("boot override BiosSetup is not offered; Cd, Hdd are")

    fake.fault = lacking
    with pytest.raises(
        BmcRefusedError, match=r"Secure Boot on waits for the next power-on.*BiosSetup is not.*Fix: set it by"
    ):
        set_up(fake)
    assert fake.writes == ["secure boot True"]


def test_a_change_that_never_applies_is_an_error_with_the_host_off() -> None:
    fake = bmc(by_job=True, sticky=False)
    fake.lost = lambda _: setattr(fake, "_job", None)
    hidden = r"accepted Secure Boot on, and does not show it 900 s after power-on"
    with pytest.raises(BmcRefusedError, match=rf"{hidden}.*Fix: if .* raise deadlines\.host_s.*; else set"):
        set_up(fake)
    assert fake.writes == ["secure boot True", *IN_SETUP]


def test_a_refused_change_is_an_error_that_says_how_to_do_it_by_hand() -> None:
    fake = bmc("UEFI", override=BootOverride("Hdd", "Once", "Legacy"))

    def fixed(request: str) -> None:
        if request == "set_boot_mode":
            raise BmcRefusedError("cannot set the boot mode to UEFI: HTTP 400 (PropertyNotWritable)")

    fake.fault = fixed
    with pytest.raises(
        BmcRefusedError, match=r"boot mode to UEFI: HTTP 400.*Fix: set it by hand in the server's firmware"
    ):
        set_up(fake)
    assert fake.writes == []


@pytest.mark.parametrize(
    ("mode", "secure_boot", "writes"),
    [("", "", []), ("UEFI", "on", []), ("Legacy", "off", ["secure boot False", "mode Legacy"])],
    ids=["unknown", "same", "other"],
)
def test_what_was_found_is_restored_and_nothing_else(mode: str, secure_boot: str, writes: list[str]) -> None:
    fake = bmc(secure=SecureBoot(enabled=True, keys="UserMode"))
    assert put_back(fake, mode, secure_boot) == []
    assert fake.writes == writes


def test_a_change_that_waits_for_power_on_is_reported_without_error() -> None:
    fake = bmc(secure=SecureBoot(enabled=True, keys="UserMode"), by_job=True)
    assert put_back(fake, "UEFI", "off") == ["Secure Boot off"]
    assert fake.writes == ["secure boot False"]


@pytest.mark.parametrize(
    ("secure_boot", "proven"),
    [
        (SecureBoot(enabled=True, current="Enabled"), True),
        (SecureBoot(enabled=True), True),
        (SecureBoot(enabled=True, current="Disabled"), False),
        (SecureBoot(enabled=False, current="Enabled"), False),
        (None, False),
    ],
    ids=["in-force", "boot-unreported", "not-yet", "switched-off", "gone"],
)
def test_a_boot_is_proven_by_what_the_bmc_says_of_it(secure_boot: SecureBoot | None, proven: bool) -> None:
    fake = bmc(secure=secure_boot)
    proof = SecureBootProof(fake, fake.clock, POST_S)
    proof.check(last=False)
    assert proof.proven is proven
    if not proven:
        with pytest.raises(BmcRefusedError, match="it did not boot with Secure Boot"):
            proof.check(last=True)


def test_a_boot_that_is_not_proven_in_time_is_an_error() -> None:
    fake = bmc(secure=SecureBoot(enabled=True, current="Disabled", keys="UserMode"))
    proof = SecureBootProof(fake, fake.clock, POST_S)
    fake.clock.sleep(899)
    proof.check(last=False)
    fake.clock.sleep(1)
    with pytest.raises(
        BmcRefusedError, match=r"Enable reads on, SecureBootCurrentBoot Disabled, SecureBootMode UserMode, 900 s"
    ):
        proof.check(last=False)


def test_a_proven_boot_is_not_read_again() -> None:
    fake = bmc(secure=SecureBoot(enabled=True, current="Enabled"))
    proof = SecureBootProof(fake, fake.clock, POST_S)
    proof.check(last=False)
    before = fake.requests
    proof.check(last=True)
    assert fake.requests == before


NO_SECURE_BOOT = "the BMC has no Secure Boot"
NO_KEYS = "SecureBootMode reads SetupMode"
SECURELY = {
    **dict.fromkeys(("generic_system", "generic_http", "generic_tls", "generic_strict", "generic_mode"), ""),
    **dict.fromkeys(("no_hdd", "supermicro", "lenovo"), ""),
    **dict.fromkeys(("hpe", "hpe_target", "ami", "dgx"), ""),
    **dict.fromkeys(("dell", "dell_r750", "dell3", "dell4", "dell5", "dell10"), ""),
    **dict.fromkeys(("generic", "generic_name", "generic_whole"), NO_SECURE_BOOT),
    **dict.fromkeys(("hpe_ilo4", "lenovo_patch", "openbmc"), NO_SECURE_BOOT),
    **dict.fromkeys(("supermicro_x13", "gigabyte"), NO_KEYS),
    "gb300": "does not report SecureBootEnable",
}
"""By vendor, why Secure Boot is refused; empty if it is switched on."""
BY_JOBS = ("dell", "dell_r750", "dell3", "dell4", "dell5", "dell10")
"""Whose firmware applies a change at its next start."""


def test_every_vendor_has_an_expected_secure_boot_result() -> None:
    assert sorted(SECURELY) == sorted(VENDORS)


@pytest.mark.parametrize("vendor", VENDORS)
def test_each_vendors_server_boots_securely_or_is_refused_untouched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vendor: str
) -> None:
    with server(tmp_path, vendor) as it, only_planned(it, monkeypatch):
        it.boot_mode = SECURE
        if why := SECURELY[vendor]:
            with pytest.raises(BmcRefusedError, match=f"bootMode UEFISecureBoot: .*{why}"):
                it.take_over()
            assert it.fleet.figures().writes == []
            return
        as_found = it.take_over()
        assert (as_found.secure_boot, it.fleet.state().secure) == ("off", False)
        it.install()
        assert (it.is_installed(), it.fleet.state().secure) == (True, True)
        booted = it.fleet.figures().booted
        assert booted == [*(["setup"] if vendor in BY_JOBS else []), it.media.publish("okd-master-0"), "disk"]
        it.release(as_found)
        waits = vendor in BY_JOBS
        assert it.fleet.state().secure is waits
        assert ("from the next power-on, as found: Secure Boot off" in it.lines[-1]) is waits


OTHERWISE = {
    **dict.fromkeys(("generic", "generic_system", "generic_name", "lenovo", "lenovo_patch", "openbmc"), "UEFI"),
    **dict.fromkeys((vendor for vendor in BY_JOBS if vendor != "dell3"), "UEFI"),
    "hpe": "cannot set the boot mode to UEFI: HTTP 400.*PropertyNotWritable.*Fix: set it by hand",
}
"""By vendor that reports a boot mode, and does not get it with each override: that mode, or why it is not set."""


@pytest.mark.parametrize("vendor", OTHERWISE)
def test_a_server_that_boots_as_legacy_becomes_one_of_uefi(tmp_path: Path, vendor: str) -> None:
    with server(tmp_path, vendor) as it:
        it.fleet.change(mode="Legacy")
        as_found = it.take_over()
        assert as_found.override.mode == "Legacy"
        if OTHERWISE[vendor] != "UEFI":
            with pytest.raises(BmcRefusedError, match=OTHERWISE[vendor]):
                it.install()
            assert it.fleet.figures().booted == []
            return
        it.install()
        assert it.is_installed()
        it.release(as_found)
        assert bodies(it)[-1] == {"Boot": {"BootSourceOverrideMode": "Legacy"}}


def test_a_bmc_that_wants_the_whole_boot_gets_the_mode_beside_the_rest(tmp_path: Path) -> None:
    with server(tmp_path, "generic_whole") as it:
        it.fleet.change(mode="Legacy")
        as_found = it.take_over()
        it.install()
        assert it.is_installed()
        it.release(as_found)
        *_, part, whole = bodies(it)
        assert part == {"Boot": {"BootSourceOverrideMode": "Legacy"}}
        assert whole == {
            "Boot": {
                "BootSourceOverrideTarget": "None",
                "BootSourceOverrideEnabled": "Disabled",
                "BootSourceOverrideMode": "Legacy",
            }
        }


def bodies(it: ServerUnderTest) -> list[Any]:
    return it.fleet.figures().bodies


def test_firmware_that_enforces_nothing_is_an_error_before_the_disk_boots(tmp_path: Path) -> None:
    with server(tmp_path, "generic_system") as it:
        it.boot_mode = SECURE
        it.fleet.change(0, insecure=True)
        it.take_over()
        with pytest.raises(
            BmcRefusedError, match=r"it did not boot with Secure Boot: SecureBootEnable reads on.*Disabled"
        ):
            it.install()
        assert "disk" not in it.fleet.figures().booted


def test_a_lost_answer_to_the_switch_is_no_reason_to_send_it_again(tmp_path: Path) -> None:
    with server(tmp_path, "generic_system") as it:
        it.boot_mode = SECURE
        it.fleet.fault(Fault("PATCH .*SecureBoot$", "reset", times=1, applied=True))
        it.from_start_to_end()
        assert it.is_installed()
        assert bodies(it).count({"SecureBootEnable": True}) == 1


def test_a_missing_licence_is_an_error_before_anything_is_touched(tmp_path: Path) -> None:
    with server(tmp_path, "supermicro") as it:
        it.boot_mode = SECURE
        it.fleet.fault(Fault("GET .*SecureBoot$", "unlicensed"))
        with pytest.raises(
            BmcRefusedError, match=r"cannot read Secure Boot: HTTP 403, the BMC lacks a licence.*DCMS"
        ):
            it.take_over()
        assert it.fleet.figures().writes == []


def test_a_mode_that_the_bmc_does_not_allow_is_refused_untouched(tmp_path: Path) -> None:
    """A DGX H100 lists UEFI alone, and in @Redfish.Settings alone."""
    with server(tmp_path, "dgx") as it:
        it.boot_mode = LEGACY
        with pytest.raises(BmcRefusedError, match="bootMode Legacy is not offered; UEFI is"):
            it.take_over()
        assert it.fleet.figures().writes == []


def test_a_host_that_does_not_want_secure_boot_costs_no_request_for_it(tmp_path: Path) -> None:
    with server(tmp_path, "generic_system") as it:
        it.fleet.change(0, secure=True)
        it.release(it.take_over())
        assert it.fleet.state().secure
        assert not [line for line in it.fleet.figures().lines if "SecureBoot" in line]
