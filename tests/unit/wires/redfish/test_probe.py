"""BmcProbe against BMCs of the fake fleet: what it reads, and how many requests that takes."""

import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pydantic import SecretStr

from base.errors import BmcRefusedError, BmcTransientError
from testing.fakes.fleet.fleet import Fault, Options, running
from tests.unit.wires.redfish.one_bmc import MANAGER, PASSWORD, SYSTEM, OneBmc
from wires.bmc.access import BmcAccess, Limits
from wires.bmc.client import UEFI
from wires.redfish.probe import BmcProbe
from wires.shown_certificate import shown_certificate


def probe(it: OneBmc, kind: str = "redfish-virtualmedia", boot_mode: str = UEFI) -> BmcProbe:
    address = it.fleet.address(0).replace("redfish-virtualmedia", kind, 1)
    access = BmcAccess(address=address, username=it.fleet.options.username, boot_mode=boot_mode)
    bmc = BmcProbe(access, SecretStr(PASSWORD))
    it.clients.append(bmc)
    return bmc


@pytest.mark.parametrize(
    ("it", "kind", "drive"),
    [
        ("generic", "generic", f"{MANAGER}/VirtualMedia/Cd"),
        ("generic_system", "generic", f"{SYSTEM}/VirtualMedia/Cd"),
        ("dell10", "Dell iDRAC10", "/redfish/v1/Systems/System.Embedded.1/VirtualMedia/1"),
        ("lenovo", "Lenovo XCC", f"{MANAGER}/VirtualMedia/EXT1"),
        ("ami", "AMI MegaRAC", "none until virtual media is switched on, which `up` does"),
    ],
    indirect=["it"],
)
def test_the_drive_that_takes_the_iso_is_named(it: OneBmc, kind: str, drive: str) -> None:
    bmc = probe(it)
    assert (bmc.kind(), bmc.virtual_cd()) == (kind, drive)
    assert it.writes == []


@pytest.mark.parametrize("it", ["generic_system"], indirect=True)
def test_drives_of_the_manager_are_not_read_if_the_system_has_one(it: OneBmc) -> None:
    """A Lenovo SR670 lists the same ten drives at both: 28 requests for the first look."""
    it.says(f"GET {MANAGER}$", VirtualMedia={"@odata.id": f"{MANAGER}/VirtualMedia"})
    probe(it).virtual_cd()
    assert f"GET {MANAGER}/VirtualMedia" not in it.lines
    assert f"GET {SYSTEM}/VirtualMedia/Cd" in it.lines


def test_without_a_drive_the_probe_fails_as_up_does_with_no_more_requests(it: OneBmc) -> None:
    it.says(f"GET {MANAGER}/VirtualMedia$", Members=[])
    with pytest.raises(BmcRefusedError, match="no virtual CD drive"):
        probe(it).virtual_cd()
    assert it.lines == [f"GET {SYSTEM}", f"GET {MANAGER}", f"GET {MANAGER}/VirtualMedia"]


def test_the_targets_are_listed(it: OneBmc) -> None:
    bmc = probe(it)
    assert (bmc.boot_targets(), bmc.override_mode()) == ("Cd, Hdd, None, Pxe, UefiHttp", "UEFI")


def test_a_bmc_whose_targets_boot_no_virtual_cd_is_found(it: OneBmc) -> None:
    it.says(f"GET {SYSTEM}$", Boot={"BootSourceOverrideTarget@Redfish.AllowableValues": ["Pxe", "Hdd"]})
    line = r"Cd is not offered; Hdd, Pxe are\. Fix: .* begin bmc\.address with redfish,"
    with pytest.raises(BmcRefusedError, match=line):
        probe(it).expect_boot_method()


def test_a_host_that_boots_from_the_network_needs_no_virtual_cd(it: OneBmc) -> None:
    it.says(f"GET {SYSTEM}$", Boot={"BootSourceOverrideTarget@Redfish.AllowableValues": ["Pxe", "Hdd"]})
    bmc = probe(it, "redfish")
    assert (bmc.boot_targets(), bmc.virtual_cd()) == ("Hdd, Pxe", "")
    assert not [line for line in it.lines if "VirtualMedia" in line]


def test_a_bmc_that_boots_nothing_from_the_network_is_found(it: OneBmc) -> None:
    it.says(f"GET {SYSTEM}$", Boot={"BootSourceOverrideTarget@Redfish.AllowableValues": ["Cd", "Hdd"]})
    line = r"Pxe is not offered; Cd, Hdd are\. Fix: .* begin bmc\.address with redfish-virt"
    with pytest.raises(BmcRefusedError, match=line):
        probe(it, "redfish").expect_boot_method()


@pytest.mark.parametrize(
    ("oem", "licence"),
    [
        ({"Hpe": {"License": {"LicenseString": "iLO Advanced", "LicenseKey": "CANARY"}}}, "iLO Advanced"),
        ({"Hpe": {"License": {"LicenseKey": "CANARY"}}}, ""),
        ({"Contoso": "a text"}, ""),
        (None, ""),
    ],
    ids=["ilo", "key-alone", "text", "none"],
)
def test_a_licence_is_named_without_its_key(it: OneBmc, oem: Any, licence: str) -> None:
    it.says(f"GET {MANAGER}$", Oem=oem)
    assert probe(it).licence() == licence


def test_the_certificate_is_read_before_a_login() -> None:
    with running(Options()) as fleet:
        bmc = BmcProbe(BmcAccess(address=fleet.address(0), username="admin"), SecretStr("wrong"))
        shown = bmc.certificate()
        assert shown is not None
        assert (shown.subject, len(shown.sha256)) == ("CN=api.okd.lab.test", 64)
        assert fleet.figures().lines == []
        pinned = BmcAccess(address=fleet.address(0), username="admin", fingerprint=shown.sha256)
        reached = BmcProbe(pinned, SecretStr(fleet.options.password))
        assert reached.identity().serial == "FLEET0000", "the fingerprint can be pinned"
        reached.close()
        bmc.close()


def test_a_certificate_that_cannot_be_parsed_has_its_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: bytes) -> None:
        raise ValueError("error parsing asn1 value: ParseError { kind: InvalidValue }")

    monkeypatch.setattr("cryptography.x509.load_der_x509_certificate", refuse)
    with running(Options()) as fleet:
        host, _, port = fleet.base(0).removeprefix("https://").partition(":")
        shown = shown_certificate(host, int(port), 5)
    assert shown is not None
    assert (shown.subject, len(shown.sha256)) == ("", 64)


def test_a_bmc_without_tls_shows_no_certificate(it: OneBmc) -> None:
    assert probe(it).certificate() is None


@pytest.mark.parametrize("hangs_up", [True, False], ids=["hangs-up", "says-nothing"])
def test_a_bmc_that_ends_or_ignores_the_handshake_shows_no_certificate(hangs_up: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as thread:
        if hangs_up:
            thread.submit(_hang_up, listener)
        address = f"redfish://127.0.0.1:{listener.getsockname()[1]}/redfish/v1/Systems/1"
        access = BmcAccess(address=address, username="admin")
        assert BmcProbe(access, SecretStr("x"), Limits(connect_s=5 if hangs_up else 0.1)).certificate() is None


def test_an_unreachable_bmc_is_an_error_with_what_to_compare(it: OneBmc) -> None:
    it.fleet.change(listening=False)
    with pytest.raises(BmcRefusedError, match=r"no connection \(Connection refused\)\. Fix: compare bmc\.address"):
        probe(it).certificate()


def test_a_fault_of_the_bmc_is_an_error_of_this_program(it: OneBmc) -> None:
    it.fleet.fault(Fault(f"GET {MANAGER}$", "status", status=500))
    for read in (probe(it).virtual_cd, probe(it).licence):
        with pytest.raises(BmcTransientError, match="HTTP 500"):
            read()


def _hang_up(listener: socket.socket) -> None:
    listener.accept()[0].close()
