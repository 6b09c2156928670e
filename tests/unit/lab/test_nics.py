"""The network cards of a twin's server, as its `networkConfig` names them."""

from typing import Any

import pytest
import yaml

from cluster.plan.model import PlannedHost
from lab.nics import Nic, nics_of, not_emulated, vlan_of
from testing import plans

BOOT = "52:54:00:11:10:15"
DHCP = "ipv4: {enabled: true, dhcp: true}"
STATIC = "ipv4: {enabled: true, address: [{ip: 192.168.111.21, prefix-length: 24}]}"


def host(*interfaces: str) -> PlannedHost:
    """Return a server whose boot MAC is BOOT and whose address is 192.168.111.21."""
    config: dict[str, Any] = {"interfaces": [yaml.safe_load(f"{{{each}}}") for each in interfaces]}
    return plans.plan().servers[0].model_copy(update={"network_config": config})


BOND = "name: bond0, type: bond, link-aggregation: {mode: active-backup, port: [eno1, eno2]}"
VLAN = "name: bond0.120, type: vlan, vlan: {base-iface: bond0, id: 120}"


def test_a_server_without_network_config_has_one_card() -> None:
    server = plans.plan().servers[0]
    assert server.boot_mac == BOOT
    assert nics_of(server) == (Nic(BOOT, "eth0"),)


@pytest.mark.parametrize(
    "interfaces",
    [
        pytest.param([BOND, VLAN], id="unlisted"),
        pytest.param([BOND, "name: eno2, type: ethernet", "name: eno1, type: ethernet"], id="listed"),
    ],
)
def test_each_port_of_a_bond_is_a_card_and_the_first_has_the_boot_mac(interfaces: list[str]) -> None:
    assert nics_of(host(*interfaces)) == (Nic(BOOT, "eno1"), Nic("52:54:00:ff:3d:d4", "eno2"))


def test_a_card_has_the_mac_that_the_config_has_for_it_and_that_with_the_boot_mac_is_first() -> None:
    ports = [
        'name: eno1, type: ethernet, identifier: mac-address, mac-address: "0A:00:00:00:00:01"',
        f'name: eno2, type: ethernet, mac-address: "{BOOT}"',
    ]
    assert nics_of(host(*ports)) == (Nic(BOOT, "eno2"), Nic("0a:00:00:00:00:01", "eno1"))


def test_a_boot_mac_that_no_interface_can_have_is_that_of_one_more_card() -> None:
    other = 'name: eth0, type: ethernet, mac-address: "0a:00:00:00:00:01"'
    assert nics_of(host(other)) == (Nic(BOOT, "eth1"), Nic("0a:00:00:00:00:01", "eth0"))


def test_what_a_vlan_is_on_is_a_card() -> None:
    assert nics_of(host("name: eno1.7, type: vlan, vlan: {base-iface: eno1, id: 7}")) == (Nic(BOOT, "eno1"),)


@pytest.mark.parametrize(
    ("interfaces", "vlan"),
    [
        pytest.param([f"name: eno1, type: ethernet, {DHCP}"], None, id="no-vlan"),
        pytest.param([BOND, f"{VLAN}, {DHCP}"], 120, id="dhcp"),
        pytest.param([BOND, f"{VLAN}, {STATIC}"], 120, id="static"),
        pytest.param(
            [f"{VLAN}, {DHCP}", f"name: eno1, type: ethernet, {STATIC}"], None, id="address-on-the-card-itself"
        ),
        pytest.param([f"{VLAN}, {DHCP}", f"{BOND}, {DHCP}"], None, id="both-ask"),
        pytest.param([f"{VLAN}, ipv6: {{enabled: true, autoconf: true}}"], 120, id="router"),
        pytest.param([BOND, f"{VLAN}, ipv4: {{enabled: false, dhcp: true}}"], None, id="nobody-asks"),
    ],
)
def test_a_servers_frames_have_the_tag_of_the_vlan_that_its_address_is_on(
    interfaces: list[str], vlan: int | None
) -> None:
    assert vlan_of(host(*interfaces)) == vlan


@pytest.mark.parametrize(
    ("interface", "found"),
    [
        (BOND, []),
        (VLAN, []),
        ("name: br-ex, type: ovs-bridge", ["ovs-bridge"]),
        ("name: bond0, type: bond, link-aggregation: {mode: broadcast, port: [eno1]}", ["bond of mode broadcast"]),
        ("name: v, type: vlan, vlan: {base-iface: eno1, id: 7, protocol: 802.1ad}", ["vlan of protocol 802.1ad"]),
    ],
)
def test_what_no_server_of_the_lab_can_have_is_named(interface: str, found: list[str]) -> None:
    assert not_emulated(host(interface).network_config) == found


def test_a_vlan_on_a_vlan_is_named() -> None:
    inner = "name: bond0.120.7, type: vlan, vlan: {base-iface: bond0.120, id: 7}"
    assert not_emulated(host(VLAN, inner).network_config) == ["vlan on the VLAN bond0.120"]
