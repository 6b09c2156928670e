"""A BMC that starts up and has not its list of drives yet (issue 42, 3)."""

from pathlib import Path

import pytest

from base.errors import BmcTransientError
from testing.fakes.fleet.fleet import Fault
from testing.server_under_test import NAME, server
from tests.unit.wires.redfish.one_bmc import OneBmc
from wires.bmc.client import Power

NOT_YET = Fault("GET.*/VirtualMedia$", "status", status=404, times=3)


@pytest.mark.parametrize("vendor", ["generic", "generic_system", "gigabyte"])
@pytest.mark.parametrize("phase", ["take-over", "installation", "release"])
def test_the_list_of_drives_is_waited_for(tmp_path: Path, vendor: str, phase: str) -> None:
    with server(tmp_path, vendor) as it:
        if phase == "take-over":
            it.fleet.fault(NOT_YET)
        found = it.take_over()
        if phase == "installation":
            it.fleet.fault(NOT_YET)
        it.install()
        assert it.is_installed()
        if phase == "release":
            it.fleet.change(0, image=it.media.publish(NAME))
            it.fleet.fault(NOT_YET)
        it.release(found)
        assert (it.fleet.state().power, it.fleet.state().image) == (Power.OFF, "")


@pytest.mark.parametrize("it", ["generic_system"], indirect=True)
def test_a_list_that_is_not_there_is_no_obstacle_where_another_one_is(it: OneBmc) -> None:
    it.says("GET.*/Managers/1$", VirtualMedia={"@odata.id": "/redfish/v1/Managers/1/VirtualMedia"})
    assert it.client().media() is None


def test_a_check_says_that_the_list_is_not_there(it: OneBmc) -> None:
    it.answers("GET.*/VirtualMedia$", 404)
    with pytest.raises(BmcTransientError, match=r"cannot read the virtual CD: HTTP 404.*Fix: wait until the BMC"):
        it.client().media()
