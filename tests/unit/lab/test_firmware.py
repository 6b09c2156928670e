"""The firmware of a twin's servers, as the real sushy-tools reads and switches it on libvirt's test driver."""

import logging
import re
from collections.abc import Iterator
from pathlib import Path

import libvirt
import pytest
from sushy_tools.emulator.resources.systems.libvirtdriver import LibvirtDriver

from lab.disks import disks_of
from lab.inventory import load_site
from lab.site import bmc, libvirtd

URI = "test:///default"


@pytest.fixture
def system() -> Iterator[tuple[LibvirtDriver, str]]:
    """Yield the emulator's driver, and the UUID of a server as the lab defines it."""
    site = load_site("compact")
    server = site.plan.servers[2]
    disks = [(disk, Path("/disk")) for disk in disks_of(server.root_device_hints.given)]
    text = libvirtd._server_xml(site, server, disks)
    settings: dict[str, object] = {}
    exec(bmc._config(site), settings)  # noqa: S102  (as the emulator reads it)
    connection = libvirt.open(URI)
    domain = connection.defineXML(text.replace('type="qemu"', 'type="test"', 1))
    yield LibvirtDriver.initialize(settings, logging.getLogger("sushy-tools"), URI)(), domain.UUIDString()
    connection.lookupByUUIDString(domain.UUIDString()).undefine()
    connection.close()


def test_a_server_starts_with_uefi_and_can_switch_its_boot_mode(
    system: tuple[LibvirtDriver, str],
) -> None:
    driver, uuid = system
    assert (driver.get_boot_mode(uuid), driver.get_secure_boot(uuid)) == ("UEFI", False)
    driver.set_secure_boot(uuid, True)
    assert (driver.get_boot_mode(uuid), driver.get_secure_boot(uuid)) == ("UEFI", True)
    driver.set_secure_boot(uuid, False)
    driver.set_boot_mode(uuid, "Legacy")
    assert driver.get_boot_mode(uuid) == "Legacy"
    driver.set_boot_mode(uuid, "UEFI")
    assert (driver.get_boot_mode(uuid), driver.get_secure_boot(uuid)) == ("UEFI", False)


def test_the_disk_of_the_hints_is_the_next_to_boot_after_the_virtual_cd() -> None:
    """The program asks for `Hdd` only where the BMC reads otherwise. This one reads it as soon as the CD is gone."""
    site = load_site()
    server = site.plan.servers[0]
    disks = [(disk, Path("/disk")) for disk in disks_of(server.root_device_hints.given)]
    text = libvirtd._server_xml(site, server, disks)
    drive = '<disk type="file" device="cdrom"><target dev="sdx" bus="scsi"/></disk></devices>'
    connection = libvirt.open(URI)
    domain = connection.defineXML(text.replace('type="qemu"', 'type="test"', 1).replace("</devices>", drive))
    try:
        LibvirtDriver.initialize({}, logging.getLogger("sushy-tools"), URI)().set_boot_device(
            domain.UUIDString(), "Cd"
        )
        parts = domain.XMLDesc().split("<disk ")[1:]
    finally:
        domain.undefine()
        connection.close()
    order = {
        int(boot[1]): target[1]
        for part in parts
        if (boot := re.search("<boot order='(.)'", part)) and (target := re.search("<target dev='(.*?)'", part))
    }
    assert order == {1: "sdx", 2: "vda"}
