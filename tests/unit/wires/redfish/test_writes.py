"""Every request to a BMC that may change something is a named write, which the tables beside the providers list."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from base.errors import BmcRefusedError, ProvisioningError, UnplannedWriteError
from base.writes import Write
from cluster.values.bmc_url import UEFI_HTTP
from cluster.values.boot_method import SECURE_BOOT
from cluster.values.role import Role
from providers.bmc_host import writes as bmc_host
from providers.bmc_host.model import BmcHostOuts, BmcHostSpec
from providers.host_provisioning import writes as host_provisioning
from providers.host_provisioning.model import HostProvisioningOuts, HostProvisioningSpec, HostSpec
from testing.fakes.fleet.vendors import VENDORS
from testing.server_under_test import NAME, ServerUnderTest, server
from tests.unit.wires.redfish.one_bmc import OneBmc
from wires.redfish.bmc import CD, LEGACY, ONCE, UEFI, BmcClient, Power
from wires.redfish.client import connector
from wires.redfish.client.access import BmcAccess
from wires.redfish.sushy_bmc import SushyBmc

VIRTUAL_CD = "redfish-virtualmedia"


def planned(it: ServerUnderTest, outs: BmcHostOuts) -> set[Write]:
    """Return what the tables list for a server that is taken over, installed, and given up."""
    address = it.fleet.address(0).replace(VIRTUAL_CD, it.kind, 1)
    access = BmcAccess(address=address, username=it.fleet.options.username, boot_mode=it.boot_mode)
    host = BmcHostSpec(host=NAME, bmc=access, password=SecretStr(""), consent=it.uuid)
    installed = HostProvisioningSpec(
        role=Role.CONTROL_PLANE,
        hosts={NAME: HostSpec(bmc=access, address=it.fleet.node(0), root_device={})},
        passwords={},
        media_port=0,
        base_iso_sha256="",
        ignition_sha256={},
        payload_sha256="",
        stack="lab",
        api_name="",
    )
    return {
        *bmc_host.planned(None, BmcHostOuts(), host),
        *host_provisioning.planned(None, HostProvisioningOuts(), installed, ()),
        *bmc_host.planned(host, outs, None),
    }


def check_course(it: ServerUnderTest, monkeypatch: pytest.MonkeyPatch) -> list[Write]:
    """Take the server over, install it, and give it up, and return what was written: only what is planned."""
    outs, made = BmcHostOuts(), list[Write]()

    def make(write: Write) -> None:
        if write not in planned(it, outs):
            raise UnplannedWriteError(f"not made: {write.action}", where=write.target)
        made.append(write)

    monkeypatch.setattr(connector, "make", make)
    try:
        outs = BmcHostOuts(found=it.take_over())
        it.install()
        it.release(outs.found)
    except (BmcRefusedError, ProvisioningError):
        pass  # not every BMC does all of this; what it was asked for is planned all the same
    sent = [request for request in it.fleet.figures().writes if "Sessions" not in request]
    assert len(sent) <= len(made)
    return made


@pytest.mark.parametrize("kind", [VIRTUAL_CD, UEFI_HTTP])
@pytest.mark.parametrize("mode", [UEFI, LEGACY, SECURE_BOOT])
@pytest.mark.parametrize("vendor", VENDORS)
def test_all_that_is_written_to_a_bmc_of_any_vendor_is_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vendor: str, mode: str, kind: str
) -> None:
    with server(tmp_path, vendor) as it:
        it.boot_mode, it.kind = mode, kind
        check_course(it, monkeypatch)


def test_a_secure_boot_on_an_idrac_takes_most_of_the_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with server(tmp_path, "dell") as it:
        it.boot_mode = SECURE_BOOT
        made = {write.action for write in check_course(it, monkeypatch)}
    assert {"power On", "power Off", "eject", f"insert {NAME}.iso", "Secure Boot on", "Secure Boot off"} <= made
    assert {"boot override Cd Once", "boot override BiosSetup Once", "boot override Hdd Once"} <= made


READS: dict[str, Callable[[SushyBmc], object]] = {
    **dict.fromkeys(("url", "requests", "wanted_mode"), lambda _: None),
    "settle_s": lambda bmc: bmc.settle_s,
    "boot_mode": lambda bmc: bmc.boot_mode,
    "identity": SushyBmc.identity,
    "bmc_version": SushyBmc.bmc_version,
    "power": SushyBmc.power,
    "boot_override": SushyBmc.boot_override,
    "pending_override": SushyBmc.pending_override,
    "boot_modes": SushyBmc.boot_modes,
    "expect_boot_method": SushyBmc.expect_boot_method,
    "secure_boot": SushyBmc.secure_boot,
    "media": SushyBmc.media,
    "offers": lambda bmc: bmc.offers(CD),
    "check_task": SushyBmc.check_task,
    "close": SushyBmc.close,
}
WRITES: dict[str, Callable[[SushyBmc], object]] = {
    "insert": lambda bmc: bmc.insert("http://192.0.2.1/x.iso"),
    "trust": lambda bmc: bmc.trust("a certificate"),
    "eject": lambda bmc: bmc.eject(),
    "set_override": lambda bmc: bmc.set_override(CD, ONCE),
    "set_boot_mode": lambda bmc: bmc.set_boot_mode(LEGACY),
    "set_secure_boot": lambda bmc: bmc.set_secure_boot(enabled=True),
    "request_power": lambda bmc: bmc.request_power(Power.ON),
}


def refuse(write: Write) -> None:
    raise UnplannedWriteError(f"not made: {write.action}", where=write.target)


def test_every_method_of_the_wire_either_reads_or_writes() -> None:
    methods = {name for name, _ in inspect.getmembers(BmcClient) if not name.startswith("_")}
    assert READS.keys() | WRITES.keys() == methods
    assert not READS.keys() & WRITES.keys()


@pytest.mark.parametrize(
    ("name", "it"),
    [(name, "generic_strict" if name == "trust" else "dell_r750") for name in WRITES],
    indirect=["it"],
)
def test_a_write_that_is_refused_is_not_sent(it: OneBmc, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    if name in ("trust", "eject"):
        it.fleet.change(0, image="http://192.0.2.1/before.iso")
    monkeypatch.setattr(connector, "make", refuse)
    bmc = it.client()
    with pytest.raises(UnplannedWriteError, match=r"^BMC http://"):
        WRITES[name](bmc)
    assert it.writes == []


@pytest.mark.parametrize("name", READS)
def test_a_read_writes_nothing(it: OneBmc, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(connector, "make", refuse)
    READS[name](it.client())
    assert it.writes == []


@pytest.mark.parametrize("method", ["post", "patch", "put", "delete"])
def test_a_request_that_no_write_names_is_not_sent(it: OneBmc, method: str) -> None:
    bmc: Any = it.client()
    with pytest.raises(UnplannedWriteError, match=f"not made: a {method.upper()} that no write names"):
        getattr(bmc._http, method)("/redfish/v1/Systems/1")
    assert it.writes == []


def test_a_login_is_no_write(it: OneBmc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connector, "make", refuse)
    bmc = it.client(session=True)
    bmc.power()
    bmc.close()
    assert [request.partition(" ")[0] for request in it.writes] == ["POST", "DELETE"]
