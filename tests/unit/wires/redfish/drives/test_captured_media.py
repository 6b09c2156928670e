"""What the media of 32 captured trees broke (issue 18), one test for each finding, named after it."""

import re
from pathlib import Path

import pytest

from base.errors import BmcRefusedError, ProvisioningError
from cluster.values.bmc_url import UEFI_HTTP
from testing.fakes.fleet.fleet import Fault
from testing.fakes.fleet.unusable import UNUSABLE
from testing.server_under_test import NAME, ServerUnderTest, server
from tests.unit.wires.redfish.one_bmc import OneBmc, one_bmc

FOREIGN, OTHER = "nfs://192.0.2.9/rescue.iso", "nfs://192.0.2.9/other.iso"
WHOLE = {"ForceOff": 1, "On": 2}
"""The resets of an installation of a server that runs."""


def is_installed_once(it: ServerUnderTest) -> bool:
    return it.is_installed() and dict(it.fleet.figures().resets) == WHOLE


def refusal(it: ServerUnderTest) -> str:
    """Return the error of a server that is refused at once, before it is switched off."""
    began = it.clock.now()
    with pytest.raises(BmcRefusedError) as caught:
        it.from_start_to_end()
    assert type(caught.value) is BmcRefusedError
    assert (it.fleet.figures().writes, it.clock.now() - began) == ([], 0)
    return str(caught.value)


@pytest.mark.parametrize("vendor", ["ami", "generic_name"], ids=["name-twice", "name-alone"])
def test_d1_an_image_that_the_bmc_names_otherwise_is_recognized(tmp_path: Path, vendor: str) -> None:
    with server(tmp_path, vendor) as it:
        it.from_start_to_end()
        assert is_installed_once(it)
        assert len(it.fleet.figures().inserts) == 1


def test_d1_an_interrupted_installation_is_recognized_by_such_an_image(tmp_path: Path) -> None:
    with server(tmp_path, "gigabyte") as it:
        it.take_over()
        it.install()
        it.mark.remove()
        it.fleet.change(0, running=False)
        iso = it.media.publish(NAME)
        shown = {"Image": f"//{iso[7:]}/{NAME}.iso", "Inserted": True, "ConnectedVia": "URI"}
        it.fleet.fault(Fault("GET.*/CD1$", "says", says=shown, times=1))
        it.install()
        assert it.is_installed()
        assert it.fleet.figures().resets == {"ForceOff": 2, "On": 4}


def test_d5_a_refused_iso_has_the_bmcs_words_without_the_secret_path(tmp_path: Path) -> None:
    with server(tmp_path, "gb300_https") as it:
        it.take_over()
        began = it.clock.now()
        with pytest.raises(ProvisioningError) as caught:
            it.install()
        text = str(caught.value)
        assert re.search(r"the BMC refuses the boot ISO from http://127\.0\.0\.1:\d+: .*HTTP 400", text)
        words = r"what is at 'http://127\.0\.0\.1:\d+/…' is of no known format"
        assert re.search(rf"\(Base\.1\.8\.ResourceAtUriInUnknownFormat: {words}", text)
        assert re.search(r"Fix: .*https.*media\.tls", text)
        assert "never fetched" not in text
        assert (it.media.iso.sha256 in text, f"{NAME}.iso" in text) == (False, False)
        assert it.clock.now() == began


@pytest.mark.parametrize(
    ("vendor", "drives"),
    [
        ("huawei", r"CD has neither InsertMedia nor PATCH, only the vendor's own VirtualMedia\.VmmControl\. Fix: "),
        ("supermicro_x11", r"CD1 has neither InsertMedia nor PATCH\. Fix: "),
    ],
)
def test_d5_a_drive_is_known_to_take_images_before_the_server_goes_off(
    tmp_path: Path, vendor: str, drives: str
) -> None:
    with server(tmp_path, vendor) as it:
        assert re.search(rf"no virtual CD drive takes an image: {drives}", refusal(it))


def test_d6_a_cd_without_media_types_is_used_once_enabled(tmp_path: Path) -> None:
    with server(tmp_path, "gigabyte") as it:
        it.from_start_to_end()
        assert is_installed_once(it)
        writes = [line.removeprefix("POST /redfish/v1/Systems/Self/") for line in it.fleet.figures().writes]
        assert writes.count("Actions/Oem/VirtualMedia.EnableRMedia") == 1
        assert "HD1" not in "".join(writes)


def test_d9_all_filled_drives_are_emptied_and_the_first_is_used(tmp_path: Path) -> None:
    with server(tmp_path, "dell_r750") as it:
        it.fleet.change(0, images={"1": FOREIGN, "2": OTHER})
        it.take_over()
        assert it.fleet.figures().ejects == 2
        assert it.fleet.state().image == ""
        it.install()
        assert is_installed_once(it)
        inserts = [line for line in it.fleet.figures().writes if "InsertMedia" in line]
        assert [line.split("/")[-3] for line in inserts] == ["1"]


@pytest.mark.parametrize("it", ["dell_r750"], indirect=True)
def test_d9_one_eject_empties_all_drives(it: OneBmc) -> None:
    it.fleet.change(images={"1": FOREIGN, "2": OTHER})
    bmc = it.client()
    assert bmc.media() == FOREIGN
    bmc.eject()
    assert [line.split("/")[-3] for line in it.writes] == ["1", "2"]


@pytest.mark.parametrize("it", ["openbmc"], indirect=True)
def test_d9_the_drive_that_took_the_image_is_read_until_it_shows_it(it: OneBmc) -> None:
    bmc, url = it.client(), "http://192.0.2.1/x.iso"
    bmc.insert(url)
    it.fleet.fault(Fault("GET.*/Slot_2$", "says", says={"Image": None, "Inserted": False}, times=2))
    assert [bmc.media(), bmc.media(), bmc.media()] == [None, None, url]
    assert [line.split("/")[-1] for line in it.lines[-3:]] == ["Slot_2"] * 3


def test_d9_a_drive_that_only_the_second_run_finds_filled_is_emptied_too(tmp_path: Path) -> None:
    with server(tmp_path, "dell10") as it:
        it.take_over()
        it.fleet.change(0, images={"2": FOREIGN})
        it.install()
        assert is_installed_once(it)


def test_d11_a_stale_image_without_an_eject_action_does_not_stop_an_insert(tmp_path: Path) -> None:
    with server(tmp_path, "supermicro_x13") as it:
        it.fleet.change(0, image=FOREIGN)
        it.from_start_to_end()
        assert is_installed_once(it)
        assert it.fleet.figures().ejects == 2, "the image that was found, and ours"


@pytest.mark.parametrize(
    ("vendor", "drives"),
    [
        ("bluefield", r"the system is a DPU.*Fix: .*end with the server's own system"),
        ("hgx", r"the system has no Boot, as the board of GPUs.*Fix: .*end with the server's own system"),
        ("supermicro_x10", r"only the vendor's own VirtualMediaConfig.*Fix: update the BMC's firmware"),
        ("intel", r"the list of its virtual drives is empty.*Fix: .*licence"),
        ("sticks", r"Stick takes only USBStick"),
        ("irmc", r"only the vendor's own FTSComputerSystem\.VirtualMedia.*Fix: update the BMC's firmware"),
        ("bluefield_23", r"the system is a DPU.*Fix: have bmc\.address name the server's own BMC"),
        ("smartnic", r"the system is a DPU.*Fix: have bmc\.address name the server's own BMC"),
    ],
)
def test_d12_no_virtual_cd_drive_names_what_was_found_instead(tmp_path: Path, vendor: str, drives: str) -> None:
    with server(tmp_path, vendor) as it:
        text = refusal(it)
        assert re.search(rf"no virtual CD drive: {drives}", text)
        assert ("licence" in text) is (vendor == "intel")


def test_d12_a_bmc_without_virtual_drives_is_refused(tmp_path: Path) -> None:
    with server(tmp_path) as it:
        it.fleet.fault(Fault("GET.*/Managers/1$", "says", says={"VirtualMedia": None}))
        assert "no virtual CD drive: neither System nor Manager links any" in refusal(it)


def test_d12_a_missing_action_ends_at_once(tmp_path: Path) -> None:
    with server(tmp_path) as it:
        it.fleet.change(0, image=FOREIGN)
        it.fleet.fault(Fault("GET.*/Cd$", "says", says={"Actions": {}}, skip=1))
        began = it.clock.now()
        with pytest.raises(BmcRefusedError, match=r"eject.*#VirtualMedia\.EjectMedia"):
            it.take_over()
        assert it.clock.now() - began < 60


@pytest.mark.parametrize("vendor", [vendor for vendor in UNUSABLE if vendor not in ("gb300_https", "hgx")])
def test_the_fix_for_a_missing_drive_names_the_types_that_the_bmc_accepts(vendor: str) -> None:
    """Issue 42, 17: neither redfish-uefihttp nor the provisioning network was named where it works."""
    with one_bmc(vendor) as it:
        with pytest.raises(BmcRefusedError) as caught:
            it.client().media()
        _, _, named = caught.value.fault.fix.partition("begin bmc.address with ")
        for kind in (UEFI_HTTP, "redfish"):
            try:
                it.client(kind=kind).expect_boot_method()
            except BmcRefusedError:
                assert f"{kind}," not in f"{named},"
            else:
                assert f"{kind}," in f"{named},"
