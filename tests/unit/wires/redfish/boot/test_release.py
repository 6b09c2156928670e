"""What a release restores, and what it leaves to a warning because the BMC refuses it."""

from pathlib import Path

import pytest

from base.errors import BmcRefusedError
from providers.bmc_host.engine import BmcHostEngine
from providers.bmc_host.model import AsFound
from testing.fakes.bmc import UUID, FakeBmc
from testing.fakes.clock import FakeClock
from testing.fakes.fleet.fleet import Fault
from testing.server_under_test import ServerUnderTest, server
from wires.bmc.client import BootOverride, SecureBoot

PATCH = "PATCH .*/Systems/"


def leave_an_override(it: ServerUnderTest) -> None:
    """Leave the server as a run that stops between the boot override and the power-on."""
    bmc = it.bmc()
    bmc.set_override("Cd", "Once")
    bmc.close()


@pytest.mark.parametrize("vendor", ["supermicro", "supermicro_x13", "ami", "gigabyte", "generic", "generic_mode"])
@pytest.mark.parametrize("installs", [True, False], ids=["installed", "only-taken-over"])
def test_a_server_found_as_legacy_leaves_as_legacy(tmp_path: Path, vendor: str, *, installs: bool) -> None:
    """Issue 42, 4: to Supermicro and AMI the mode goes with an override, and a disabled one was not sent again."""
    with server(tmp_path, vendor) as it:
        it.fleet.change(mode="Legacy")
        found = it.take_over()
        if installs:
            it.install()
            assert it.is_installed()
        assert it.release(found) == []
        state = it.fleet.state()
        assert (state.mode, state.enabled, it.lines[-1]) == ("Legacy", "Disabled", "off, boot override as found")


@pytest.mark.parametrize(
    "vendor", ["generic", "generic_mode", "hpe", "hpe_target", "hpe_ilo4", "supermicro", "dell3"]
)
def test_an_override_that_a_killed_run_left_is_cleared(tmp_path: Path, vendor: str) -> None:
    """Issue 42, 9: a BMC that refused Disabled beside None failed each release."""
    with server(tmp_path, vendor) as it:
        found = it.take_over()
        leave_an_override(it)
        assert it.release(found) == []
        state = it.fleet.state()
        assert (state.power, state.enabled) == ("Off", "Disabled")


@pytest.mark.parametrize("status", [400, 405, 500, 503])
def test_an_override_that_stays_is_a_warning_and_the_server_is_off(tmp_path: Path, status: int) -> None:
    with server(tmp_path) as it:
        it.fleet.change(0, image="nfs://192.0.2.9/rescue.iso")
        found = it.take_over()
        leave_an_override(it)
        it.fleet.fault(Fault(PATCH, "status", status=status))
        (fault,) = it.release(found)
        assert f"set the boot override to None: HTTP {status}" in str(fault)
        state = it.fleet.state()
        assert (state.power, state.image, state.target, it.lines[-1]) == ("Off", "", "Cd", "off")


REFUSED = BmcRefusedError("HTTP 400")


def released(found: AsFound, *taken: tuple[str, str], **state: object) -> FakeBmc:
    """Release a server from a BMC that takes these targets and modes to end its override, Cd Once."""
    fake = FakeBmc(FakeClock(), sticky=False, override=BootOverride("Cd", "Once", "UEFI"), **state)  # type: ignore[arg-type]

    def refuse(target: str, _: str, mode: str) -> None:
        if (target, mode) not in taken:
            raise REFUSED

    fake.refuse_override = refuse
    engine = BmcHostEngine(fake, fake.clock, lambda _: None, "h0", UUID, 300)
    assert bool(engine.release(found)) is (fake.override.enabled != "Disabled")
    return fake


@pytest.mark.parametrize(
    ("taken", "write"),
    [
        ([("None", "")], "override None Disabled"),
        ([("", "")], "override Disabled"),
        ([("Cd", "")], "override Cd Disabled"),
        ([("None", "UEFI")], "override None Disabled UEFI"),
        ([("", "UEFI")], "override Disabled UEFI"),
        ([("Cd", "UEFI")], "override Cd Disabled UEFI"),
        ([("Cd", "UEFI"), ("", "")], "override Disabled"),
        ([], ""),
    ],
    ids=["none", "alone", "target", "mode", "alone-mode", "target-mode", "two", "nothing"],
)
def test_an_override_is_disabled_in_the_first_form_that_is_taken(taken: list[tuple[str, str]], write: str) -> None:
    assert released(AsFound(), *taken).writes == [*([write] if write else [])]


def test_what_is_refused_keeps_nothing_else_from_being_restored() -> None:
    secure = SecureBoot(enabled=True, keys="UserMode")
    found = AsFound(override=BootOverride("None", "Disabled", "Legacy"), secure_boot="off")
    assert released(found, secure=secure).writes == ["secure boot False", "mode Legacy"]


def test_the_mode_that_goes_with_each_override_is_that_of_the_record() -> None:
    found = AsFound(override=BootOverride("None", "Disabled", "Legacy"))
    assert released(found, ("None", "Legacy"), boot_mode="UEFI").writes == ["override None Disabled Legacy"]
