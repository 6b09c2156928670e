"""What a capture keeps of values, and what becomes a pseudonym."""

import re
from typing import Any

import pytest

from wires.redfish.capture.pseudonyms import LONGEST, Pseudonyms

FIRST = "00000000-0000-4000-8000-000000000001"


def masked(document: dict[str, Any], *known: str) -> dict[str, Any]:
    return Pseudonyms([document], *known).masked(document)


@pytest.mark.parametrize(
    "path",
    [
        "Systems/System.Embedded.1/VirtualMedia/RemovableDisk",
        "Managers/iDRAC.Embedded.1/Oem/Dell/DellAttributes/LifecycleController.Embedded.1",
        "Managers/Self/Actions/Oem/AMIVirtualMedia.EnableRMedia",
        "Systems/HGX_Baseboard_0",
        "Managers/Bluefield_BMC/VirtualMedia/RDOC1/Actions/VirtualMedia.InsertMedia",
        "Systems/DGX/SD",
        "Managers/1/VirtualMedia/EXT4/",
        "Systems/system/VirtualMedia/Slot_0",
    ],
)
def test_a_path_of_a_captured_tree_stays(path: str) -> None:
    assert Pseudonyms([]).path(f"/redfish/v1/{path}") == f"/redfish/v1/{path}"


@pytest.mark.parametrize(
    "part",
    [
        *("437XR1138R2", "WZP23450ABC", "4B7K1S2", "db01", "rack-7", "acme", "123", "Self~1", "Systém"),
        *("aa:bb:cc:dd:ee:01", "10.20.30.40", "fd00::1"),
    ],
)
def test_a_part_of_a_path_that_no_bmc_has_by_its_model_is_replaced(part: str) -> None:
    assert Pseudonyms([]).path(f"/redfish/v1/Systems/{part}") == "/redfish/v1/Systems/masked-1"


def test_a_known_path_part_is_masked_if_it_identifies_the_machine() -> None:
    assert Pseudonyms([{"AssetTag": "X"}], "sys-lab").path("Systems/1") == "Systems/1"
    assert Pseudonyms([{"SerialNumber": "R2-XCC-I7Q"}]).path("Systems/R2-XCC-I7Q") == "Systems/masked-1"


@pytest.mark.parametrize(
    "version", ["7.10.30.00", "iLO 5 v2.72", "U46 v1.64 (01/02/2024)", "25.07-1-ga1b2c3d", "1.4b"]
)
def test_a_version_stays(version: str) -> None:
    """The quirks go by it, and an iDRAC's has the form of an address."""
    assert masked({"FirmwareVersion": version}) == {"FirmwareVersion": version}


@pytest.mark.parametrize(
    "secret",
    [
        "AA:BB:CC:DD:EE:01",
        "aa-bb-cc-dd-ee-01",
        "fd00:1:2::40",
        "jdoe@acme.example",
        "https://x.example/y?token=z",
        "ab12" * 16,
        "10.20.30.40",
    ],
)
def test_a_text_has_no_value_of_this_form(secret: str) -> None:
    assert masked({"Model": f"R750 {secret}"}) == {"Model": "R750 masked-1"}


@pytest.mark.parametrize(
    "name",
    ["AssetTag", "HostName", "LicenseKey", "Password", "SNMPCommunity", "SerialNumber", "UserName", "Contact_Mail"],
)
def test_a_text_has_no_value_of_an_identifying_name(name: str) -> None:
    document = {"Oem": {"Contoso": [{name: "qwErty"}]}, "Model": "R750 QWERTY-x"}
    assert re.fullmatch(r"R750 (masked-1|SERIAL0001)-x", masked(document)["Model"])


def test_a_text_has_the_pseudonym_of_a_uuid() -> None:
    uuid = "4c4c4544-0042-3510-8059-b4c04f4b4b33"
    assert masked({"UUID": uuid, "Model": f"R750 {uuid.upper()}"}) == {"UUID": FIRST, "Model": f"R750 {FIRST}"}


def test_a_login_and_an_address_are_in_no_text() -> None:
    assert masked({"Model": "R750 of j.doe"}, "j.doe") == {"Model": "R750 of masked-1"}


def test_a_shared_uuid_stays_and_a_unique_one_is_masked_in_either_case() -> None:
    shared = "03000200-0400-0500-0006-000700080009"
    own = "4c4c4544-0042-3510-8059-b4c04f4b4b33"
    places = Pseudonyms([])
    assert places.masked({"UUID": shared}) == {"UUID": shared}
    assert places.masked({"UUID": own, "SerialNumber": "X"}) == {"UUID": FIRST, "SerialNumber": "X"}
    assert places.masked({"UUID": own.upper(), "SerialNumber": "AB1"}) == {
        "UUID": FIRST,
        "SerialNumber": "SERIAL0001",
    }


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("PowerState", "PoweringOn", "PoweringOn"),
        ("PowerState", "on rack 7", "masked-1"),
        ("PowerState", 1, "masked-1"),
        ("BootSourceOverrideMode", None, None),
        ("MediaTypes", ["CD", "CZJ12345AB"], ["CD", "masked-1"]),
        ("ServerBoot.1.FirstBootDevice", "VCD-DVD", "VCD-DVD"),
        ("Inserted", True, True),
        ("Inserted", "CZJ12345AB", "masked-1"),
        ("Boot", "CZJ12345AB", "masked-1"),
        ("Boot", {"Note": "CZJ12345AB"}, {}),
        ("Model", {"Note": "CZJ12345AB"}, {}),
        ("Members", [{"Id": "1", "Name": "db01"}, "db01"], [{"Id": "1", "Name": "masked-1"}, "masked-1"]),
        ("DisplayName", "db01 of Contoso", "masked-1"),
        ("MessageId", "IDRAC.2.8.VRM0012", "IDRAC.2.8.VRM0012"),
        ("MessageId", "Base.CZJ12345AB", "masked-1"),
        ("Description", "anything", "absent"),
        ("Users.1.UserName", "root", "absent"),
    ],
)
def test_a_value_is_kept_if_its_name_and_its_form_are_listed(name: str, value: Any, shown: Any) -> None:
    assert masked({name: value}).get(name, "absent") == shown


def test_names_of_actions_and_vendors_stay_and_unknown_names_are_removed() -> None:
    document = {
        "Actions": {"#VirtualMedia.InsertMedia": {"target": "/redfish/v1/x"}, "#a b": {}},
        "Oem": {"Ami": {}, "CZJ12345AB": {}, "Contoso": {"CZJ": {"Model": "x"}, "VirtualMediaConfig": {"Key": "x"}}},
        "Parameters": [{"Name": "ResetType", "AllowableValues": ["On"]}],
    }
    assert masked(document) == {
        "Actions": {"#VirtualMedia.InsertMedia": {"target": "/redfish/v1/masked-1"}},
        "Oem": {"Ami": {}, "Contoso": {"VirtualMediaConfig": {}}},
        "Parameters": [{"Name": "ResetType", "AllowableValues": ["On"]}],
    }


def test_a_text_that_no_machine_has_is_replaced_as_a_whole() -> None:
    long = "xy" * LONGEST
    assert masked({"Model": long, "BiosVersion": long[:LONGEST]}) == {
        "Model": "masked-1",
        "BiosVersion": long[:LONGEST],
    }
    assert Pseudonyms([]).path(f"/{'cd-' * LONGEST}") == "/masked-1"
