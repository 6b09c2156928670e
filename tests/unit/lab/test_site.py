"""The lab's site, made from the plan: DHCP and DNS, the BMC's servers, their domains."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from lab.inventory import Site, load_site
from lab.site import bmc, libvirtd, network


@pytest.fixture(scope="module")
def site() -> Site:
    return load_site()


def test_every_machine_has_a_name_and_a_reservation_but_the_static_one(site: Site) -> None:
    lines = network._dnsmasq_conf(site.plan).splitlines()
    assert [line for line in lines if line.startswith(("host-record=", "address="))] == [
        "host-record=registry.lab.test,192.168.111.1",
        "host-record=api.okd.lab.test,192.168.111.5",
        "address=/apps.okd.lab.test/192.168.111.4",
        "host-record=okd-bootstrap.okd.lab.test,192.168.111.20",
        "host-record=okd-master-0.okd.lab.test,192.168.111.21",
        "host-record=okd-master-1.okd.lab.test,192.168.111.22",
        "host-record=okd-master-2.okd.lab.test,192.168.111.23",
        "host-record=okd-worker-0.okd.lab.test,192.168.111.24",
        "host-record=okd-worker-1.okd.lab.test,192.168.111.25",
    ]
    assert [line for line in lines if line.startswith("dhcp-host=")] == [
        "dhcp-host=52:54:00:11:10:14,okd-bootstrap,192.168.111.20,infinite",
        "dhcp-host=52:54:00:11:10:15,okd-master-0,192.168.111.21,infinite",
        "dhcp-host=52:54:00:11:10:16,okd-master-1,192.168.111.22,infinite",
        "dhcp-host=52:54:00:11:10:17,okd-master-2,192.168.111.23,infinite",
        "dhcp-host=52:54:00:11:10:18,okd-worker-0,192.168.111.24,infinite",
        "dhcp-host=52:54:00:11:10:19,ignore",
    ]
    assert "dhcp-range=192.168.111.0,static,255.255.255.0,infinite" in lines


def test_the_provisioner_has_the_first_address_of_the_machine_network(site: Site) -> None:
    assert str(network.provisioner_address(site.plan)) == "192.168.111.1/24"


def test_the_bmc_lists_only_the_servers(site: Site) -> None:
    settings: dict[str, object] = {}
    exec(bmc._config(site), settings)  # noqa: S102  (as the emulator reads it)
    assert settings["SUSHY_EMULATOR_ALLOWED_INSTANCES"] == [
        "6058de92-e7e4-55e9-914d-943d53924e75",
        "a4ffb296-4458-52b6-860d-f9eac477f8dd",
        "9004639d-a868-5002-b425-5804e4e00544",
        "f7d4d306-bb28-5b97-afa6-5ed614d4db32",
        "4f9dded0-6f17-5973-aabe-d17b75eb547c",
    ]
    listens = settings["SUSHY_EMULATOR_LISTEN_IP"], settings["SUSHY_EMULATOR_LISTEN_PORT"]
    assert listens == ("172.22.0.1", 8443)


@pytest.mark.parametrize("index", [0, 4])
def test_a_domain_has_the_values_of_its_server(site: Site, index: int) -> None:
    server = site.plan.servers[index]
    text = libvirtd._server_xml(server, site.uuids[server.name], Path("/disk"))
    domain = ET.fromstring(text)  # noqa: S314  (our own)
    assert domain.findtext("name") == server.name
    assert domain.findtext("uuid") == site.uuids[server.name]
    assert domain.findtext("memory") == "1100"
    assert [each.get("address") for each in domain.iterfind("devices/interface/mac")] == [server.boot_mac]
