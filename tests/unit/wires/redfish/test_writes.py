"""Every request to a BMC that may change something is a named write, which the tables beside the providers list."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from base.errors import BmcRefusedError, ProvisioningError, UnplannedWriteError
from base.writes import Write
from cluster.values.bmc_url import UEFI_HTTP
from cluster.values.boot_method import SECURE_BOOT
from providers.bmc_host.model import BmcHostOuts
from testing.fakes.fleet.vendors import VENDORS
from testing.planned_writes import PlannedServer
from testing.server_under_test import NAME, ServerUnderTest, server
from tests.unit.wires.bmc.methods import READS, WRITES, refuse
from tests.unit.wires.redfish.one_bmc import OneBmc
from wires.bmc.access import BmcAccess
from wires.bmc.client import LEGACY, UEFI
from wires.redfish.client import adapter

VIRTUAL_CD = "redfish-virtualmedia"
EACH_RESET = {"ForceOff": 2, "On": 2}
"""Off when found running, on from the ISO, on from the disk, off when given up."""


def planned(it: ServerUnderTest) -> set[Write]:
    """Return what the tables list for a server that is taken over, installed, and given up."""
    address = it.fleet.address(0).replace(VIRTUAL_CD, it.kind, 1)
    access = BmcAccess(address=address, username=it.fleet.options.username, boot_mode=it.boot_mode)
    return PlannedServer(NAME, access, it.uuid, it.fleet.node(0)).writes(BmcHostOuts(found=it.found))


@contextmanager
def only_planned(it: ServerUnderTest, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Write]]:
    """Refuse each write that is not planned; yield those that are made."""
    made = list[Write]()

    def make(write: Write) -> None:
        if write not in planned(it):
            raise UnplannedWriteError(f"not made: {write.action}", where=write.target)
        made.append(write)

    monkeypatch.setattr(adapter, "make", make)
    yield made
    sent = [request for request in it.fleet.figures().writes if "Sessions" not in request]
    assert len(sent) <= len(made)


def check_course(it: ServerUnderTest, monkeypatch: pytest.MonkeyPatch) -> list[Write]:
    """Take the server over, install it, and give it up, and return what was written: only what is planned."""
    with only_planned(it, monkeypatch) as made, suppress(BmcRefusedError, ProvisioningError):
        # Not every BMC does all of this; what it was asked for is planned all the same.
        it.take_over()
        it.install()
        it.release(it.found)
    return made


@pytest.mark.parametrize(("mode", "kind"), [(LEGACY, VIRTUAL_CD), (UEFI, UEFI_HTTP), (SECURE_BOOT, UEFI_HTTP)])
@pytest.mark.parametrize("vendor", VENDORS)
def test_all_that_is_written_to_a_bmc_of_any_vendor_is_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vendor: str, mode: str, kind: str
) -> None:
    with server(tmp_path, vendor) as it:
        it.boot_mode, it.kind = mode, kind
        check_course(it, monkeypatch)


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_server_of_each_vendor_is_installed_and_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vendor: str
) -> None:
    with server(tmp_path, vendor) as it:
        check_course(it, monkeypatch)
        figures, state = it.fleet.figures(), it.fleet.state()
        image = it.media.publish(NAME)
        assert (state.running, state.disk, state.image, state.sessions) == (False, image, "", 0)
        assert figures.resets == EACH_RESET
        assert (figures.installs, figures.inserts) == (1, [image])
        assert (figures.connections > 3) is vendor.startswith("hpe")
        assert figures.peak == 1


def test_a_secure_boot_on_an_idrac_takes_most_of_the_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with server(tmp_path, "dell") as it:
        it.boot_mode = SECURE_BOOT
        made = {write.action for write in check_course(it, monkeypatch)}
    assert {"power On", "power Off", "eject", f"insert {NAME}.iso", "Secure Boot on", "Secure Boot off"} <= made
    assert {"boot override Cd Once", "boot override BiosSetup Once", "boot override Hdd Once"} <= made


@pytest.mark.parametrize(
    ("name", "it"),
    [(name, "generic_strict" if name == "trust" else "dell_r750") for name in WRITES],
    indirect=["it"],
)
def test_a_write_that_is_refused_is_not_sent(it: OneBmc, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    if name in ("trust", "eject"):
        it.fleet.change(0, image="http://192.0.2.1/before.iso")
    monkeypatch.setattr(adapter, "make", refuse)
    bmc = it.client()
    with pytest.raises(UnplannedWriteError, match=r"^BMC http://"):
        WRITES[name](bmc)
    assert it.writes == []


@pytest.mark.parametrize("name", READS)
def test_a_read_writes_nothing(it: OneBmc, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(adapter, "make", refuse)
    READS[name](it.client())
    assert it.writes == []


@pytest.mark.parametrize("method", ["post", "patch", "put", "delete"])
def test_a_request_that_no_write_names_is_not_sent(it: OneBmc, method: str) -> None:
    bmc: Any = it.client()
    with pytest.raises(UnplannedWriteError, match=f"not made: a {method.upper()} that no write names"):
        getattr(bmc._http, method)("/redfish/v1/Systems/1")
    assert it.writes == []


def test_a_login_is_no_write(it: OneBmc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "make", refuse)
    bmc = it.client(session=True)
    bmc.power()
    bmc.close()
    assert [request.partition(" ")[0] for request in it.writes] == ["POST", "DELETE"]
