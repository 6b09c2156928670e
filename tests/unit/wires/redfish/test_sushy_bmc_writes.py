"""SushyBmc against a BMC of the fake fleet: the target and the body of each write."""

from typing import Any

import pytest

from base.errors import BmcError, BmcRefusedError, BmcTransientError
from tests.unit.wires.redfish.one_bmc import MANAGER, RESET, SYSTEM, OneBmc
from wires.bmc.client import BootOverride, Power

URL = "http://192.0.2.1/x.iso"
DRIVE = f"GET {MANAGER}/VirtualMedia/Cd$"
INSERT = f"POST {MANAGER}/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia"
ALLOWED = "BootSourceOverrideTarget@Redfish.AllowableValues"
BOOT = {
    "BootSourceOverrideTarget": "Hdd",
    "BootSourceOverrideEnabled": "Once",
    "BootSourceOverrideMode": "UEFI",
    ALLOWED: ["Hdd", "Cd"],
}


def offers_resets(it: OneBmc, *types: str) -> None:
    """Have the system offer these types of reset, and no others."""
    reset = {"target": RESET.removeprefix("POST "), "ResetType@Redfish.AllowableValues": [*types]}
    it.says(f"GET {SYSTEM}$", Actions={"#ComputerSystem.Reset": reset})


@pytest.mark.parametrize(
    ("it", "owner"), [("generic_system", SYSTEM), ("generic", MANAGER)], indirect=["it"], ids=["system", "manager"]
)
def test_the_drive_is_found_below_the_system_or_the_manager(it: OneBmc, owner: str) -> None:
    bmc = it.client()
    assert bmc.media() is None
    bmc.insert(URL)
    assert it.writes == [f"POST {owner}/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia"]
    assert it.bodies == [{"Image": URL}]
    it.fleet.forget()
    assert bmc.media() == URL
    assert it.lines == [f"GET {owner}/VirtualMedia/Cd"]


@pytest.mark.parametrize("it", ["generic_system"], indirect=True)
def test_where_a_drive_is_listed_in_both_places_the_newer_one_is_used(it: OneBmc) -> None:
    older = f"{MANAGER}/VirtualMedia"
    insert = {"target": f"{older}/Cd/Actions/VirtualMedia.InsertMedia"}
    it.says(f"GET {MANAGER}$", VirtualMedia={"@odata.id": older})
    it.answers(f"GET {older}$", body={"@odata.id": older, "Name": "x", "Members": [{"@odata.id": f"{older}/Cd"}]})
    drive = {"@odata.id": f"{older}/Cd", "Id": "Cd", "Name": "x", "MediaTypes": ["CD"], "Inserted": False}
    it.answers(DRIVE, body={**drive, "Actions": {"#VirtualMedia.InsertMedia": insert}})
    it.client().insert(URL)
    assert it.writes == [f"POST {SYSTEM}/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia"]
    assert f"GET {older}/Cd" in it.lines


@pytest.mark.parametrize(
    ("fields", "media"),
    [
        ({"Image": "http://x/a.iso", "Inserted": True}, "http://x/a.iso"),
        ({"Image": "http://x/a.iso", "Inserted": False}, None),
        ({"Image": "http://x/a.iso", "Inserted": True, "ConnectedVia": "NotConnected"}, None),
        ({"Image": None, "ImageName": None, "Inserted": True}, "an unnamed image"),
        ({"Image": "", "Inserted": False}, None),
    ],
    ids=["inserted", "name-kept-after-eject", "not-connected", "unnamed", "empty"],
)
def test_media_are_reported_by_inserted_and_not_by_the_image_name(
    it: OneBmc, fields: dict[str, Any], media: str | None
) -> None:
    it.says(DRIVE, **{"ConnectedVia": None, **fields})
    assert it.client().media() == media


@pytest.mark.parametrize(
    ("named", "ejects"), [("http://x/a.iso", 1), (None, 0)], ids=["out-and-still-named", "empty"]
)
def test_an_image_that_the_drive_still_names_is_ejected_before_an_insert(
    it: OneBmc, named: str | None, ejects: int
) -> None:
    it.says(DRIVE, Image=named, Inserted=False, ConnectedVia="NotConnected")
    bmc = it.client()
    assert bmc.media() is None
    bmc.insert(URL)
    assert it.writes == [INSERT.replace("Insert", "Eject")] * ejects + [INSERT]


def test_the_boot_mode_is_not_sent(it: OneBmc) -> None:
    it.client().set_override("Cd", "Once")
    assert it.writes == [f"PATCH {SYSTEM}"]
    assert it.bodies == [{"Boot": {"BootSourceOverrideTarget": "Cd", "BootSourceOverrideEnabled": "Once"}}]


@pytest.mark.parametrize(
    ("before", "want", "sent"), [("Off", Power.ON, "On"), ("On", Power.OFF, "ForceOff")], ids=["on", "off"]
)
def test_power_is_requested_by_a_reset_that_can_be_verified(it: OneBmc, before: str, want: Power, sent: str) -> None:
    it.fleet.change(power=before)
    it.client().request_power(want)
    assert (it.writes, it.bodies) == ([RESET], [{"ResetType": sent}])


@pytest.mark.parametrize(
    ("allowed", "sent"),
    [
        (["On", "ForceOff", "PushPowerButton", "GracefulShutdown"], "GracefulShutdown"),
        (["On", "ForceOff", "PushPowerButton"], "PushPowerButton"),
    ],
    ids=["graceful", "an-older-ilo"],
)
def test_a_shutdown_is_left_to_the_operating_system(it: OneBmc, allowed: list[str], sent: str) -> None:
    it.fleet.change(power="On")
    offers_resets(it, *allowed)
    it.takes(RESET)
    it.client().request_shutdown()
    assert (it.writes, it.bodies) == ([RESET], [{"ResetType": sent}])


@pytest.mark.parametrize("reads", ["Off", "PoweringOff"])
def test_the_power_button_is_pressed_only_on_what_is_on(it: OneBmc, reads: str) -> None:
    """It would switch on a server that went off by itself right before."""
    offers_resets(it, "On", "ForceOff", "PushPowerButton")
    it.takes(RESET)
    bmc = it.client()
    bmc.power()
    it.says(f"GET {SYSTEM}$", PowerState=reads)
    with pytest.raises(BmcTransientError, match="its power button was not pressed, since its power reads"):
        bmc.request_shutdown()
    assert it.writes == []


def test_a_server_that_can_only_be_cut_off_is_not(it: OneBmc) -> None:
    offers_resets(it, "On", "ForceOff")
    with pytest.raises(BmcRefusedError, match="reset GracefulShutdown is not offered; ForceOff, On are"):
        it.client().request_shutdown()
    assert it.writes == []


@pytest.mark.parametrize("it", ["openbmc"], indirect=True)
@pytest.mark.parametrize("status", [400, 405])
def test_after_a_drive_refuses_the_next_one_is_tried(it: OneBmc, status: int) -> None:
    it.answers("POST.*/Slot_1/", status, body={"error": {"message": "no"}})
    bmc = it.client()
    bmc.insert(URL)
    assert [line.split("/")[-3] for line in it.writes] == ["Slot_1", "Slot_2"], "Slot_0 has no action"
    it.fleet.forget()
    assert bmc.media() == URL
    assert [line.split("/")[-1] for line in it.lines] == ["Slot_2"]


@pytest.mark.parametrize("it", ["openbmc"], indirect=True)
@pytest.mark.parametrize("status", [403, 409, 500])
def test_a_refusal_that_is_not_the_drives_is_not_tried_in_the_next_one(it: OneBmc, status: int) -> None:
    it.answers("POST.*/Slot_1/", status, body={"error": {"message": "no"}})
    with pytest.raises(BmcError, match=f"HTTP {status}"):
        it.client().insert(URL)
    assert [line.split("/")[-3] for line in it.writes] == ["Slot_1"]


def test_a_drive_that_takes_no_disc_is_never_the_one(it: OneBmc) -> None:
    it.says(DRIVE, MediaTypes=["USBStick"])
    with pytest.raises(BmcRefusedError, match="no virtual CD drive"):
        it.client().insert(URL)
    assert it.writes == []


@pytest.mark.parametrize(
    ("message", "kind", "text"),
    [
        ("no", BmcRefusedError, r"cannot insert the boot ISO: HTTP 400 \(no\)"),
        ("iLO.2.14.UnableToModifyDuringSystemPOST", BmcTransientError, "HTTP 400"),
    ],
    ids=["for-good", "not-now"],
)
def test_when_every_drive_refuses_the_error_has_the_last_answer(
    it: OneBmc, message: str, kind: type[BmcError], text: str
) -> None:
    it.answers(INSERT, 400, body={"error": {"message": message}})
    with pytest.raises(BmcError, match=text) as caught:
        it.client().insert(URL)
    assert type(caught.value) is kind


@pytest.mark.parametrize("it", ["openbmc"], indirect=True)
def test_the_drive_that_holds_an_image_is_the_one_in_use(it: OneBmc) -> None:
    it.fleet.change(image="nfs://x/rescue.iso")
    bmc = it.client()
    assert bmc.media() == "nfs://x/rescue.iso"
    bmc.eject()
    path = "/redfish/v1/Managers/bmc/VirtualMedia/Slot_2/Actions/VirtualMedia.EjectMedia"
    assert it.lines[-1] == f"POST {path}"


@pytest.mark.parametrize(
    ("offered", "sent"),
    [(["UsbCd", "Pxe"], "UsbCd"), (["Pxe", "Hdd"], "")],
    ids=["as-usb", "none"],
)
def test_only_an_offered_boot_target_is_sent(it: OneBmc, offered: list[str], sent: str) -> None:
    it.says(f"GET {SYSTEM}$", Boot={**BOOT, ALLOWED: offered})
    it.takes("PATCH")
    bmc = it.client()
    if sent:
        bmc.set_override("Cd", "Once")
        assert it.bodies[0]["Boot"]["BootSourceOverrideTarget"] == sent
    else:
        with pytest.raises(BmcRefusedError, match="boot override Cd is not offered; Hdd, Pxe are"):
            bmc.set_override("Cd", "Once")
        assert it.writes == []


def test_a_reset_that_is_not_offered_is_never_sent(it: OneBmc) -> None:
    offers_resets(it, "ForceOn", "GracefulShutdown")
    it.takes(RESET)
    bmc = it.client()
    bmc.request_power(Power.ON)
    assert it.bodies == [{"ResetType": "ForceOn"}]
    with pytest.raises(BmcRefusedError, match="reset ForceOff is not offered; ForceOn, GracefulShutdown are"):
        bmc.request_power(Power.OFF)
    assert it.writes == [RESET]


def test_an_idrac9_before_6_boots_its_virtual_cd_by_attributes(it: OneBmc) -> None:
    def shows(attributes: dict[str, str]) -> None:
        it.fleet.heal()
        it.says(f"GET {SYSTEM}$", Manufacturer="Dell Inc.", Boot=BOOT)
        it.says(f"GET {MANAGER}$", Model="14G Monolithic", FirmwareVersion="5.10.50.00")
        it.answers(f"GET {MANAGER}/Attributes$", body={"Attributes": attributes})
        it.takes(f"PATCH {MANAGER}/Attributes$")

    shows({"ServerBoot.1.FirstBootDevice": "Normal", "ServerBoot.1.BootOnce": "Disabled"})
    bmc = it.client()
    assert bmc.boot_override().target == "Hdd"
    bmc.set_override("Cd", "Once")
    wanted = {"ServerBoot.1.FirstBootDevice": "VCD-DVD", "ServerBoot.1.BootOnce": "Enabled"}
    assert (it.lines[-1], it.bodies) == (f"PATCH {MANAGER}/Attributes", [{"Attributes": wanted}])
    shows({**wanted, "ServerBoot.1.BootOnce": "Disabled"})
    assert bmc.boot_override().target == "Hdd", "it would boot its CD for good"
    shows(wanted)
    assert bmc.boot_override() == BootOverride("Cd", "Once", "UEFI")


def test_an_unsupported_bmc_is_an_error_with_its_fix(it: OneBmc) -> None:
    it.says(f"GET {SYSTEM}$", Manufacturer="Dell Inc.")
    it.says(f"GET {MANAGER}$", Model="13G Monolithic", FirmwareVersion="2.75.75.75")
    bmc = it.client()
    for _ in range(2):
        with pytest.raises(BmcRefusedError, match=r"iDRAC8.*leave this host out"):
            bmc.identity()
    assert it.writes == []


@pytest.mark.parametrize(
    ("it", "inserts", "ejects"),
    [
        (
            "lenovo_patch",
            [{"Image": URL, "Inserted": True, "WriteProtected": True}],
            [{"Image": None, "Inserted": False}],
        ),
        (
            "hpe_ilo4",
            [{"Image": URL, "Inserted": True, "WriteProtected": True}, {"Image": URL}],
            [{"Image": None, "Inserted": False}, {"Image": None}],
        ),
    ],
    indirect=["it"],
    ids=["lenovo", "ilo4"],
)
def test_a_drive_without_actions_is_patched_with_what_it_takes(it: OneBmc, inserts: Any, ejects: Any) -> None:
    """Issue 42, 16: an iLO4 refuses Inserted, and Lenovo attaches nothing without it."""
    bmc = it.client()
    bmc.insert(URL)
    assert (it.bodies, it.fleet.state().image) == (inserts, URL)
    it.fleet.forget()
    assert bmc.media() == URL
    bmc.eject()
    assert (it.bodies, it.fleet.state().image) == (ejects, "")


@pytest.mark.parametrize("it", ["lenovo_patch"], indirect=True)
def test_a_patch_that_is_refused_for_its_image_is_sent_once(it: OneBmc) -> None:
    it.answers("PATCH", 400, body={"error": {"message": "the image was not found"}})
    with pytest.raises(BmcRefusedError, match="the image was not found"):
        it.client().insert(URL)
    assert len(it.writes) == 1
