"""A drive that cannot be read does not matter beside one that can."""

from typing import Any

import pytest

from base.errors import BmcAuthError, BmcTransientError
from testing.fakes.fleet.fleet import Fault
from tests.unit.wires.redfish.one_bmc import OneBmc

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
