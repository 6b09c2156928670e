"""The network cards of a twin's server, as its `networkConfig` names them."""

from typing import Any

import pytest
import yaml

from cluster.install_config.platform import MANAGED
from cluster.plan.model import Intent, PlannedHost
from lab.nics import Nic, machine_mac, nics_of, not_emulated, vlan_of
from testing import plans

BOOT = "52:54:00:11:10:15"
DHCP = "ipv4: {enabled: true, dhcp: true}"
STATIC = "ipv4: {enabled: true, address: [{ip: 192.168.111.21, prefix-length: 24}]}"


def host(*interfaces: str) -> PlannedHost:
    """Return a server whose boot MAC is BOOT and whose address is 192.168.111.21."""
    config: dict[str, Any] = {"interfaces": [yaml.safe_load(f"{{{text}}}") for text in interfaces]}
    return plans.plan().servers[0].changed(network_config=config)


BOND = "name: bond0, type: bond, link-aggregation: {mode: active-backup, port: [eno1, eno2]}"
VLAN = "name: bond0.120, type: vlan, vlan: {base-iface: bond0, id: 120}"
ON_CARD = "name: br0, type: linux-bridge, bridge: {port: [{name: eno1}]}"
ON_VLAN = "name: br0, type: linux-bridge, bridge: {options: {stp: {enabled: false}}, port: [{name: bond0.120}]}"
ON_BRIDGE = "name: br0.120, type: vlan, vlan: {base-iface: br0, id: 120}"


PLAN = plans.plan()


def managed(interface: str | None = None) -> Intent:
    """Return a plan with a provisioning network."""
    change = {"mode": MANAGED, "bridge": "prov", "interface": interface}
    return PLAN.changed(provisioning=PLAN.provisioning.changed(**change))


def test_a_server_without_network_config_has_one_card() -> None:
    server = PLAN.servers[0]
    assert server.boot_mac == BOOT
    assert nics_of(server, PLAN) == (Nic(BOOT, "eth0", "baremetal"),)


@pytest.mark.parametrize(
    "interfaces",
    [
        pytest.param([BOND, VLAN], id="unlisted"),
        pytest.param([BOND, "name: eno2, type: ethernet", "name: eno1, type: ethernet"], id="listed"),
    ],
)
def test_each_port_of_a_bond_is_a_card_and_the_first_has_the_boot_mac(interfaces: list[str]) -> None:
    cards = (Nic(BOOT, "eno1", "baremetal"), Nic("52:54:00:ff:3d:d4", "eno2", "baremetal"))
    assert nics_of(host(*interfaces), PLAN) == cards


def test_a_card_has_its_mac_of_the_config_and_the_boot_card_is_first() -> None:
    ports = [
        'name: eno1, type: ethernet, identifier: mac-address, mac-address: "0A:00:00:00:00:01"',
        f'name: eno2, type: ethernet, mac-address: "{BOOT}"',
    ]
    cards = (Nic(BOOT, "eno2", "baremetal"), Nic("0a:00:00:00:00:01", "eno1", "baremetal"))
    assert nics_of(host(*ports), PLAN) == cards


def test_a_boot_mac_that_no_interface_can_have_is_that_of_one_more_card() -> None:
    other = 'name: eth0, type: ethernet, mac-address: "0a:00:00:00:00:01"'
    cards = (Nic(BOOT, "eth1", "baremetal"), Nic("0a:00:00:00:00:01", "eth0", "baremetal"))
    assert nics_of(host(other), PLAN) == cards


@pytest.mark.parametrize(
    "upper", ["name: eno1.7, type: vlan, vlan: {base-iface: eno1, id: 7}", ON_CARD], ids=["vlan", "bridge"]
)
def test_what_a_vlan_or_a_bridge_is_on_is_a_card(upper: str) -> None:
    """Issue 40, 14."""
    assert nics_of(host(upper), PLAN) == (Nic(BOOT, "eno1", "baremetal"),)


@pytest.mark.parametrize("address", [DHCP, STATIC], ids=["dhcp", "static"])
def test_a_bridge_on_a_vlan_has_its_cards_on_the_trunk(address: str) -> None:
    """Issue 40, 14."""
    cards = nics_of(host(f"{ON_VLAN}, {address}", VLAN, BOND), PLAN)
    assert [(card.name, card.bridge) for card in cards] == [("eno1", "trunk"), ("eno2", "trunk")]


@pytest.mark.parametrize(
    ("interfaces", "interface", "cards"),
    [
        pytest.param([], None, ("eth0 prov", "eth1 baremetal"), id="no-config"),
        pytest.param(["name: eno1, type: ethernet"], None, ("eth0 prov", "eno1 baremetal"), id="config"),
        pytest.param(
            ["name: eno1, type: ethernet", f"name: eno2, type: ethernet, mac-address: '{BOOT}'"],
            None,
            ("eno2 prov", "eno1 baremetal"),
            id="config-with-the-boot-mac",
        ),
        pytest.param(
            [f"name: eno2, type: ethernet, mac-address: '{BOOT}'"],
            None,
            ("eno2 prov", "eth0 baremetal"),
            id="only-config-of-the-provisioning-network",
        ),
        pytest.param(
            ["name: ens1, type: ethernet", "name: ens2, type: ethernet"],
            "ens2",
            ("ens2 prov", "ens1 baremetal"),
            id="provisioning-interface",
        ),
        pytest.param([BOND], "ens2", ("ens2 prov", "eno1 baremetal", "eno2 baremetal"), id="bond"),
        pytest.param([BOND, f"{VLAN}, {DHCP}"], None, ("eth0 prov", "eno1 trunk", "eno2 trunk"), id="vlan"),
        pytest.param(
            [f"name: ens1, type: ethernet, mac-address: '{BOOT}', {DHCP}", BOND, f"{VLAN}, {DHCP}"],
            None,
            ("ens1 prov", "eno1 trunk", "eno2 trunk"),
            id="vlan-beside-dhcp-of-provisioning",
        ),
    ],
)
def test_only_the_first_card_is_on_the_provisioning_network(
    interfaces: list[str], interface: str | None, cards: tuple[str, ...]
) -> None:
    nics = nics_of(host(*interfaces), managed(interface))
    assert tuple(f"{card.name} {card.bridge}" for card in nics) == cards
    assert [card.mac == BOOT for card in nics] == [True] + [False] * (len(cards) - 1)


@pytest.mark.parametrize(
    ("interfaces", "name"),
    [
        pytest.param([], "eth1", id="no-config"),
        pytest.param(["name: eno1, type: ethernet", f"name: eno2, type: ethernet, {DHCP}"], "eno2", id="dhcp"),
        pytest.param(
            [f"name: eno1, type: ethernet, {DHCP}", f"name: eno2, type: ethernet, {STATIC}"], "eno2", id="static"
        ),
        pytest.param(["name: eno0, type: ethernet", BOND, f"{VLAN}, {DHCP}"], "eno1", id="vlan-on-a-bond"),
        pytest.param(
            ["name: eno0, type: ethernet", BOND, VLAN, f"{ON_VLAN}, {STATIC}"], "eno1", id="bridge-on-a-vlan"
        ),
        pytest.param([f"name: ens1, type: ethernet, mac-address: '{BOOT}', {DHCP}", BOND], "eno1", id="no-address"),
        pytest.param(
            [f"name: bond1, type: bond, link-aggregation: {{mode: active-backup, port: []}}, {DHCP}"],
            "eth1",
            id="on-nothing",
        ),
    ],
)
def test_the_machine_network_knows_a_server_by_the_card_below_its_address(interfaces: list[str], name: str) -> None:
    server, plan = host(*interfaces), managed()
    assert {card.name: card.mac for card in nics_of(server, plan)}[name] == machine_mac(server, plan)


def test_without_a_provisioning_network_a_server_is_known_by_its_boot_mac() -> None:
    assert machine_mac(host(f"name: eno2, type: ethernet, mac-address: '0a:00:00:00:00:01', {DHCP}"), PLAN) == BOOT


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
        pytest.param([f"{ON_CARD}, {STATIC}"], None, id="bridge"),
        pytest.param([f"{ON_VLAN}, {STATIC}", VLAN, BOND], 120, id="bridge-on-the-vlan"),
        pytest.param([ON_CARD, f"{ON_BRIDGE}, {DHCP}"], 120, id="vlan-on-the-bridge"),
        pytest.param([f"{ON_VLAN}, {DHCP}", VLAN, f"{BOND}, {DHCP}"], None, id="bridge-and-bond-ask"),
        pytest.param([f"{VLAN}, ipv6: {{enabled: true, autoconf: true}}"], 120, id="router"),
        pytest.param([BOND, f"{VLAN}, ipv4: {{enabled: false, dhcp: true}}"], None, id="no-interface-asks"),
    ],
)
def test_a_servers_frames_have_the_tag_of_the_vlan_that_its_address_is_on(
    interfaces: list[str], vlan: int | None
) -> None:
    assert vlan_of(host(*interfaces), PLAN) == vlan


@pytest.mark.parametrize(
    ("interface", "settings"),
    [
        (BOND, []),
        (VLAN, []),
        (ON_VLAN, []),
        (
            "name: br0, type: linux-bridge, bridge: {port: [{name: eno1}, {name: eno2}]}",
            ["linux-bridge of several ports: eno1, eno2"],
        ),
        ("name: br-ex, type: ovs-bridge", ["ovs-bridge"]),
        ("name: bond0, type: bond, link-aggregation: {mode: broadcast, port: [eno1]}", ["bond of mode broadcast"]),
        ("name: v, type: vlan, vlan: {base-iface: eno1, id: 7, protocol: 802.1ad}", ["vlan of protocol 802.1ad"]),
    ],
)
def test_a_setting_that_the_lab_cannot_emulate_is_named(interface: str, settings: list[str]) -> None:
    assert not_emulated(host(interface).network_config) == settings


@pytest.mark.parametrize("between", [[], [ON_VLAN]], ids=["directly", "over-a-bridge"])
def test_a_vlan_on_a_vlan_is_named(between: list[str]) -> None:
    base = "br0" if between else "bond0.120"
    outer = f"name: outer, type: vlan, vlan: {{base-iface: {base}, id: 7}}"
    assert not_emulated(host(VLAN, *between, outer).network_config) == ["vlan on the VLAN bond0.120"]
