"""Captures of BMCs: each is served by the fake fleet, and a server is installed through it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from base.errors import BmcAuthError, BmcRefusedError, BmcTransientError
from testing.fakes.fleet.fleet import Fault, Fleet, Options, running, uuid_of
from testing.fakes.fleet.unusable import UNUSABLE
from testing.fakes.fleet.vendors import VENDORS
from testing.server_under_test import server
from tests.unit.wires.redfish.one_bmc import MANAGER, PASSWORD, SYSTEM, OneBmc
from wires.bmc.access import BmcAccess
from wires.redfish.capture.tree import BmcCapture

UUID = "00000000-0000-4000-8000-000000000001"


def tree_of(fleet: Fleet, address: str = "", password: str = "", *, session: bool = False) -> dict[str, Any]:
    """Capture the first BMC of a fleet."""
    options = fleet.options
    access = BmcAccess(address=address or fleet.address(0), username=options.username, ca=fleet.ca, session=session)
    bmc = BmcCapture(access, SecretStr(password or options.password))
    try:
        return bmc.tree(lambda _: None)
    finally:
        bmc.close()


def captured(folder: Path, vendor: str, **state: Any) -> str:
    """Capture a BMC of a vendor into a file, and return its name."""
    with running(Options(vendors=(vendor,))) as fleet:
        fleet.change(**state)
        tree = tree_of(fleet)
        assert fleet.figures().writes == []
    file = folder / "capture.json"
    file.write_text(json.dumps(tree))
    return str(file)


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_server_is_installed_and_released_from_each_vendors_capture(tmp_path: Path, vendor: str) -> None:
    # A BMC of AMI's lists no drives before virtual media is switched on.
    with server(tmp_path, captured(tmp_path, vendor, media_enabled=True)) as it:
        it.uuid = UUID
        found = it.take_over()
        it.install()
        assert it.is_installed()
        it.release(found)
        state = it.fleet.state()
        assert (state.power, state.image, state.enabled) == ("Off", "", "Disabled")


# All but the one that is so in its answers to writes, which are no part of a capture.
@pytest.mark.parametrize("vendor", [name for name in UNUSABLE if name != "gb300_https"])
def test_a_bmc_that_cannot_be_used_is_refused_alike_through_its_capture(tmp_path: Path, vendor: str) -> None:
    def refusal(served: str, uuid: str) -> str:
        with server(tmp_path, served) as it:
            it.uuid = uuid
            with pytest.raises(BmcRefusedError) as caught:
                it.from_start_to_end()
            return caught.value.fault.what

    assert refusal(captured(tmp_path, vendor), UUID) == refusal(vendor, uuid_of(0))


def test_what_a_bmc_had_inserted_and_set_is_so_in_its_capture(tmp_path: Path) -> None:
    file = captured(tmp_path, "dell_r750", power="On", images={"2": "nfs://192.0.2.9/share/rescue.iso"}, target="Pxe")
    with running(Options(vendors=(file,))) as fleet:
        state = fleet.state()
    assert (state.power, state.target) == ("On", "Pxe")
    assert re.fullmatch(r"nfs://masked-\d+/masked-\d+/masked-\d+\.iso", state.image)


def test_a_stale_image_is_so_in_a_capture(tmp_path: Path) -> None:
    with running(Options(vendors=("supermicro_x13",))) as fleet:
        stale = {"Image": "http://192.0.2.9/rescue.iso", "Inserted": False}
        fleet.fault(Fault("GET .*/VirtualMedia1$", "says", says=stale))
        tree = tree_of(fleet)
    file = tmp_path / "capture.json"
    file.write_text(json.dumps(tree))
    with server(tmp_path, str(file)) as it:
        drive = tree_of(it.fleet)["resources"]["/redfish/v1/Managers/1/VirtualMedia/VirtualMedia1"]["body"]
        assert (drive["Image"][:14], drive["Inserted"]) == ("http://masked-", False)
        it.uuid = UUID
        it.from_start_to_end()
        assert it.is_installed()


@pytest.mark.parametrize("it", ["dell"], indirect=True)
def test_a_bmc_that_the_program_refuses_is_captured(tmp_path: Path, it: OneBmc) -> None:
    it.says("GET .*/iDRAC.Embedded.1$", Model="13G Monolithic", FirmwareVersion="2.75.75.75")
    file = tmp_path / "capture.json"
    file.write_text(json.dumps(tree_of(it.fleet)))
    with (
        server(tmp_path, str(file)) as again,
        pytest.raises(BmcRefusedError, match="an iDRAC8 boots its virtual CD only"),
    ):
        again.take_over()


@pytest.mark.parametrize("session", [False, True], ids=["basic", "session"])
def test_what_is_read_is_told_and_nothing_is_written(it: OneBmc, session: bool) -> None:
    told: list[str] = []
    access = BmcAccess(address=it.fleet.address(0), username=it.fleet.options.username, session=session)
    bmc = BmcCapture(access, SecretStr(PASSWORD))
    tree = bmc.tree(told.append)
    bmc.close()
    assert told == [
        *(SYSTEM, MANAGER, "/redfish/v1", "/redfish/v1/Systems", "/redfish/v1/Managers"),
        *(f"{SYSTEM}/{name}" for name in ("Processors", "EthernetInterfaces", "Storage")),
        f"{MANAGER}/VirtualMedia",
        *(f"{SYSTEM}/Processors/CPU.Socket.{number}" for number in (1, 2)),
        *(f"{SYSTEM}/EthernetInterfaces/NIC{number}" for number in (1, 2)),
        *(f"{SYSTEM}/Storage/1", f"{MANAGER}/VirtualMedia/Floppy", f"{MANAGER}/VirtualMedia/Cd"),
        *(f"{SYSTEM}/Storage/1/{name}" for name in ("Drives/0", "Drives/1", "Volumes")),
    ]
    assert list(tree["resources"]) == told
    assert len(it.writes) == (2 if session else 0), "a login and its end"


def test_the_same_value_has_the_same_pseudonym_everywhere(it: OneBmc) -> None:
    it.says("GET .*/Cd$", Image="https://joe:pw@10.20.30.40:8443/a/b.iso", ImageName="b.iso", Inserted=True)
    it.says("GET .*/Floppy$", Image="//10.20.30.40/a/b.iso/b.iso", ImageName=None)
    resources = tree_of(it.fleet)["resources"]
    full, twice = (resources[f"{MANAGER}/VirtualMedia/{name}"]["body"] for name in ("Cd", "Floppy"))
    host, folder, name = full["Image"].removeprefix("https://").split("/")
    assert (full["ImageName"], full["Inserted"]) == (name, True)
    assert twice["Image"] == f"//{host.removesuffix(':8443')}/{folder}/{name}/{name}"
    assert (host[-5:], name[-4:]) == (":8443", ".iso")
    assert resources["/redfish/v1"]["body"]["UUID"] == resources[SYSTEM]["body"]["UUID"] == UUID


def test_links_work_after_identifying_parts_of_paths_are_masked(tmp_path: Path, it: OneBmc) -> None:
    path, manager = "/redfish/v1/Systems/WZP23450ABC", "/redfish/v1/Managers/rack7-acme"
    links = {"Links": {"ManagedBy": [{"@odata.id": f"{manager}/"}]}, "SerialNumber": "WZP23450ABC", "UUID": None}
    target = {"target": f"{path}/Actions/ComputerSystem.Reset"}
    body = {"@odata.id": path, "Id": "WZP23450ABC", **links, "Actions": {"#ComputerSystem.Reset": target}}
    it.answers(f"GET {path}$", body={**body, "PowerState": "On", "Boot": {"BootSourceOverrideTarget": "None"}})
    it.answers(f"GET {manager}$", body={"Id": "x", "VirtualMedia": {"@odata.id": f"{MANAGER}/VirtualMedia"}})
    tree = tree_of(it.fleet, f"redfish-virtualmedia+{it.fleet.base(0)}{path}")
    text = json.dumps(tree)
    assert ("WZP23450ABC" in text, "acme" in text) == (False, False)
    system = tree["resources"][tree["system"]]["body"]
    name = tree["system"].removeprefix("/redfish/v1/Systems/")
    assert (system["Id"], system["SerialNumber"]) == (name, name)
    assert system["Links"]["ManagedBy"][0]["@odata.id"].rstrip("/") in tree["resources"]
    file = tmp_path / "capture.json"
    file.write_text(text)
    with server(tmp_path, str(file)) as again:
        again.uuid = name
        again.from_start_to_end()
        assert again.is_installed()


SERIAL, OTHER_UUID, DIGEST = "CZJ12345AB", "4c4c4544-0042-3510-8059-b4c04f4b4b33", "ab12" * 16
CANARIES = {
    "Password": "Tr0ub4dor",
    "LicenseKey": "35DPH-SVSXJ-HGBJN",
    "SessionToken": "9f8e7d6c5b4a",
    "SharedSecret": "canary-secret",
    "SNMPCommunity": "canary-community",
    "SerialNumber": SERIAL,
    "UUID": OTHER_UUID,
    "MACAddress": "aa:bb:cc:dd:ee:01",
    "HostName": "db01.acme.example",
    "AssetTag": "ACME-4711",
    "IPv4Address": "10.20.30.40",
    "IPv6Address": "fd00:1:2::40",
    "UserName": "j.doe-canary",
    "Contact": "jdoe@acme.example",
    "Image": f"http://10.20.30.40/{DIGEST}/h0.iso",
}
"""What must be in no capture, by a property that has it."""
FREE = f"the server {SERIAL} of jdoe@acme.example at 10.20.30.40"


def planted(it: OneBmc) -> None:
    """Have the BMC repeat each secret wherever there is room for it."""
    everywhere: dict[str, Any] = {
        **CANARIES,
        "Description": FREE,
        "Name": CANARIES["HostName"],
        "Oem": {"Contoso": {**CANARIES, "License": {"LicenseKey": CANARIES["LicenseKey"]}, "Note": FREE}},
        "Status": {"State": FREE},
    }
    texts = {"Manufacturer": f"Contoso {OTHER_UUID}", "Model": f"3500 {SERIAL} {CANARIES['IPv4Address']}"}
    texts["BiosVersion"] = f"1.2 {CANARIES['MACAddress']}"
    licence = {"LicenseString": f"iLO {CANARIES['LicenseKey']} {PASSWORD}", "Key": CANARIES["LicenseKey"]}
    firmware = " ".join(("2.3.4.5", *(CANARIES[name] for name in ("SharedSecret", "SNMPCommunity", "IPv6Address"))))
    manager = {**everywhere, "Model": CANARIES["UserName"], "FirmwareVersion": f"{firmware} {CANARIES['Contact']}"}
    boot = {"BootSourceOverrideTarget": CANARIES["SessionToken"], "HttpBootUri": CANARIES["Image"]}
    it.says(f"GET {SYSTEM}$", **everywhere, **texts, PowerState=FREE, Boot=boot, Id=CANARIES["HostName"])
    it.says(f"GET {MANAGER}$", **{**manager, "Oem": {**everywhere["Oem"], "Hpe": {"License": licence}}})
    it.says("GET /redfish/v1/?$", **everywhere, Vendor=FREE, Product=CANARIES["AssetTag"])
    it.says("GET .*/Cd$", **everywhere, ImageName="h0.iso", MediaTypes=[SERIAL], Actions={f"#{SERIAL}.Mount": {}})
    it.says(f"GET {SYSTEM}s$", **everywhere, Members=[{"@odata.id": f"/redfish/v1/Systems/{SERIAL}"}])
    detail = {"MessageId": f"Base.{SERIAL}", "Message": FREE, "MessageArgs": list(CANARIES.values())}
    error = {"error": {"code": FREE, "message": FREE, "@Message.ExtendedInfo": [detail]}}
    it.answers("GET .*/Floppy$", 403, body=error, headers={"Allow": FREE})


def test_a_capture_has_none_of_the_secrets_that_a_bmc_shows(it: OneBmc) -> None:
    planted(it)
    text = json.dumps(tree_of(it.fleet), ensure_ascii=False).lower()
    left = [name for name, value in CANARIES.items() if value.lower() in text]
    assert left == []
    for secret in (PASSWORD, DIGEST, "h0.iso", "acme", "doe", it.fleet.node(0), "127.0.0"):
        assert secret.lower() not in text
    assert ("2.3.4.5" in text, "3500" in text, "contoso" in text) == (True, True, True), "what the program goes by"


def test_a_resource_that_is_refused_is_captured_as_refused(it: OneBmc) -> None:
    error = {"error": {"@Message.ExtendedInfo": [{"MessageId": "SMC.1.0.OemLicenseNotPassed", "Message": "for X1"}]}}
    it.answers(f"GET {MANAGER}/VirtualMedia$", 403, body=error)
    refused = tree_of(it.fleet)["resources"][f"{MANAGER}/VirtualMedia"]
    told = {"error": {"@Message.ExtendedInfo": [{"MessageId": "SMC.1.0.OemLicenseNotPassed"}]}}
    assert refused == {"status": 403, "body": told}


def test_an_answer_that_is_no_document_is_captured_as_none(it: OneBmc) -> None:
    it.answers("GET .*/Floppy$", text="<html>")
    it.answers("GET .*/Cd$", body=["x"])
    resources = tree_of(it.fleet)["resources"]
    for name in ("Floppy", "Cd"):
        assert resources[f"{MANAGER}/VirtualMedia/{name}"] == {"status": 200, "body": None}


def test_a_link_to_another_server_is_not_followed(it: OneBmc) -> None:
    away = [{"@odata.id": f"{MANAGER}/VirtualMedia/Cd"}, {"@odata.id": "https://192.0.2.9/redfish/v1/x"}]
    it.says(f"GET {MANAGER}/VirtualMedia$", Members=away)
    tree = tree_of(it.fleet)
    assert {f"{MANAGER}/VirtualMedia", f"{MANAGER}/VirtualMedia/Cd"} < tree["resources"].keys()
    assert "192.0.2.9" not in json.dumps(tree)
    assert f"{MANAGER}/VirtualMedia/Floppy" not in tree["resources"]
    assert not any("GET /redfish/v1/x" in line for line in it.lines)


@pytest.mark.parametrize("it", ["gb300"], indirect=True)
def test_pending_settings_and_what_describes_an_action_are_captured(it: OneBmc) -> None:
    info = "/redfish/v1/Systems/System_0/ResetActionInfo"
    reset = {"#ComputerSystem.Reset": {"target": "/redfish/v1/x", "@Redfish.ActionInfo": info}}
    it.says("GET .*/System_0$", Actions=reset)
    it.answers(f"GET {info}$", body={"Parameters": [{"Name": "ResetType", "AllowableValues": ["On"], "Note": "x"}]})
    shown = {"SecureBootEnable": True, "SecureBootCurrentBoot": "Enabled", "SecureBootMode": "DeployedMode"}
    it.answers("GET .*/SecureBoot$", body={**shown, "SecureBootDatabases": {"@odata.id": "/redfish/v1/x"}})
    resources = tree_of(it.fleet)["resources"]
    assert resources["/redfish/v1/Systems/System_0/Settings"]["body"]["Boot"]["BootSourceOverrideTarget"] == "None"
    assert resources["/redfish/v1/Systems/System_0/SecureBoot"]["body"] == shown
    assert resources[info]["body"] == {"Parameters": [{"Name": "ResetType", "AllowableValues": ["On"]}]}


def test_a_refused_login_is_tried_once(it: OneBmc) -> None:
    with pytest.raises(BmcAuthError, match=r"refuses the credentials.*Fix: correct them.*bmc\.username"):
        tree_of(it.fleet, password="wrong")
    assert it.lines == [f"GET {SYSTEM}"]


def test_a_login_that_is_refused_in_between_ends_the_capture(it: OneBmc) -> None:
    it.answers("GET .*/Floppy$", 401)
    with pytest.raises(BmcAuthError, match=r"cannot read .*/Floppy: HTTP 401"):
        tree_of(it.fleet)


@pytest.mark.parametrize("it", ["openbmc"], indirect=True)
def test_other_systems_and_managers_are_not_read(it: OneBmc) -> None:
    tree = tree_of(it.fleet)
    others = {"/redfish/v1/Systems/HGX_Baseboard_0", "/redfish/v1/Managers/HGX_BMC_0"}
    assert [path for path in others if path in tree["resources"] or f"GET {path}" in it.lines] == []
    assert len(tree["resources"]["/redfish/v1/Systems"]["body"]["Members"]) == 2


def test_a_bmc_that_breaks_off_is_an_error(it: OneBmc) -> None:
    it.fleet.fault(Fault("GET .*/Cd$", "reset"))
    with pytest.raises(BmcTransientError, match=r"cannot read .*/Cd: connection reset"):
        tree_of(it.fleet)


@pytest.mark.parametrize("it", ["dell4"], indirect=True)
def test_the_attributes_that_nothing_links_are_captured(it: OneBmc) -> None:
    attributes = tree_of(it.fleet)["resources"]["/redfish/v1/Managers/iDRAC.Embedded.1/Attributes"]["body"]
    assert attributes["Attributes"] == {"ServerBoot.1.FirstBootDevice": "Normal", "ServerBoot.1.BootOnce": "Disabled"}
