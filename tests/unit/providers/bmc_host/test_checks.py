"""The check of one host: its row, and what would stop `up`."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr

from base.errors import BmcError
from providers.bmc_host.checks import BmcReport, Check, consented
from providers.bmc_host.engine import BmcHostEngine
from testing.fakes.clock import FakeClock
from testing.fakes.fleet.fleet import Fault, Fleet, Options, running, uuid_of
from wires.bmc.access import CHECK_LIMITS, BmcAccess
from wires.redfish.probe import BmcProbe

UUID = uuid_of(0)
SHARED = {"UUID": "03000200-0400-0500-0006-000700080009"}
NAMELESS = {**SHARED, "SerialNumber": "To be filled by O.E.M."}
SYSTEM = "GET /redfish/v1/Systems/1$"


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    with running(Options(tls=False)) as fleet:
        yield fleet


@contextmanager
def engine_of(
    fleet: Fleet, consent: str = "", password: str = "", boot_mode: str = "UEFI", **limits: Any
) -> Iterator[tuple[BmcProbe, BmcHostEngine]]:
    access = BmcAccess(address=fleet.address(0), username=fleet.options.username, boot_mode=boot_mode)
    bmc = BmcProbe(access, SecretStr(password or fleet.options.password), replace(CHECK_LIMITS, **limits))
    yield bmc, BmcHostEngine(bmc, FakeClock(), print, "h0", consent, 0)
    bmc.close()


def row_of(
    fleet: Fleet, consent: str | None = None, password: str = "", boot_mode: str = "UEFI", **limits: Any
) -> BmcReport:
    with engine_of(fleet, consent or "", password, boot_mode, **limits) as (bmc, engine):
        return Check(bmc, engine, consent is not None).report()


def test_a_row_has_all_that_a_bmc_shows(fleet: Fleet) -> None:
    assert row_of(fleet, UUID) == BmcReport(
        host="h0",
        bmc=f"{fleet.base(0)}/redfish/v1/Systems/1",
        path="/redfish/v1/Systems/1",
        reachable=True,
        login="accepted",
        system="Contoso 3500",
        uuid=UUID,
        serial="FLEET0000",
        bios="P79 v1.45",
        firmware="1.45.455b66-rev4",
        quirks="generic",
        virtual_cd="/redfish/v1/Managers/1/VirtualMedia/Cd",
        boot_targets="Cd, Hdd, None, Pxe, UefiHttp",
        mode="UEFI",
        power="Off",
        stops=[],
    )
    assert fleet.figures().writes == []


def test_ten_drives_at_system_and_manager_take_at_most_20_requests() -> None:
    """Lenovo's SR670, the largest of 32 captured trees, here by a session and an address that names no system."""
    root, names = (
        "/redfish/v1",
        ("RDOC1", "RDOC2", *(f"Remote{n}" for n in range(1, 5)), *(f"EXT{n}" for n in range(1, 5))),
    )
    with running(Options(tls=False, vendors=("generic_system",))) as fleet:
        for owner in ("Systems/1", "Managers/1"):
            media = f"{root}/{owner}/VirtualMedia"
            links = {"VirtualMedia": {"@odata.id": media}, "SecureBoot": {"@odata.id": f"{root}/{owner}/SecureBoot"}}
            members = {"Id": "x", "Name": "x", "Members": [{"@odata.id": f"{media}/{name}"} for name in names]}
            fleet.fault(Fault(f"GET .*{owner}$", "says", says={"Manufacturer": "Lenovo", **links}))
            fleet.fault(Fault(f"GET .*{owner}/VirtualMedia$", "status", status=200, body=members))
            for name in names:
                insert = {"#VirtualMedia.InsertMedia": {"target": f"{media}/{name}/Actions/VirtualMedia.InsertMedia"}}
                drive = {"Id": name, "Name": name, "MediaTypes": ["CD"], "Inserted": False, "Actions": insert}
                fleet.fault(Fault(f"GET .*{owner}/VirtualMedia/{name}$", "status", status=200, body=drive))
            secure = {"SecureBootEnable": False, "SecureBootMode": "UserMode"}
            fleet.fault(Fault(f"GET .*{owner}/SecureBoot$", "status", status=200, body=secure))
        address = f"redfish-virtualmedia+{fleet.base(0)}"
        access = BmcAccess(address=address, username=fleet.options.username, session=True, boot_mode="UEFISecureBoot")
        bmc = BmcProbe(access, SecretStr(fleet.options.password))
        row = Check(bmc, BmcHostEngine(bmc, FakeClock(), print, "h0", "", 0), has_stack=False).report()
        bmc.close()
        assert (row.path, row.virtual_cd) == (f"{root}/Systems/1", f"{root}/Systems/1/VirtualMedia/EXT1")
        assert (row.stops, row.secure_boot) == ([], "off")
        assert 15 < fleet.figures().requests.total() <= 20


@pytest.mark.parametrize(
    ("fault", "stop"),
    [
        (Fault(SYSTEM, "status", status=404), "cannot read the system: HTTP 404.*Fix: compare bmc.address"),
        (Fault("GET", "status", status=503), "cannot read the system: HTTP 503"),
        (Fault("GET .*VirtualMedia$", "says", says={"Members": []}), "no virtual CD drive.*Fix: "),
        (Fault("GET .*VirtualMedia$", "unlicensed"), "lacks a licence.*Fix: add"),
        (
            Fault(SYSTEM, "says", says={"Boot": {"BootSourceOverrideTarget@Redfish.AllowableValues": ["Pxe"]}}),
            "boot override Cd is not offered; Pxe are",
        ),
        (Fault(SYSTEM, "says", says=NAMELESS), "Fix: .*set a serial number in its firmware first"),
    ],
    ids=["no-such-system", "busy", "no-drive", "no-licence", "no-target", "no-name"],
)
def test_what_would_stop_up_reads_as_in_up(fleet: Fleet, fault: Fault, stop: str) -> None:
    fleet.fault(fault)
    stops = row_of(fleet).stops
    assert len(stops) == 1
    assert re.search(stop, stops[0])


def test_a_refused_login_is_tried_once(fleet: Fleet) -> None:
    row = row_of(fleet, password="wrong")
    assert (row.reachable, row.login, len(row.stops)) == (True, "refused", 1)
    assert fleet.figures().requests.total() == 1


def test_a_bmc_that_is_not_reached_is_not_asked(fleet: Fleet) -> None:
    fleet.change(0, listening=False)
    row = row_of(fleet)
    assert (row.reachable, row.login, len(row.stops)) == (False, "", 1)


@pytest.mark.parametrize("answered", range(7))
def test_the_first_request_without_an_answer_is_the_last(fleet: Fleet, answered: int) -> None:
    """Ten BMCs of a hundred that hung after four answers made a check of 4 s take 153 s."""
    fleet.fault(Fault("GET", "hang", skip=answered))
    row = row_of(fleet, answer_s=0.2)
    assert fleet.figures().requests.total() == answered + 1
    (stop,) = row.stops
    assert re.search(r"no complete answer within 0\.2 s; nothing more was asked\. Fix: see whether the BMC's", stop)
    assert (row.login == "accepted") is (answered > 0)


def test_a_check_ends_when_all_answers_together_take_too_long(fleet: Fleet) -> None:
    (stop,) = row_of(fleet, whole_s=0).stops
    assert "all its answers together took more than 0 s; nothing more was asked" in stop
    assert fleet.figures().requests.total() == 0


def test_another_machine_than_the_stack_consents_to_stops_up_and_is_shown(fleet: Fleet) -> None:
    row = row_of(fleet, uuid_of(7))
    assert (row.login, row.virtual_cd) == ("accepted", "/redfish/v1/Managers/1/VirtualMedia/Cd")
    assert f"consent names {uuid_of(7)}, the BMC is that of Contoso 3500, UUID {UUID}" in row.stops[0]


def test_a_missing_consent_stops_up_and_its_command_is_shown(fleet: Fleet) -> None:
    (stop,) = row_of(fleet, "").stops
    assert f"consent names no machine, the BMC is that of Contoso 3500, UUID {UUID}" in stop
    assert stop.endswith(f"name its UUID: pulumi config set --path 'consent.h0' {UUID}")


def test_what_up_does_not_need_stops_nothing(fleet: Fleet) -> None:
    fleet.fault(Fault(SYSTEM, "says", says={"SecureBoot": {"@odata.id": "/redfish/v1/Systems/1/SecureBoot"}}))
    fleet.fault(Fault("GET .*SecureBoot", "status", status=500))
    row = row_of(fleet)
    assert (row.stops, row.secure_boot) == ([], "")


@pytest.mark.parametrize(
    ("secure_boot", "shown", "stops"),
    [
        ({"SecureBootEnable": True, "SecureBootMode": "UserMode"}, "on", []),
        ({"SecureBootEnable": False, "SecureBootMode": "UserMode"}, "off", []),
        ({"SecureBootEnable": False, "SecureBootMode": "SetupMode"}, "off", ["SecureBootMode reads SetupMode"]),
        ({}, "", ["the BMC does not report SecureBootEnable"]),
        (None, "", ["the BMC has no Secure Boot"]),
    ],
    ids=["on", "off", "no-keys", "unreported", "none"],
)
def test_secure_boot_stops_up_where_the_host_wants_it_and_cannot_have_it(
    fleet: Fleet, secure_boot: dict[str, Any] | None, shown: str, stops: list[str]
) -> None:
    path = "/redfish/v1/Systems/1/SecureBoot"
    if secure_boot is not None:
        fleet.fault(Fault(SYSTEM, "says", says={"SecureBoot": {"@odata.id": path}}))
        fleet.fault(Fault(f"GET {path}$", "status", status=200, body=secure_boot))
    row = row_of(fleet)
    assert (row.stops, row.secure_boot) == ([], shown)
    row = row_of(fleet, boot_mode="UEFISecureBoot")
    assert row.secure_boot == shown
    assert len(row.stops) == len(stops)
    assert all(stop in row.stops[0] for stop in stops)


@pytest.mark.parametrize(
    ("says", "consent", "wanted"),
    [({}, "", UUID), (SHARED, "", "FLEET0000"), ({}, "fleet0000", "fleet0000")],
    ids=["uuid", "shared-uuid", "consented-already"],
)
def test_the_unique_name_of_a_machine_consents_to_it(
    fleet: Fleet, says: dict[str, str], consent: str, wanted: str
) -> None:
    fleet.fault(Fault(SYSTEM, "says", says=says))
    with engine_of(fleet, consent) as (_, engine):
        assert consented(engine) == wanted


@pytest.mark.parametrize(
    ("says", "consent", "why"),
    [({}, uuid_of(7), f"consent names {uuid_of(7)}"), (NAMELESS, "", "set a serial number")],
    ids=["another-machine", "no-name"],
)
def test_a_consent_is_never_moved_to_another_machine(
    fleet: Fleet, says: dict[str, str], consent: str, why: str
) -> None:
    fleet.fault(Fault(SYSTEM, "says", says=says))
    with engine_of(fleet, consent) as (_, engine), pytest.raises(BmcError, match=why):
        consented(engine)
