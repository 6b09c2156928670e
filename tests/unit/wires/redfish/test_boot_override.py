"""The boot override: where it is checked, with which mode, and what ends a wait for it."""

from pathlib import Path

import pytest

from base.errors import BmcError, BmcRefusedError, BmcTransientError
from testing.fakes.clock import FakeClock
from testing.server_under_test import server
from tests.unit.wires.redfish.one_bmc import SYSTEM, OneBmc
from wires.bmc.steps import Steps, run_steps

CD_ONCE = {"BootSourceOverrideTarget": "Cd", "BootSourceOverrideEnabled": "Once"}
SYSTEM_OF_OPENBMC = "/redfish/v1/Systems/system"
SETTINGS = "/redfish/v1/Systems/System_0/Settings"


def steps(it: OneBmc) -> Steps:
    clock = FakeClock()
    return Steps(it.client(), clock, clock.now() + 3600)


def test_an_override_in_redfish_settings_waits_there_for_the_next_reset(tmp_path: Path) -> None:
    with server(tmp_path, "gb300") as it:
        began = it.clock.now()
        it.from_start_to_end()
        assert it.is_installed()
        assert it.clock.now() - began < 600


@pytest.mark.parametrize("it", ["gb300"], indirect=True)
def test_an_override_that_waits_in_settings_is_written_once(it: OneBmc) -> None:
    to = steps(it)
    run_steps(to.override("Cd"), to.clock)
    assert (it.writes, it.bodies) == ([f"PATCH {SETTINGS}"], [{"Boot": CD_ONCE}])


@pytest.mark.parametrize("it", ["gb300"], indirect=True)
def test_an_override_that_only_settings_show_is_written_again(it: OneBmc) -> None:
    it.says(f"GET {SETTINGS}$", Boot={**CD_ONCE, "BootSourceOverrideTarget@Redfish.AllowableValues": ["Cd"]})
    to = steps(it)
    run_steps(to.override("Cd"), to.clock)
    assert (it.writes, it.bodies) == ([f"PATCH {SETTINGS}"], [{"Boot": CD_ONCE}])


@pytest.mark.parametrize("it", ["gb300"], indirect=True)
def test_an_override_that_still_waits_in_settings_is_taken_back(it: OneBmc) -> None:
    to = steps(it)
    run_steps(to.override("Cd"), to.clock)
    run_steps(to.override_as_found("", ""), to.clock)
    assert it.bodies[-1] == {
        "Boot": {"BootSourceOverrideTarget": "None", "BootSourceOverrideEnabled": "Disabled"},
    }


@pytest.mark.parametrize("it", ["supermicro"], indirect=True)
def test_supermicro_gets_the_mode_of_its_host(it: OneBmc) -> None:
    to = steps(it)
    run_steps(to.override("Cd"), to.clock)
    wanted = {
        "BootSourceOverrideTarget": "UsbCd",
        "BootSourceOverrideEnabled": "Once",
        "BootSourceOverrideMode": "UEFI",
    }
    assert it.bodies == [{"Boot": wanted}]


@pytest.mark.parametrize("it", ["supermicro"], indirect=True)
@pytest.mark.parametrize(("mode", "sent"), [("Legacy", "Legacy"), ("", "UEFI")])
def test_an_override_is_restored_with_the_mode_as_found(it: OneBmc, mode: str, sent: str) -> None:
    to = steps(it)
    run_steps(to.override_as_found("Pxe", "Continuous", mode), to.clock)
    assert it.bodies[-1]["Boot"]["BootSourceOverrideMode"] == sent


@pytest.mark.parametrize("it", ["supermicro"], indirect=True)
def test_an_override_of_another_mode_is_not_the_one_that_is_wanted(it: OneBmc) -> None:
    it.client().set_override("Cd", "Once")
    to = steps(it)
    run_steps(to.override("Cd"), to.clock)
    assert len(it.writes) == 1
    as_legacy = {"BootSourceOverrideTarget": "UsbCd", "BootSourceOverrideMode": "Legacy"}
    it.says(f"GET {SYSTEM}$", Boot={**CD_ONCE, **as_legacy, "BootSourceOverrideTarget@Redfish.AllowableValues": []})
    with pytest.raises(BmcRefusedError, match="reads UsbCd Once Legacy 60 s later"):
        run_steps(to.override("Cd"), to.clock)
    assert len(it.writes) == 2


@pytest.mark.parametrize(
    ("message_id", "error", "writes"),
    [("Base.1.8.PropertyNotWritable", BmcRefusedError, 2), ("IDRAC.2.8.SYS518", BmcTransientError, 1)],
    ids=["in-any-form", "for-the-moment"],
)
def test_an_override_that_is_refused_is_sent_whole_once(
    it: OneBmc, message_id: str, error: type[BmcError], writes: int
) -> None:
    it.answers("PATCH", 400, body={"error": {"code": message_id, "message": "not so"}})
    with pytest.raises(error, match="HTTP 400"):
        it.client().set_override("Cd", "Once")
    assert len(it.writes) == writes
    assert it.bodies[0] == {"Boot": CD_ONCE}


@pytest.mark.parametrize("it", ["openbmc"], indirect=True)
def test_a_boot_without_a_mode_is_whole_without_one(it: OneBmc) -> None:
    """OpenBMC refuses a change of what it does not have."""
    it.says(f"GET {SYSTEM_OF_OPENBMC}$", Boot={**CD_ONCE, "BootSourceOverrideTarget@Redfish.AllowableValues": ["Cd"]})
    it.answers("PATCH", 400)
    with pytest.raises(BmcRefusedError, match="HTTP 400"):
        it.client().set_override("Cd", "Once")
    assert it.bodies == [{"Boot": CD_ONCE}]
