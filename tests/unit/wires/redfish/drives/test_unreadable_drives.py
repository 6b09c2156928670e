"""A drive that cannot be read does not matter beside one that can."""

from typing import Any

import pytest

from base.errors import BmcAuthError, BmcTransientError
from testing.fakes.fleet.fleet import Fault
from tests.unit.wires.redfish.one_bmc import OneBmc, one_bmc
from wires.redfish.sushy_bmc import UNREAD

URL = "http://192.0.2.1/x.iso"
BROKEN = [
    pytest.param({"kind": "status", "status": 500}, id="500"),
    pytest.param({"kind": "status", "status": 404}, id="404"),
    pytest.param({"kind": "malformed"}, id="no-json"),
    pytest.param({"kind": "empty"}, id="empty"),
    pytest.param({"kind": "status", "status": 200, "body": {}}, id="no-name"),
    pytest.param({"kind": "status", "status": 200, "body": []}, id="no-object"),
]
FLOPPY, CD = "GET .*/Floppy$", "GET .*/Cd$"


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_drive_beside_a_good_one_is_left_out(it: OneBmc, fault: dict[str, Any]) -> None:
    it.fleet.fault(Fault(FLOPPY, **fault))
    it.client().insert(URL)
    assert it.fleet.figures().inserts == [URL]


@pytest.mark.parametrize("fault", BROKEN)
def test_the_only_cd_is_waited_for_while_it_is_broken(it: OneBmc, fault: dict[str, Any]) -> None:
    it.fleet.fault(Fault(CD, **fault, times=1))
    bmc = it.client()
    with pytest.raises(BmcTransientError, match="cannot read the virtual CD"):
        bmc.media()
    assert bmc.media() is None


@pytest.mark.parametrize("fault", [each for each in BROKEN if each.id != "404"])
def test_an_image_in_a_drive_that_fails_for_a_while_is_seen_and_ejected(fault: dict[str, Any]) -> None:
    """Of two like drives with images in both, the first one boots."""
    with one_bmc("dell_r750") as it:
        it.fleet.change(0, image=URL)
        it.fleet.fault(Fault("GET .*/VirtualMedia/1$", **fault, times=2))
        bmc = it.client()
        for _ in range(2):
            with pytest.raises(BmcTransientError, match="cannot read the virtual CD"):
                bmc.media()
        assert bmc.media() == URL
        bmc.eject()
        assert it.writes[-1].endswith("/VirtualMedia/1/Actions/VirtualMedia.EjectMedia")


def test_a_drive_that_fails_for_good_is_left_out_beside_a_good_one() -> None:
    with one_bmc("dell_r750") as it:
        it.fleet.fault(Fault("GET .*/VirtualMedia/1$", "status", status=500))
        bmc = it.client()
        for _ in range(UNREAD):
            with pytest.raises(BmcTransientError, match="cannot read the virtual CD drive 1: HTTP 500"):
                bmc.media()
        assert bmc.media() is None
        bmc.insert(URL)
        assert it.fleet.figures().inserts == [URL]


@pytest.mark.parametrize("status", [400, 501])
def test_a_drive_that_the_bmc_refuses_to_read_is_left_out_at_once(status: int) -> None:
    """Whoever waits gets the same answer."""
    with one_bmc("dell_r750") as it:
        it.fleet.fault(Fault("GET .*/VirtualMedia/1$", "status", status=status))
        bmc = it.client()
        assert bmc.media() is None
        bmc.insert(URL)
        assert it.fleet.figures().inserts == [URL]


@pytest.mark.parametrize(
    ("fault", "error"),
    [({"kind": "status", "status": 403}, BmcAuthError), ({"kind": "reset"}, BmcTransientError)],
    ids=["forbidden", "no-answer"],
)
def test_what_is_wrong_with_the_bmc_is_no_fault_of_one_drive(
    it: OneBmc, fault: dict[str, Any], error: type[Exception]
) -> None:
    it.fleet.fault(Fault(FLOPPY, **fault))
    with pytest.raises(error):
        it.client().media()
