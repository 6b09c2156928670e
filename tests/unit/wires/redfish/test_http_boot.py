"""A BMC whose host's UEFI fetches the boot ISO by HTTP."""

from pathlib import Path

import pytest

from base.errors import BmcRefusedError
from cluster.values.bmc_url import UEFI_HTTP
from cluster.values.boot_method import SECURE_BOOT
from testing.fakes.clock import FakeClock
from testing.fakes.fleet.fleet import Fault
from testing.server_under_test import server
from tests.unit.wires.redfish.one_bmc import SYSTEM, OneBmc
from tests.unit.wires.redfish.test_probe import probe
from wires.redfish.bmc import UEFI
from wires.redfish.steps import Steps, run_steps

ISO = "http://192.0.2.9/0123/w0.iso"
WITHOUT_URI = (
    "its Boot has no HttpBootUri. Fix: update the BMC's firmware, or begin bmc.address with redfish-virtualmedia"
)


@pytest.mark.parametrize("it", ["generic_http"], indirect=True)
def test_the_next_boot_is_that_of_the_iso_and_the_one_after_forgets_it(it: OneBmc) -> None:
    bmc, clock = it.client(kind=UEFI_HTTP), FakeClock()
    steps = Steps(bmc, clock, clock.now() + 3600)
    run_steps(steps.override("UefiHttp", uri=ISO), clock)
    run_steps(steps.override("Hdd"), clock)
    assert it.bodies == [
        {"Boot": {"BootSourceOverrideTarget": target, "BootSourceOverrideEnabled": "Once", "HttpBootUri": uri}}
        for target, uri in (("UefiHttp", ISO), ("Hdd", None))
    ]
    assert not [line for line in it.lines if "VirtualMedia" in line]


@pytest.mark.parametrize(("kind", "boot_mode"), [(UEFI_HTTP, UEFI), ("redfish", SECURE_BOOT)])
def test_a_bmc_that_takes_no_uri_is_found(it: OneBmc, kind: str, boot_mode: str) -> None:
    with pytest.raises(BmcRefusedError) as caught:
        probe(it, kind, boot_mode).expect_boot_method()
    assert WITHOUT_URI in str(caught.value)


@pytest.mark.parametrize("it", ["generic_http"], indirect=True)
def test_a_bmc_that_boots_by_http_needs_no_virtual_cd(it: OneBmc) -> None:
    bmc = probe(it, UEFI_HTTP)
    assert (bmc.boot_targets(), bmc.virtual_cd()) == ("BiosSetup, Cd, Hdd, None, Pxe, UefiHttp", "")


@pytest.mark.parametrize("it", ["generic_http"], indirect=True)
def test_a_bmc_that_offers_only_another_boot_is_refused(it: OneBmc) -> None:
    it.says(f"GET {SYSTEM}$", Boot={"BootSourceOverrideTarget@Redfish.AllowableValues": ["Pxe", "Hdd"]})
    with pytest.raises(BmcRefusedError, match="boot override UefiHttp is not offered; Hdd, Pxe are"):
        probe(it, UEFI_HTTP).expect_boot_method()


def test_a_server_whose_bmc_takes_no_uri_is_not_even_switched_off(tmp_path: Path) -> None:
    with server(tmp_path) as it:
        it.kind = UEFI_HTTP
        with pytest.raises(BmcRefusedError) as caught:
            it.take_over()
        assert WITHOUT_URI in str(caught.value)
        assert (it.fleet.figures().writes, it.fleet.state().power) == ([], "On")


@pytest.mark.parametrize("keeps_once", [False, True])
def test_a_server_is_installed_by_it_and_its_iso_is_served_no_more(tmp_path: Path, *, keeps_once: bool) -> None:
    with server(tmp_path, "generic_http") as it:
        it.kind, it.boot_mode = UEFI_HTTP, SECURE_BOOT
        it.fleet.change(0, keeps_once=keeps_once)
        it.from_start_to_end()
        path = f"/{it.media.iso.url_path('okd-master-0')}"
        figures, served = it.fleet.figures(), it.media.server.find(path, over_tls=False)
        assert (figures.installs, figures.inserts, served) == (1, [], None)
        assert it.is_installed()


@pytest.mark.parametrize("keeps_once", [False, True])
def test_without_the_target_hdd_the_override_ends_and_the_uri_is_forgotten(
    tmp_path: Path, *, keeps_once: bool
) -> None:
    """Issue 42, 5: a BlueField failed after its disk was written."""
    with server(tmp_path, "no_hdd") as it:
        it.kind = UEFI_HTTP
        it.fleet.change(0, keeps_once=keeps_once)
        it.from_start_to_end()
        assert it.is_installed()
        disabled = {"BootSourceOverrideTarget": "None", "BootSourceOverrideEnabled": "Disabled", "HttpBootUri": None}
        assert disabled in [body["Boot"] for body in it.fleet.figures().bodies if "Boot" in body]


def test_a_bmc_that_keeps_its_override_is_left_to_its_empty_drive(tmp_path: Path) -> None:
    with server(tmp_path, "no_hdd") as it:
        it.fleet.change(0, keeps_once=True)
        it.fleet.fault(Fault("PATCH .*/Systems/", "status", status=400, skip=1))
        it.from_start_to_end()
        assert it.is_installed()
