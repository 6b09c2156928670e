"""SushyBmc against a small service: where a deed goes, and what is sent."""

from collections.abc import Iterator
from typing import Any

import pytest

from providers.base.errors import BmcError, BmcTransientError
from testing.fakes.redfish_service import MANAGER, SYSTEM, FakeService, collection, drive, service, started
from wires.redfish.bmc import BootOverride, Power


@pytest.fixture(params=[SYSTEM, MANAGER], ids=["media-on-system", "media-on-manager"])
def any_home(request: pytest.FixtureRequest) -> Iterator[FakeService]:
    yield from started(service(request.param))


@pytest.fixture
def system_home() -> Iterator[FakeService]:
    yield from started(service(SYSTEM))


def test_the_drive_is_found_wherever_it_lives(any_home: FakeService) -> None:
    bmc = any_home.bmc()
    assert bmc.media() is None
    bmc.insert("http://192.0.2.1/x.iso")
    posts = [line for line in any_home.seen if line.startswith("POST")]
    assert len(posts) == 1
    assert posts[0].endswith("/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia")
    assert any_home.bodies == [{"Image": "http://192.0.2.1/x.iso"}]
    any_home.seen.clear()
    assert bmc.media() is None
    assert len(any_home.seen) == 1
    bmc.close()


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
def test_inserted_decides_not_the_image_name(
    system_home: FakeService, fields: dict[str, Any], media: str | None
) -> None:
    system_home.documents[f"{SYSTEM}/VirtualMedia/Cd"].update(fields)
    bmc = system_home.bmc()
    assert bmc.media() == media
    bmc.close()


def test_the_boot_mode_is_not_sent(system_home: FakeService) -> None:
    bmc = system_home.bmc()
    bmc.set_override("Cd", "Once")
    assert system_home.bodies == [{"Boot": {"BootSourceOverrideTarget": "Cd", "BootSourceOverrideEnabled": "Once"}}]
    bmc.close()


@pytest.mark.parametrize(("want", "sent"), [(Power.ON, "On"), (Power.OFF, "ForceOff")], ids=["on", "off"])
def test_power_is_asked_for_by_what_can_be_verified(system_home: FakeService, want: Power, sent: str) -> None:
    bmc = system_home.bmc()
    bmc.request_power(want)
    assert system_home.bodies == [{"ResetType": sent}]
    bmc.close()


def test_a_drive_that_refuses_is_passed_over_for_the_next(system_home: FakeService) -> None:
    shelf = f"{SYSTEM}/VirtualMedia"
    system_home.documents[shelf] = collection(shelf, f"{shelf}/Kvm", f"{shelf}/Bare", f"{shelf}/Cd")
    system_home.documents[f"{shelf}/Kvm"] = drive(f"{shelf}/Kvm", "CD")
    system_home.documents[f"{shelf}/Bare"] = {**drive(f"{shelf}/Bare", "CD"), "Actions": {}}
    system_home.answers[f"POST {shelf}/Kvm/Actions/VirtualMedia.InsertMedia"] = (400, '{"error": {"message": "no"}}')
    bmc = system_home.bmc()
    bmc.insert("http://192.0.2.1/x.iso")
    posts = [line.split("/")[-3] for line in system_home.seen if line.startswith("POST")]
    assert posts == ["Kvm", "Cd"]
    system_home.documents[f"{shelf}/Cd"].update(Image="http://192.0.2.1/x.iso", Inserted=True)
    assert bmc.media() == "http://192.0.2.1/x.iso"
    bmc.close()


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ('{"error": {"message": "no"}}', BmcError, r"cannot insert the boot ISO: HTTP 400 \(no\)"),
        ('{"error": {"message": "iLO.2.14.UnableToModifyDuringSystemPOST"}}', BmcTransientError, "HTTP 400"),
    ],
    ids=["for-good", "not-now"],
)
def test_when_every_drive_refuses_the_last_answer_is_told(
    system_home: FakeService, text: str, kind: type[BmcError], message: str
) -> None:
    system_home.answers[f"POST {SYSTEM}/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia"] = (400, text)
    bmc = system_home.bmc()
    with pytest.raises(BmcError, match=message) as caught:
        bmc.insert("http://192.0.2.1/x.iso")
    assert type(caught.value) is kind
    bmc.close()


def test_the_drive_with_an_image_is_the_one_in_use(system_home: FakeService) -> None:
    shelf = f"{SYSTEM}/VirtualMedia"
    system_home.documents[shelf] = collection(shelf, f"{shelf}/1", f"{shelf}/2")
    system_home.documents[f"{shelf}/1"] = drive(f"{shelf}/1", "CD")
    system_home.documents[f"{shelf}/2"] = drive(f"{shelf}/2", "CD", image="nfs://x/rescue.iso")
    bmc = system_home.bmc()
    assert bmc.media() == "nfs://x/rescue.iso"
    bmc.eject()
    assert system_home.seen[-1] == f"POST {shelf}/2/Actions/VirtualMedia.EjectMedia"
    bmc.close()


@pytest.mark.parametrize(
    ("offered", "sent"),
    [(["UsbCd", "Pxe"], "UsbCd"), (["Pxe", "Hdd"], "")],
    ids=["as-usb", "none"],
)
def test_a_boot_target_is_one_that_is_offered(system_home: FakeService, offered: list[str], sent: str) -> None:
    system_home.documents[SYSTEM]["Boot"]["BootSourceOverrideTarget@Redfish.AllowableValues"] = offered
    bmc = system_home.bmc()
    if sent:
        bmc.set_override("Cd", "Once")
        assert system_home.bodies[0]["Boot"]["BootSourceOverrideTarget"] == sent
    else:
        with pytest.raises(BmcError, match="boot override Cd is not offered; Hdd, Pxe are"):
            bmc.set_override("Cd", "Once")
    bmc.close()


def test_a_reset_that_is_not_offered_is_never_sent(system_home: FakeService) -> None:
    reset = system_home.documents[SYSTEM]["Actions"]["#ComputerSystem.Reset"]
    reset["ResetType@Redfish.AllowableValues"] = ["ForceOn", "GracefulShutdown"]
    bmc = system_home.bmc()
    bmc.request_power(Power.ON)
    assert system_home.bodies == [{"ResetType": "ForceOn"}]
    with pytest.raises(BmcError, match="reset ForceOff is not offered; ForceOn, GracefulShutdown are"):
        bmc.request_power(Power.OFF)
    bmc.close()


def test_an_idrac9_before_6_boots_its_virtual_cd_by_attributes(system_home: FakeService) -> None:
    system_home.documents[SYSTEM]["Manufacturer"] = "Dell Inc."
    system_home.documents[MANAGER] |= {"Model": "14G Monolithic", "FirmwareVersion": "5.10.50.00"}
    attributes = {"ServerBoot.1.FirstBootDevice": "Normal", "ServerBoot.1.BootOnce": "Disabled"}
    system_home.documents[f"{MANAGER}/Attributes"] = {"Attributes": attributes}
    bmc = system_home.bmc()
    assert bmc.boot_override().target == "Hdd"
    bmc.set_override("Cd", "Once")
    wanted = {"ServerBoot.1.FirstBootDevice": "VCD-DVD", "ServerBoot.1.BootOnce": "Enabled"}
    assert (system_home.seen[-1], system_home.bodies) == (f"PATCH {MANAGER}/Attributes", [{"Attributes": wanted}])
    attributes.update(wanted)
    assert bmc.boot_override() == BootOverride("Cd", "Once", "UEFI")
    bmc.close()


def test_a_bmc_that_cannot_be_used_says_what_to_do(system_home: FakeService) -> None:
    system_home.documents[SYSTEM]["Manufacturer"] = "Dell Inc."
    system_home.documents[MANAGER] |= {"Model": "13G Monolithic", "FirmwareVersion": "2.75.75.75"}
    bmc = system_home.bmc()
    for _ in range(2):
        with pytest.raises(BmcError, match=r"iDRAC8.*install this server by hand"):
            bmc.identity()
    bmc.close()
