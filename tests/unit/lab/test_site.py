"""The lab's site, made from the plan: DHCP and DNS, the BMC's servers, their domains."""

import shutil
import xml.etree.ElementTree as ET
from configparser import ConfigParser
from dataclasses import replace
from pathlib import Path

import flask
import pytest
import yaml
from sushy_tools.emulator.main import app

from assets.render import render
from lab.disks import disks_of
from lab.inventory import Site, load_site
from lab.shell import LabError
from lab.site import bmc, emulator, libvirtd, network, provisioning
from testing.checkout import ROOT
from testing.clusters import as_stack
from wires.redfish.inventory.parts import drive


@pytest.fixture(scope="module")
def site() -> Site:
    return load_site()


def test_every_machine_has_a_name_and_a_reservation(site: Site) -> None:
    lines = network._dnsmasq_conf(site).splitlines()
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
        "dhcp-host=52:54:00:11:10:19,okd-worker-1,192.168.111.25,infinite",
    ]
    assert "dhcp-range=192.168.111.0,static,255.255.255.0,infinite" in lines


def test_dhcp_ignores_static_machines_and_dns_has_the_named_bmcs() -> None:
    lines = network._dnsmasq_conf(load_site("compact")).splitlines()
    assert [line for line in lines if line.startswith("dhcp-host=")] == [
        "dhcp-host=52:54:00:0b:a5:69,ignore",
        "dhcp-host=52:54:00:20:00:0a,edge-a,10.20.1.21,infinite",
        "dhcp-host=52:54:00:20:00:0b,edge-b,10.20.1.22,infinite",
        "dhcp-host=52:54:00:20:00:0c,edge-c,10.20.1.23,infinite",
    ], "firmware that boots by HTTP knows no static address"
    assert "host-record=edge-a-bmc.lab.test,172.22.1.1" in lines
    assert "interface=br-machines" in lines


def test_a_time_server_that_is_named_is_the_provisioner() -> None:
    lines = network._dnsmasq_conf(load_site("dual-stack")).splitlines()
    records = [line for line in lines if line.startswith("host-record=ntp.")]
    assert records == [f"host-record=ntp.lab.test,{own}" for own in ("10.30.0.2", "fd30:0:0:1::1", "10.31.0.1")]


def test_each_network_of_a_family_has_a_range_of_its_own() -> None:
    lines = network._dnsmasq_conf(load_site("dual-stack")).splitlines()
    assert [line for line in lines if line.startswith("dhcp-range=10")] == [
        "dhcp-range=10.30.0.0,static,255.255.255.0,infinite",
        "dhcp-range=10.31.0.0,static,255.255.255.0,infinite",
    ]
    assert "dhcp-host=52:54:00:30:00:0d,rack-d,10.31.0.24,[fd30:0:0:1::24],infinite" in lines


def test_a_site_with_a_balancer_has_names_for_its_one_address() -> None:
    lines = network._dnsmasq_conf(load_site("balancer")).splitlines()
    assert [line for line in lines if line.startswith(("host-record=api", "address="))] == [
        "host-record=api.balanced.lab.test,10.41.0.100",
        "host-record=api-int.balanced.lab.test,10.41.0.100",
        "address=/apps.balanced.lab.test/10.41.0.100",
    ]


def test_each_family_has_names_reservations_and_a_router(tmp_path: Path) -> None:
    lines = network._dnsmasq_conf(load_site("dual-stack", as_stack("dual-stack", tmp_path))).splitlines()
    assert [line for line in lines if line.startswith(("host-record=", "address="))][:8] == [
        "host-record=registry.lab.test,192.168.111.1",
        "host-record=registry.lab.test,fd2e::1",
        "host-record=api.okd.lab.test,192.168.111.5",
        "host-record=api.okd.lab.test,fd2e::5",
        "address=/apps.okd.lab.test/192.168.111.4",
        "address=/apps.okd.lab.test/fd2e::4",
        "host-record=okd-bootstrap.okd.lab.test,192.168.111.20",
        "host-record=okd-bootstrap.okd.lab.test,fd2e::20",
    ]
    assert [line for line in lines if line.startswith(("dhcp-range=", "enable-ra", "dhcp-option="))] == [
        "dhcp-range=192.168.111.0,static,255.255.255.0,infinite",
        "enable-ra",
        "dhcp-range=fd2e::,static,64,infinite",
        "dhcp-option=option6:dns-server,[fd2e::1]",
    ]
    assert "dhcp-host=52:54:00:11:10:15,okd-master-0,192.168.111.21,[fd2e::21],infinite" in lines


def test_a_bootstrap_vm_with_one_static_address_has_the_other_by_dhcp(tmp_path: Path) -> None:
    """Issue 40, 16: bootstrapExternalStaticIP is of one family."""
    stacks = as_stack("dual-stack", tmp_path)
    path = stacks / "dual-stack" / "install-config.yaml"
    config = yaml.safe_load(path.read_text())
    static = {"IP": "192.168.111.20", "Gateway": "192.168.111.1", "DNS": "192.168.111.1"}
    config["platform"]["baremetal"] |= {f"bootstrapExternalStatic{key}": value for key, value in static.items()}
    path.write_text(yaml.safe_dump(config))
    site = load_site("dual-stack", stacks)
    (line,) = [line for line in network._dnsmasq_conf(site).splitlines() if site.plan.bootstrap.mac in line]
    assert line.endswith(",192.168.111.20,[fd2e::20],infinite")
    (keyfile,) = [file for file in render(site.plan).bootstrap if file.name == "okd-external.nmconnection"]
    sections = ConfigParser()
    sections.read_string(keyfile.text)
    assert sections["ipv4"]["address1"] == "192.168.111.20/24,192.168.111.1"
    assert (sections["ipv4"]["method"], sections["ipv6"]["method"]) == ("manual", "auto")


def test_a_cluster_without_ipv4_has_no_dhcp_of_it(tmp_path: Path) -> None:
    lines = network._dnsmasq_conf(load_site("ipv6", as_stack("ipv6", tmp_path))).splitlines()
    assert [line for line in lines if line.startswith("dhcp-range=")] == ["dhcp-range=fd2e::,static,64,infinite"]
    assert "dhcp-host=52:54:00:11:10:15,okd-master-0,[fd2e::21],infinite" in lines


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
    assert listens == ("127.0.0.1", 8000)


def test_one_address_may_be_the_bmc_of_several_servers(site: Site) -> None:
    shared = dict.fromkeys(site.bmcs, site.bmcs["okd-master-0"])
    (listener,) = bmc.listeners(replace(site, bmcs=shared))
    assert (str(listener.address), listener.port, len(listener.servers)) == ("172.22.0.101", 8443, 5)
    assert [len(listener.servers) for listener in bmc.listeners(site)] == [1] * 5


def test_a_bmc_calls_its_system_as_the_install_config_does() -> None:
    rules = [line.strip() for line in bmc._front_config(load_site("example")).splitlines() if "Embedded" in line]
    assert rules == [
        r"http-request replace-path '^/redfish/v1/Systems/System\.Embedded\.1(/.*)?$' "
        r"/redfish/v1/Systems/b997cf25-eb2b-5dcc-9b18-e1821e56d9d6\1"
    ]


@pytest.mark.parametrize("index", [0, 4])
def test_a_domain_has_the_values_of_its_server(site: Site, index: int) -> None:
    server = site.plan.servers[index]
    disks = [(disk, Path("/disk")) for disk in disks_of({"deviceName": "/dev/vda"})]
    text = libvirtd._server_xml(site, server, disks)
    domain = ET.fromstring(text)  # noqa: S314  (our own)
    assert domain.findtext("name") == server.name
    assert domain.findtext("uuid") == site.uuids[server.name]
    assert domain.findtext("memory") == "1100"
    assert [mac.get("address") for mac in domain.iterfind("devices/interface/mac")] == [server.boot_mac]
    assert [source.get("bridge") for source in domain.iterfind("devices/interface/source")] == ["baremetal"]


def test_an_interface_has_the_name_of_its_network_config() -> None:
    compact = load_site("compact")
    names = {}
    for host in compact.plan.hosts:
        text = libvirtd._server_xml(compact, host, [])
        names[host.name] = ET.fromstring(text).findtext("sysinfo/entry")  # noqa: S314  (our own)
    assert names["edge-a"] == "52:54:00:20:00:0a eth0\n"
    assert names["edge-c"] == "52:54:00:20:00:0c eno1\n"


def test_a_server_with_a_vlan_on_a_bond_has_its_ports_on_the_trunk(
    site: Site,
) -> None:
    bond = {"name": "bond0", "type": "bond", "link-aggregation": {"mode": "802.3ad", "port": ["eno1", "eno2"]}}
    dhcp = {"enabled": True, "dhcp": True}
    vlan = {"name": "bond0.120", "type": "vlan", "vlan": {"base-iface": "bond0", "id": 120}, "ipv4": dhcp}
    server = site.plan.servers[0].changed(network_config={"interfaces": [bond, vlan]})
    domain = ET.fromstring(libvirtd._server_xml(site, server, []))  # noqa: S314  (our own)
    macs = [mac.get("address") for mac in domain.iterfind("devices/interface/mac")]
    assert domain.findtext("sysinfo/entry") == f"{macs[0]} eno1\n{macs[1]} eno2\n"
    assert [source.get("bridge") for source in domain.iterfind("devices/interface/source")] == ["trunk", "trunk"]


def test_a_server_boots_first_from_its_card_on_the_provisioning_network() -> None:
    managed = load_site("managed")
    server = managed.plan.compute[0]
    domain = ET.fromstring(libvirtd._server_xml(managed, server, []))  # noqa: S314  (our own)
    macs = [mac.get("address") for mac in domain.iterfind("devices/interface/mac")]
    assert macs == ["52:54:00:50:00:0d", "52:54:00:ca:bc:63"]
    assert [source.get("bridge") for source in domain.iterfind("devices/interface/source")] == [
        "provisioning",
        "br-managed",
    ]
    assert domain.findtext("sysinfo/entry") == "52:54:00:50:00:0d enp1s0\n52:54:00:ca:bc:63 eno2\n"


def test_dhcp_of_the_machine_network_serves_the_cards_that_are_on_it() -> None:
    lines = network._dnsmasq_conf(load_site("managed")).splitlines()
    assert [line for line in lines if line.startswith("dhcp-host=")] == [
        "dhcp-host=52:54:00:de:b0:bd,managed-bootstrap,10.50.0.20,infinite",
        "dhcp-host=52:54:00:47:a8:09,net-a,10.50.0.21,infinite",
        "dhcp-host=52:54:00:17:62:6c,net-b,10.50.0.22,infinite",
        "dhcp-host=52:54:00:d2:39:bb,net-c,10.50.0.23,infinite",
        "dhcp-host=52:54:00:ca:bc:63,ignore",
        "dhcp-host=52:54:00:af:9e:fe,net-e,10.50.0.25,infinite",
    ]


def test_http_boot_on_the_provisioning_network_needs_no_dhcp_elsewhere(tmp_path: Path) -> None:
    stacks = shutil.copytree(ROOT / "stacks", tmp_path / "stacks")
    file = stacks / "managed" / "install-config.yaml"
    before, net_d, after = file.read_text().partition("      - name: net-d\n")
    file.write_text(before + net_d + after.replace("bootMode: legacy", "bootMode: UEFISecureBoot", 1))
    assert "dhcp-host=52:54:00:ca:bc:63,ignore" in network._dnsmasq_conf(load_site("managed", stacks)).splitlines()


def test_an_unmanaged_site_serves_its_provisioning_network() -> None:
    lines = provisioning._dnsmasq_conf(load_site("unmanaged")).splitlines()
    assert [line for line in lines if line.startswith(("interface=", "dhcp-host=", "dhcp-range=", "dhcp-boot="))] == [
        "interface=br-site",
        "dhcp-range=10.52.0.1,10.52.0.254,255.255.255.0,infinite",
        "dhcp-host=52:54:00:51:00:0a",
        "dhcp-host=52:54:00:51:00:0b",
        "dhcp-host=52:54:00:51:00:0c",
        "dhcp-host=52:54:00:51:00:0d",
        "dhcp-boot=tag:ipxe,http://10.52.0.2:8080/boot.ipxe",
        "dhcp-boot=tag:!ipxe,tag:efi,snponly.efi",
        "dhcp-boot=tag:!ipxe,tag:!efi,tag:!http,undionly.kpxe",
    ]


def test_an_unmanaged_site_serves_a_provisioning_network_of_ipv6() -> None:
    lines = provisioning._dnsmasq_conf(load_site("ipv6")).splitlines()
    assert [line for line in lines if line.startswith(("enable-ra", "ra-param=", "dhcp-range=", "dhcp-option="))] == [
        "dhcp-range=fd61:0:0:1::1000,fd61:0:0:1::1fff,slaac,64,infinite",
        "enable-ra",
        "ra-param=*,0,0",
        "dhcp-option=tag:ipxe,option6:bootfile-url,http://[fd61:0:0:1::2]:8080/boot.ipxe",
        "dhcp-option=tag:efi,tag:!ipxe,option6:bootfile-url,tftp://[fd61:0:0:1::2]/snponly.efi",
    ]


@pytest.mark.parametrize(("stack", "other"), [("ipv6", "IPv4"), ("managed", "IPv6")])
def test_firmware_asks_only_by_the_family_of_the_provisioning_network(stack: str, other: str) -> None:
    there = load_site(stack)
    domain = ET.fromstring(libvirtd._server_xml(there, there.plan.hosts[0], []))  # noqa: S314  (our own)
    entries = {str(it.get("name")): it.text for it in domain.iterfind("sysinfo/entry")}
    firmware = {name: text for name, text in entries.items() if name.startswith("opt/org.tianocore/")}
    assert firmware == {f"opt/org.tianocore/{other}PXESupport": "n"}


def test_foreign_dhcp_needs_a_provisioning_network(site: Site) -> None:
    foreign = provisioning.foreign_dhcp(site)
    with pytest.raises(LabError, match=r"^rehearsal has no provisioning network\. Fix: name a stack that has one$"):
        foreign.__enter__()


def test_a_bmc_tells_each_disk_of_its_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """sushy-tools alone tells one serial number for all disks, so that none has a name of its own."""
    site = load_site("compact")
    (tmp_path / "conf").write_text(bmc._config(site))
    settings = flask.Config(tmp_path)
    settings.from_pyfile("conf")
    monkeypatch.setitem(app.config, "SUSHY_EMULATOR_DRIVES", settings["SUSHY_EMULATOR_DRIVES"])
    host = site.plan.hosts[0]
    for disk in site.disks(host):
        path = f"/redfish/v1/Systems/{site.uuids[host.name]}/Storage/1/Drives/{disk.bus}-{disk.target}"
        with app.test_request_context(path):
            answer = emulator._show_drive(flask.Response('{"SerialNumber": "1234570"}', mimetype="application/json"))
        told = drive(answer.get_json())
        assert (told.serial, told.size_bytes, told.media) == (
            disk.serial,
            disk.gib << 30,
            "HDD" if disk.rotational else "SSD",
        )
        assert told.wwn == (f"0x{disk.wwn}" if disk.wwn else "")
