"""An iDRAC9 before 6.00, which boots its virtual CD by attributes; and what is missing, for a moment or for good."""

from pathlib import Path

import pytest

from base.errors import BmcRefusedError
from testing.fakes.clock import FakeClock
from testing.fakes.fleet.fleet import Fault
from testing.server_under_test import server
from tests.unit.wires.redfish.one_bmc import OneBmc
from wires.bmc.steps import Steps, run_steps

MANAGER = "/redfish/v1/Managers/iDRAC.Embedded.1"
LINKED = f"{MANAGER}/Oem/Dell/DellAttributes/iDRAC.Embedded.1"
OLDER = f"{MANAGER}/Attributes"
FROM_CD = {"ServerBoot.1.FirstBootDevice": "VCD-DVD", "ServerBoot.1.BootOnce": "Enabled"}
FROM_DISK = {"ServerBoot.1.FirstBootDevice": "Normal", "ServerBoot.1.BootOnce": "Disabled"}


def steps(it: OneBmc) -> Steps:
    clock = FakeClock()
    return Steps(it.client(), clock, clock.now() + 3600)


@pytest.mark.parametrize(
    ("it", "path"), [("dell5", LINKED), ("dell4", OLDER)], indirect=["it"], ids=["linked", "not-linked"]
)
def test_attributes_are_written_where_linked_else_at_the_older_path(it: OneBmc, path: str) -> None:
    to = steps(it)
    run_steps(to.override("Cd"), to.clock)
    assert (it.writes, it.bodies) == ([f"PATCH {path}"], [{"Attributes": FROM_CD}])


@pytest.mark.parametrize("it", ["dell4"], indirect=True)
def test_a_link_to_attributes_that_are_not_there_leads_to_the_older_path(it: OneBmc) -> None:
    it.says(f"GET {MANAGER}$", Links={"Oem": {"Dell": {"DellAttributes": [{"@odata.id": LINKED}]}}})
    to = steps(it)
    run_steps(to.override("Cd"), to.clock)
    assert (it.writes, it.bodies) == ([f"PATCH {OLDER}"], [{"Attributes": FROM_CD}])


@pytest.mark.parametrize("it", ["dell5"], indirect=True)
def test_a_boot_from_cd_that_was_not_used_is_taken_back(it: OneBmc) -> None:
    to = steps(it)
    run_steps(to.override("Cd"), to.clock)
    run_steps(to.override_as_found("", ""), to.clock)
    assert it.bodies[-2:] == [
        {"Attributes": FROM_DISK},
        {"Boot": {"BootSourceOverrideTarget": "None", "BootSourceOverrideEnabled": "Disabled"}},
    ]


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (Fault("Attributes", "status", status=404, text="{}"), "cannot read the boot attributes: HTTP 404"),
        (Fault("Systems/System.Embedded.1$", "says", says={"Actions": {}}), "#ComputerSystem.Reset"),
    ],
    ids=["path", "action"],
)
def test_what_is_not_there_is_no_reason_to_wait_25_minutes(tmp_path: Path, fault: Fault, why: str) -> None:
    with server(tmp_path, "dell5") as it:
        it.fleet.fault(fault)
        began = it.clock.now()
        with pytest.raises(BmcRefusedError, match=why) as caught:
            it.take_over()
        assert type(caught.value) is BmcRefusedError
        assert it.clock.now() - began < 180
        assert it.fleet.figures().resets == {}


def test_a_bmc_that_starts_up_and_answers_404_for_a_minute_is_waited_for(tmp_path: Path) -> None:
    with server(tmp_path, "dell5") as it:
        it.fleet.fault(Fault("Attributes", "status", status=404, text="{}"))
        over = it.clock.now() + 60
        it.clock.on_sleep = lambda now: it.fleet.heal() if now >= over else None
        it.from_start_to_end()
        assert it.is_installed()
