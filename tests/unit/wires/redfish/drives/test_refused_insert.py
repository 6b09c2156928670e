"""The ends of an insert that a drive refuses in a body that no standard has (issue 42, 1)."""

import json
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from base.errors import BmcRefusedError, ProvisioningError
from testing.fakes.fleet.fleet import Fault
from testing.fakes.fleet.writes import READ_ONLY, refuse
from testing.server_under_test import server
from tests.unit.wires.redfish.one_bmc import OneBmc, one_bmc
from wires.bmc.client import Power
from wires.redfish.sushy_bmc import SushyBmc

URL = "http://192.0.2.1/x.iso"

WORDS = refuse(READ_ONLY, "no such method").document["error"]
"""What a BMC of the fleet says, as DSP0266 has it."""
[DETAIL] = WORDS["@Message.ExtendedInfo"]


def without(document: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in names}


def saying(**replaced: Any) -> str:
    return json.dumps({"error": WORDS | replaced})


def detailing(*details: Any) -> str:
    return json.dumps({"error": without(WORDS, "message") | {"@Message.ExtendedInfo": details}})


BODIES = {
    "empty": "",
    "text": "no such method",
    "html": "<html><title>405 no such method</title></html>",
    "json-null": "null",
    "json-list": "[]",
    "json-string": '"no such method"',
    "truncated": saying()[:-5],
    "no-error": "{}",
    "error-null": '{"error": null}',
    "error-string": '{"error": "no such method"}',
    "error-list": '{"error": ["no such method"]}',
    "code-null": saying(code=None),
    "code-number": saying(code=405),
    "message-null": json.dumps({"error": {"code": WORDS["code"], "message": None}}),
    "message-of-odata": json.dumps({"error": {"message": {"lang": "en", "value": "no such method"}}}),
    "details-null": saying(**{"@Message.ExtendedInfo": None}),
    "details-of-text": detailing("no such method", None, 7),
    "one-detail-without-its-list": saying(**{"@Message.ExtendedInfo": DETAIL}),
    "detail-without-severity": detailing(without(DETAIL, "Severity")),
    "detail-with-message-severity": detailing(without(DETAIL, "Severity") | {"MessageSeverity": "Critical"}),
    "detail-with-null-words": detailing(DETAIL | {"Message": None, "MessageArgs": None}),
    "detail-with-message-id-of-ilo4": detailing({"MessageID": DETAIL["MessageId"]}),
    "details-outside-of-error": json.dumps({"@Message.ExtendedInfo": [DETAIL]}),
}
"""The forms of issue 42, and more of the kind: those of trees 3; iLO 4's; Severity is deprecated in Message 1.1."""
MUTE = {
    "empty",
    "html",
    "json-null",
    "json-list",
    "truncated",
    "no-error",
    "error-null",
    "error-list",
}
"""The forms that say nothing that can be read."""


STATUSES = (400, 405, 501, 404)
"""The statuses with which a drive says that it takes no image; the last one passes on the only drive."""


@pytest.fixture(scope="module")
def openbmc() -> Iterator[OneBmc]:
    with one_bmc("openbmc") as it:
        yield it


def refusals(statuses: tuple[int, ...]) -> list[Any]:
    """Return each form with one of the statuses, so that each status comes with several forms."""
    pairs = zip(BODIES, cycle(statuses))
    return [pytest.param(form, status, id=f"{form}-{status}") for form, status in pairs]


@pytest.mark.parametrize(("form", "status"), refusals(STATUSES))
def test_the_next_drive_takes_the_image_whatever_the_first_one_says(openbmc: OneBmc, form: str, status: int) -> None:
    openbmc.fleet.heal()
    openbmc.fleet.change(0, images=dict.fromkeys(("Slot_1", "Slot_2"), ""))
    openbmc.fleet.forget()
    openbmc.answers("POST.*/Slot_1/", status, text=BODIES[form])
    openbmc.client().insert(URL)
    assert [line.split("/")[-3] for line in openbmc.writes] == ["Slot_1", "Slot_2"], "Slot_0 has no action"


@pytest.mark.parametrize(("form", "status"), refusals(STATUSES[:3]))
def test_the_only_drive_refuses_at_once_with_the_words_that_it_has(tmp_path: Path, form: str, status: int) -> None:
    with server(tmp_path) as it:
        it.take_over()
        began = it.clock.now()
        it.fleet.fault(Fault("POST.*InsertMedia", "status", status=status, text=BODIES[form]))
        with pytest.raises(ProvisioningError) as caught:
            it.install()
        said = str(caught.value)
        assert f"the BMC refuses the boot ISO from http://127.0.0.1:{it.media.server.port}" in said
        assert f"cannot insert the boot ISO: HTTP {status}" in said
        assert "not usable" not in said
        assert ("no such method" in said or WORDS["code"] in said) is (form not in MUTE)
        assert it.clock.now() == began


def insert_and_eject(bmc: SushyBmc) -> None:
    bmc.insert(URL)
    assert bmc.media() == URL
    bmc.eject()


ASKED: dict[str, tuple[str, Callable[[SushyBmc], object]]] = {
    "override": ("PATCH", lambda bmc: bmc.set_override("Cd", "Once")),
    "reset": ("POST.*Reset", lambda bmc: bmc.request_power(Power.ON)),
    "power": ("GET.*/Systems/system$", lambda bmc: bmc.power()),
    "eject": ("POST.*Eject", insert_and_eject),
    "session": ("POST.*/Sessions$", lambda bmc: bmc.identity()),
}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("form", ["error-string", "code-null", "json-list", "details-of-text"])
def test_any_other_request_is_refused_with_its_status(openbmc: OneBmc, asked: str, form: str) -> None:
    request, ask = ASKED[asked]
    openbmc.fleet.heal()
    openbmc.fleet.change(0, images=dict.fromkeys(("Slot_1", "Slot_2"), ""))
    openbmc.answers(request, 400, text=BODIES[form])
    with pytest.raises(BmcRefusedError, match="HTTP 400"):
        ask(openbmc.client(session=asked == "session"))
