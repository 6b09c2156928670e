"""The fake fleet's parts that could be wrong unnoticed: time by requests, boot targets, counts, vendors."""

import json
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from testing.fakes.fleet.fleet import Fleet, Options, Pace, running, running_in_process, serial_of, uuid_of
from testing.fakes.fleet.server import API_PORT
from testing.fakes.fleet.tree import SESSIONS
from testing.fakes.fleet.vendors import VENDORS
from testing.project import eventually
from tests.unit.testing.raw import ISO_BYTES, medium, raw, ready
from wires.api.https import connect_problem

FROM_CD = {"BootSourceOverrideTarget": "Cd", "BootSourceOverrideEnabled": "Once", "BootSourceOverrideMode": "UEFI"}
URL = "http://192.0.2.1/x.iso"
ANY_TAG = {"If-Match": "*"}


@pytest.fixture
def iso(tmp_path: Path) -> Iterator[str]:
    with medium(tmp_path) as url:
        yield url


@pytest.fixture(scope="module")
def vendors() -> Iterator[Fleet]:
    with running(Options(hosts=len(VENDORS), vendors=tuple(VENDORS), tls=False)) as fleet:
        yield fleet


def number(name: str) -> int:
    return list(VENDORS).index(name)


@pytest.mark.parametrize("requests", [0, 1, 4])
def test_a_change_of_power_shows_in_the_answer_after_the_next_n(requests: int) -> None:
    with running(Options(tls=False, pace=Pace(power=(requests, requests)))) as fleet, raw(fleet) as bmc:
        assert bmc.reset("On") == 204
        assert [bmc.power() for _ in range(requests + 1)] == ["PoweringOn"] * requests + ["On"]
        assert bmc.reset("ForceOff") == 204
        assert [bmc.power() for _ in range(requests + 1)] == ["PoweringOff"] * requests + ["Off"]


def test_a_request_to_one_host_changes_no_other() -> None:
    with running(Options(hosts=2, tls=False)) as fleet, raw(fleet, 0) as first, raw(fleet, 1) as second:
        assert first.reset("On") == 204
        for _ in range(5):
            second.power()
        assert first.power() == "PoweringOn"


def test_a_server_installs_from_the_virtual_cd_and_then_runs_from_its_disk(iso: str) -> None:
    with running(Options()) as fleet, raw(fleet) as bmc:
        assert ready(fleet) == 503
        assert bmc.media("Insert", body={"Image": iso}) == 204
        assert bmc.boot(FROM_CD) == 204
        assert bmc.reset("On") == 204
        assert [bmc.power() for _ in range(5)] == ["PoweringOn", "On", "On", "On", "Off"]
        state, done = fleet.state(), fleet.figures()
        assert (done.booted, done.installs, done.fetched, state.disk) == ([iso], 1, ISO_BYTES, iso)
        assert (state.target, state.enabled, state.image) == ("None", "Disabled", iso)

        assert bmc.media("Eject", body={}) == 204
        assert bmc.reset("On") == 204
        assert [bmc.power(), bmc.power()] == ["PoweringOn", "On"]
        assert [ready(fleet), ready(fleet)] == [503, 200]
        assert fleet.figures().booted == [iso, "disk"]
        assert bmc.reset("ForceOff") == 204
        bmc.power(), bmc.power()
        assert ready(fleet) == 503


def test_an_unreadable_image_installs_nothing(iso: str) -> None:
    with running(Options(tls=False)) as fleet, raw(fleet) as bmc:
        fleet.change(image=f"{iso}x", target="Cd", enabled="Once")
        assert bmc.reset("On") == 204
        assert {bmc.power() for _ in range(9)} == {"PoweringOn", "On"}
        assert fleet.figures().booted == [f"{iso}x"]
        assert (fleet.figures().installs, fleet.figures().fetched) == (0, 0)


def test_a_server_that_is_switched_off_in_the_middle_has_not_installed(iso: str) -> None:
    with running(Options(tls=False, pace=Pace(power=(0, 0), install=(9, 9)))) as fleet, raw(fleet) as bmc:
        fleet.change(image=iso, target="Cd", enabled="Once")
        bmc.reset("On"), bmc.power(), bmc.reset("ForceOff")
        assert {bmc.power() for _ in range(20)} == {"Off"}
        assert (fleet.figures().installs, fleet.state().disk) == (0, "")


@pytest.mark.parametrize(
    ("state", "booted"),
    [
        ({"image": URL, "disk": URL, "target": "Hdd", "enabled": "Once"}, "disk"),
        ({"image": URL, "disk": URL, "target": "Cd", "enabled": "Disabled"}, "disk"),
        ({"image": "", "disk": URL, "target": "Cd", "enabled": "Once"}, "disk"),
        ({"image": "", "disk": "", "target": "Cd", "enabled": "Once"}, "nothing"),
        ({"image": URL, "disk": URL, "target": "Cd", "enabled": "Once", "ignores_once": True}, "disk"),
    ],
)
def test_the_boot_target_follows_from_override_media_and_disk(state: dict[str, object], booted: str) -> None:
    with running(Options(tls=False)) as fleet, raw(fleet) as bmc:
        fleet.change(**state)
        bmc.reset("On"), bmc.power(), bmc.power()
        assert fleet.figures().booted == [booted]


@pytest.mark.parametrize(("enabled", "keeps"), [("Continuous", False), ("Once", True)])
def test_an_override_can_survive_a_boot(iso: str, enabled: str, keeps: bool) -> None:
    with running(Options(tls=False)) as fleet, raw(fleet) as bmc:
        fleet.change(image=iso, target="Cd", enabled=enabled, keeps_once=keeps)
        for _ in range(2):
            bmc.reset("On")
            while bmc.power() != "Off":
                pass
        assert (fleet.figures().installs, fleet.state().enabled) == (2, enabled)


def test_everything_is_counted() -> None:
    with running(Options(hosts=2, tls=False)) as fleet, raw(fleet) as bmc:
        bmc.get(), bmc.get(), bmc.reset("On"), bmc.reset("On"), bmc.media("Insert", body={"Image": URL})
        bmc.media("Insert", body={"Image": "http://192.0.2.1/other.iso"}), bmc.media("Eject", body={})
        done = fleet.figures()
        drive = "/redfish/v1/Managers/1/VirtualMedia/Cd/Actions/VirtualMedia."
        on = "POST /redfish/v1/Systems/1/Actions/ComputerSystem.Reset"
        assert done.requests["GET /redfish/v1/Systems/1"] == 2
        assert done.writes == [on, on, *[f"POST {drive}InsertMedia"] * 2, f"POST {drive}EjectMedia"]
        assert (done.resets, done.inserts, done.ejects) == ({"On": 1}, [URL], 1)
        assert (done.connections, done.peak) == (1, 1)
        total = fleet.total()
        assert (total.requests, total.connections, total.connected, total.resets) == (7, 1, 1, {"On": 1})
        fleet.forget()
        assert (fleet.total().requests, fleet.figures().writes) == (0, [])


def test_requests_of_several_connections_are_served_in_turn() -> None:
    with running(Options(tls=False, pace=Pace(by_requests=False, latency_s=(0.05, 0.05)))) as fleet:

        def read() -> None:
            with raw(fleet) as bmc:
                bmc.get()

        threads = [Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert 2 <= fleet.figures().peak <= 3
        assert fleet.figures().connections == 3


def test_each_host_is_another_machine(vendors: Fleet) -> None:
    for name in VENDORS:
        with raw(vendors, number(name)) as bmc:
            system = bmc.get()
            assert system["UUID"] == uuid_of(number(name))
            assert system["SerialNumber"] == serial_of(number(name))
            manager = bmc.get(system["Links"]["ManagedBy"][0]["@odata.id"])
            assert manager["FirmwareVersion"]
            assert manager["Model"]


@pytest.mark.parametrize("path", ["/redfish/v1/Systems", "/redfish/v1/Systems/1", SESSIONS])
def test_without_a_login_only_the_root_is_readable(vendors: Fleet, path: str) -> None:
    with raw(vendors) as bmc:
        bmc.login = {"Authorization": "Basic YWRtaW46d3Jvbmc="}
        assert bmc.ask("GET", "/redfish/v1/")[0] == 200
        assert bmc.ask("GET", path)[0] == 401


def test_sessions_are_limited_and_end() -> None:
    with running(Options(tls=False)) as fleet, raw(fleet) as bmc:
        fleet.change(session_limit=1)
        basic, bmc.login = bmc.login, {}
        account = {"UserName": fleet.options.username, "Password": fleet.options.password}
        assert bmc.ask("POST", SESSIONS, {**account, "Password": "wrong"})[0] == 401
        bmc.connection.request("POST", SESSIONS, '{"UserName": "admin", "Password": "s3cret-of-the-BMC"}')
        answer = bmc.connection.getresponse()
        answer.read()
        token, path = answer.headers["X-Auth-Token"], answer.headers["Location"]
        assert bmc.ask("POST", SESSIONS, account)[0] == 503
        assert bmc.ask("GET", "/redfish/v1/Systems", **{"X-Auth-Token": token})[0] == 200
        assert fleet.state().sessions == 1
        assert bmc.ask("DELETE", path, **basic)[0] == 204
        assert bmc.ask("GET", "/redfish/v1/Systems", **{"X-Auth-Token": token})[0] == 401


def test_dell_ejects_later_than_it_answers(vendors: Fleet) -> None:
    with raw(vendors, number("dell")) as bmc:
        assert bmc.media("Insert", body={"Image": URL}) == 204
        assert bmc.media("Eject", body={}) == 204
        assert bmc.media("Insert", body={"Image": URL}) == 400
        assert [bmc.drive()["Inserted"], bmc.drive()["Inserted"]] == [True, False]
        assert bmc.media("Eject", body={}) == 400


def test_dell10_writes_boot_in_settings_and_refuses_on_right_after_off(vendors: Fleet, iso: str) -> None:
    host = number("dell10")
    with raw(vendors, host) as bmc:
        allowed = "BootSourceOverrideTarget@Redfish.AllowableValues"
        assert allowed not in bmc.get()["Boot"]
        assert "Cd" in bmc.get(f"{bmc.vendor.system_path}/Settings")["Boot"][allowed]
        assert bmc.ask("PATCH", bmc.vendor.system_path, {"Boot": FROM_CD})[0] == 405
        assert bmc.boot(FROM_CD) == 204
        assert bmc.media("Insert", "2", {"Image": iso}) == 204
        bmc.reset("On"), bmc.power(), bmc.power(), bmc.reset("ForceOff"), bmc.power()
        assert vendors.figures(host).booted == ["nothing"]
        assert bmc.power() == "Off"
        assert [bmc.reset("On") for _ in range(4)] == [409, 409, 409, 204]


def test_hpe_requires_a_body_and_refuses_boot_changes_in_post(vendors: Fleet) -> None:
    with raw(vendors, number("hpe")) as bmc:
        assert bmc.media("Eject") == 415
        assert bmc.media("Eject", body={}) == 400
        bmc.reset("On"), bmc.power()
        assert bmc.power() == "On"
        status, answer = bmc.ask("PATCH", bmc.vendor.system_path, {"Boot": FROM_CD})
        assert (status, answer["error"]["code"]) == (400, "iLO.2.14.UnableToModifyDuringSystemPOST")
        bmc.power(), bmc.power()
        assert bmc.boot(FROM_CD) == 204


def test_gb300_shows_an_override_on_the_system_from_the_next_power_on() -> None:
    with running(Options(vendors=("gb300",), tls=False)) as fleet, raw(fleet) as bmc:
        settings = f"{bmc.vendor.system_path}/Settings"
        assert bmc.boot({**FROM_CD}) == 400, "it has no mode"
        assert bmc.boot({"BootSourceOverrideTarget": "Hdd", "BootSourceOverrideEnabled": "Continuous"}) == 204
        targets = [bmc.get(path)["Boot"]["BootSourceOverrideTarget"] for path in (settings, bmc.vendor.system_path)]
        assert targets == ["Hdd", "None"]
        bmc.reset("On"), bmc.power()
        assert bmc.get()["Boot"]["BootSourceOverrideTarget"] == "Hdd"


@pytest.mark.parametrize(("target", "booted"), [("Cd", "nothing"), ("UsbCd", "iso")])
def test_supermicro_boots_the_virtual_cd_as_usb_cd_alone(iso: str, target: str, booted: str) -> None:
    with running(Options(vendors=("supermicro",), tls=False)) as fleet, raw(fleet) as bmc:
        assert bmc.media("Insert", body={"Image": iso, "Inserted": True}) == 400
        assert bmc.media("Insert", body={"Image": iso}) == 204
        assert bmc.boot({**FROM_CD, "BootSourceOverrideTarget": target}) == 204
        bmc.reset("On"), bmc.power(), bmc.power()
        assert fleet.figures().booted == [iso if booted == "iso" else booted]
        assert bmc.media("Eject", body={}) == 204
        drive = bmc.drive()
        assert (drive["Image"], drive["Inserted"], drive["ConnectedVia"]) == (iso, False, "NotConnected")


@pytest.mark.parametrize(
    ("vendor", "slot", "status"),
    [
        ("lenovo", "RDOC1", 400),
        ("lenovo", "Remote4", 400),
        ("lenovo", "EXT1", 204),
        ("openbmc", "Slot_0", 404),
        ("openbmc", "Slot_1", 405),
        ("openbmc", "Slot_2", 204),
    ],
)
def test_only_the_right_slot_takes_media(vendors: Fleet, vendor: str, slot: str, status: int) -> None:
    with raw(vendors, number(vendor)) as bmc:
        assert bmc.media("Insert", slot, {"Image": URL}) == status


def test_old_lenovo_inserts_media_by_patch_and_requires_the_etag(vendors: Fleet) -> None:
    with raw(vendors, number("lenovo_patch")) as bmc:
        assert "Actions" not in bmc.drive()
        path, load = f"{bmc.vendor.media_path}/EXT1", {"Image": URL, "Inserted": True, "WriteProtected": True}
        assert bmc.ask("PATCH", path, load)[0] == 412
        assert bmc.ask("PATCH", path, load, **{"If-Match": '"old"'})[0] == 412
        assert bmc.ask("PATCH", path, load, **ANY_TAG)[0] == 204
        assert bmc.drive()["Image"] == URL
        assert bmc.ask("PATCH", path, {"Image": None, "Inserted": False}, **ANY_TAG)[0] == 204
        assert not bmc.drive()["Inserted"]


@pytest.mark.parametrize(
    ("etag_in", "header", "body"), [("header", '"0"', None), ("body", None, '"0"'), ("empty", "", None)]
)
def test_an_etag_can_be_elsewhere_than_in_the_header(etag_in: str, header: str | None, body: str | None) -> None:
    with running(Options(tls=False)) as fleet, raw(fleet) as bmc:
        fleet.change(0, etag_in=etag_in)
        for path in (bmc.vendor.system_path, f"{bmc.vendor.media_path}/Cd"):
            bmc.connection.request("GET", path, headers=bmc.login)
            answer = bmc.connection.getresponse()
            assert (answer.headers["ETag"], json.loads(answer.read()).get("@odata.etag")) == (header, body)


def test_ami_enables_media_first_and_requires_the_whole_boot_object(vendors: Fleet) -> None:
    with raw(vendors, number("ami")) as bmc:
        assert bmc.get(bmc.vendor.media_path)["Members"] == []
        assert bmc.media("Insert", body={"Image": URL}) == 404
        assert bmc.ask("POST", bmc.vendor.enable_path, {"RMediaState": "Enable"})[0] == 204
        assert len(bmc.get(bmc.vendor.media_path)["Members"]) == 1
        assert bmc.boot(FROM_CD) == 428
        assert bmc.boot({"BootSourceOverrideTarget": "Cd"}, **ANY_TAG) == 400
        assert bmc.boot(FROM_CD, **ANY_TAG) == 204


def test_dgx_names_ami_in_its_root_and_requires_a_hidden_mode(vendors: Fleet) -> None:
    with raw(vendors, number("dgx")) as bmc:
        root, system = bmc.get("/redfish/v1/"), bmc.get()
        assert (root["Vendor"], root["Product"], root["Oem"]) == ("AMI", "AMI Redfish Server", {"Ami": {}})
        assert (system["Manufacturer"], system["Boot"]["BootSourceOverrideMode"]) == ("NVIDIA", None)
        once = {"BootSourceOverrideTarget": "Cd", "BootSourceOverrideEnabled": "Once"}
        assert bmc.boot(once, **ANY_TAG) == 400
        assert bmc.boot({**once, "BootSourceOverrideMode": "UEFI"}, **ANY_TAG) == 204


def test_openbmc_lists_a_member_that_is_no_server(vendors: Fleet) -> None:
    with raw(vendors, number("openbmc")) as bmc:
        first, second = (member["@odata.id"] for member in bmc.get("/redfish/v1/Systems")["Members"])
        assert "Boot" not in bmc.get(first)
        assert "Boot" in bmc.get(second)


def test_in_real_time_a_server_progresses_without_requests(iso: str) -> None:
    quick = (0.01, 0.02)
    pace = Pace(by_requests=False, power=quick, install=quick, boot=quick, latency_s=(0.001, 0.002))
    with running_in_process(Options(pace=pace)) as fleet, raw(fleet) as bmc:
        fleet.change(image=iso, target="Cd", enabled="Once")
        assert bmc.reset("On") == 204
        while fleet.state().disk != iso:
            pass
        assert bmc.power() == "Off"
        with pytest.raises(ConnectionRefusedError):
            ready(fleet)
        assert bmc.reset("On") == 204
        eventually(lambda: connect_problem(fleet.node(0), API_PORT) is None)
        assert ready(fleet) == 200
        assert fleet.figures().requests.total() == 3


def test_two_fleets_run_side_by_side() -> None:
    with running(Options(hosts=2)) as first, running(Options(hosts=2)) as second:
        assert first.node(0) != second.node(0)
        for fleet in (first, second):
            with raw(fleet, 1) as bmc:
                assert bmc.get()["UUID"] == uuid_of(1)
