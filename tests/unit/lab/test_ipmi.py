"""The IPMI BMCs of a twin: the program's own client, and behind it the real sushy-tools on libvirt's test driver."""

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import libvirt
import pytest
import yaml
from pydantic import SecretStr
from sushy_tools.emulator.resources.systems.libvirtdriver import LibvirtDriver

from base.errors import BmcTransientError
from lab.disks import disks_of
from lab.inventory import STACKS, load_site
from lab.rehearsal import provisioner
from lab.rehearsal.provisioner import Provisioner
from lab.shell import LabError
from lab.site import bmc, ipmi, libvirtd
from lab.site.ipmi import bmc_of
from lab.site.systems import RESET
from lab.twin import PASSWORD, USERNAME
from testing.fakes.clock import FakeClock
from testing.fakes.ipmi.links import SimulatedLink
from wires.bmc.access import BmcAccess
from wires.bmc.client import HDD, ONCE, PXE, BootOverride, Identity, Power
from wires.ipmi.bmc import IpmiBmc

URI = "test:///default"
NAME = "net-b"


@dataclass
class Emulator:
    """sushy-tools' driver, by the requests of `lab.site.systems.ask`."""

    driver: LibvirtDriver
    uuid: str
    writes: list[str] = field(default_factory=list)

    def ask(self, method: str, uuid: str, below: str = "", body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        match method, body:
            case "GET", None:
                boot = {"BootSourceOverrideTarget": self.driver.get_boot_device(uuid)}
                return {"PowerState": self.driver.get_power_state(uuid), "Boot": boot}
            case "PATCH", {"Boot": {"BootSourceOverrideTarget": target, "BootSourceOverrideMode": mode}}:
                self.driver.set_boot_device(uuid, target)
                self.driver.set_boot_mode(uuid, mode)
                self.writes.append(f"{target} {mode}")
            case "PATCH", {"Boot": {"BootSourceOverrideTarget": target, "BootSourceOverrideEnabled": "Once"}}:
                self.driver.set_boot_device(uuid, target)
                self.writes.append(target)
            case "POST", {"ResetType": reset}:
                assert below == "/Actions/ComputerSystem.Reset"
                self.driver.set_power_state(uuid, reset)
                self.writes.append(reset)
            case _:
                raise AssertionError(f"{method} {below} {body}")
        return {}


@pytest.fixture
def emulator(monkeypatch: pytest.MonkeyPatch) -> Iterator[Emulator]:
    site = load_site("managed")
    (server,) = [server for server in site.plan.servers if server.name == NAME]
    disks = [(disk, Path("/disk")) for disk in disks_of(server.root_device_hints.given)]
    settings: dict[str, object] = {}
    exec(bmc._config(site), settings)  # noqa: S102  (as the emulator reads it)
    connection = libvirt.open(URI)
    domain = connection.defineXML(libvirtd._server_xml(site, server, disks).replace('type="qemu"', 'type="test"', 1))
    driver = LibvirtDriver.initialize(settings, logging.getLogger("sushy-tools"), URI)()
    it = Emulator(driver, domain.UUIDString())
    monkeypatch.setattr(ipmi, "ask", it.ask)
    yield it
    domain = connection.lookupByUUIDString(it.uuid)
    if domain.isActive():
        domain.destroy()
    domain.undefine()
    connection.close()


@pytest.fixture
def client(emulator: Emulator) -> IpmiBmc:
    clock, fake = FakeClock(), bmc_of(emulator.uuid, NAME)
    access = BmcAccess(address="ipmi://172.22.50.12", username=USERNAME)
    return IpmiBmc(access, SecretStr(PASSWORD), clock=clock, connect=lambda *_: SimulatedLink(fake, clock))


def test_a_server_behind_ipmi_boots_what_its_flags_say_once(emulator: Emulator, client: IpmiBmc) -> None:
    assert client.identity() == Identity(emulator.uuid, f"LAB-{NAME}", "R650", "Dell")
    assert client.power() is Power.OFF
    client.set_override(PXE, ONCE)
    assert (client.boot_override(), emulator.writes) == (BootOverride(PXE, ONCE), [])
    client.request_power(Power.ON)
    assert (client.power(), emulator.driver.get_boot_device(emulator.uuid)) == (Power.ON, "Pxe")
    assert client.boot_override() == BootOverride("None", "Disabled")
    client.request_power(Power.OFF)
    client.request_power(Power.OFF)
    client.request_power(Power.ON)
    assert emulator.driver.get_boot_device(emulator.uuid) == "Hdd"
    assert emulator.driver.get_boot_mode(emulator.uuid) == "UEFI"
    assert emulator.writes == ["Pxe UEFI", "On", "ForceOff", "Hdd UEFI", "On"]


def test_a_boot_of_a_proof_leaves_the_emulators_target(monkeypatch: pytest.MonkeyPatch, emulator: Emulator) -> None:
    """Its BMC would not show the target, so no `pulumi destroy` could set it back (twin unmanaged, 2026-11-28)."""
    site = load_site("managed")
    (server,) = [server for server in site.plan.servers if server.name == NAME]
    monkeypatch.setattr(provisioner, "ask", emulator.ask)
    site = replace(site, uuids={NAME: emulator.uuid})
    emulator.ask("POST", emulator.uuid, RESET, {"ResetType": "On"})
    Provisioner(Mock(), site, Mock()).boot_from_network(server)
    assert emulator.writes == ["On", "ForceOff", "Pxe", "On", "Hdd"]
    assert emulator.ask("GET", emulator.uuid) == {
        "PowerState": "On",
        "Boot": {"BootSourceOverrideTarget": "Hdd"},
    }


def test_an_override_without_the_bit_of_uefi_boots_by_bios(emulator: Emulator, client: IpmiBmc) -> None:
    client.set_override(HDD, ONCE, "Legacy")
    client.request_power(Power.ON)
    assert emulator.writes == ["Hdd Legacy", "On"]


def test_a_bmc_is_silent_while_the_emulator_is(monkeypatch: pytest.MonkeyPatch, client: IpmiBmc) -> None:
    def refuse(*_: object) -> None:
        raise ConnectionRefusedError

    assert client.power() is Power.OFF
    monkeypatch.setattr(ipmi, "ask", refuse)
    with pytest.raises(BmcTransientError, match="Get Chassis Status: no answer within 6 s"):
        client.power()


def test_the_twin_of_managed_has_a_bmc_that_speaks_ipmi() -> None:
    site = load_site("managed")
    config = json.loads(bmc._ipmi_config(site))
    assert config == [{"address": "172.22.50.12", "port": 623, "uuid": site.uuids[NAME], "name": NAME}]
    names = [name for listener in bmc.listeners(site) for name, _ in listener.servers]
    assert sorted([*names, NAME]) == sorted(site.bmcs)
    assert bmc._ipmi_config(load_site()) == ""


def test_a_site_without_redfish_has_no_front_of_it() -> None:
    site = load_site("managed")
    only = replace(site, bmcs={name: replace(each, ipmi=True) for name, each in site.bmcs.items()})
    assert bmc._front_config(only) == ""
    assert len(json.loads(bmc._ipmi_config(only))) == len(site.bmcs)


def test_a_server_that_ipmi_would_have_to_boot_by_bios_is_refused(tmp_path: Path) -> None:
    (tmp_path / "managed").mkdir()
    for name in ("managed/install-config.yaml", "Pulumi.managed.yaml"):
        (tmp_path / name).write_text((STACKS / name).read_text())
    path = tmp_path / "managed" / "install-config.yaml"
    document = yaml.safe_load(path.read_text())
    document["platform"]["baremetal"]["hosts"][1]["bootMode"] = "legacy"
    path.write_text(yaml.safe_dump(document))
    with pytest.raises(LabError, match=r"net-b\.bootMode: legacy behind IPMI: .*Fix: rehearse with UEFI"):
        load_site("managed", tmp_path)
