"""The node's address of a host with several interfaces; the networks are 192.168.111.0/24 (API) and .112.0/24."""

from typing import Any

import pytest

from cluster.install_config import read
from cluster.plan.intent import intent_of
from testing import clusters, plans
from testing.install_configs import host

BOOT_MAC = plans.install_config()["platform"]["baremetal"]["hosts"][0]["bootMACAddress"]
BOOT = {"identifier": "mac-address", "mac-address": BOOT_MAC}


def interface(name: str, *ipv4: str, **more: Any) -> dict[str, Any]:
    """Return an interface with static IPv4 addresses."""
    listed = [{"ip": text, "prefix-length": 24} for text in ipv4]
    family = {"enabled": True, "dhcp": False, "address": listed} if listed else {"enabled": False}
    return {"name": name, "type": "ethernet", "state": "up", "ipv4": family, **more}


DHCP = {"ipv4": {"enabled": True, "dhcp": True}}
BOND = {"type": "bond", "link-aggregation": {"mode": "802.3ad", "port": ["eno1", "eno2"]}}
V6 = {"ipv6": {"enabled": True, "address": [{"ip": "fd2e::21", "prefix-length": 64}]}}


def vlan(number: int, address: str) -> dict[str, Any]:
    return interface(f"bond0.{number}", address, type="vlan", vlan={"base-iface": "bond0", "id": number})


@pytest.mark.parametrize(
    ("interfaces", "expected"),
    [
        pytest.param([interface("eno1", "192.168.111.21")], ["192.168.111.21"], id="one"),
        pytest.param([interface("eno1", "203.0.113.21")], [], id="elsewhere"),
        pytest.param([interface("eno1", **DHCP), interface("ens1", "203.0.113.21")], [], id="B01-storage-static"),
        pytest.param(
            [interface("bond0", **BOND), vlan(100, "192.168.111.21"), vlan(200, "203.0.113.21")],
            ["192.168.111.21"],
            id="B02-bond-with-two-vlans",
        ),
        pytest.param(
            [interface("eno1", "203.0.113.21", **BOOT), interface("eno2", "192.168.111.21")],
            ["192.168.111.21"],
            id="B03-boot-card-on-another-network",
        ),
        pytest.param(
            [interface("eno1", "192.168.111.20", state="absent"), interface("eno2", "192.168.111.21")],
            ["192.168.111.21"],
            id="N10-absent",
        ),
        pytest.param(
            [interface("eno1", "192.168.111.20", state="down"), interface("eno2", "192.168.111.21")],
            ["192.168.111.21"],
            id="N11-down",
        ),
        pytest.param(
            [interface("eno1", "192.168.112.21", **BOOT), interface("eno2", "192.168.111.21")],
            ["192.168.111.21"],
            id="the-network-of-the-api-before-the-boot-card",
        ),
        pytest.param(
            [interface("eno1", "192.168.112.21", "192.168.111.21")],
            ["192.168.111.21", "192.168.112.21"],
            id="the-network-of-the-api-first",
        ),
        pytest.param(
            [interface("eno1", "192.168.111.20"), interface("eno2", "192.168.111.21", **BOOT)],
            ["192.168.111.21"],
            id="the-boot-card-of-two",
        ),
        pytest.param(
            [interface("eno1", "192.168.111.20"), interface("eno2", "192.168.111.21")], [], id="which-of-two"
        ),
        pytest.param(
            [interface("eno1", "192.168.111.21"), interface("eno2", **V6)],
            ["192.168.111.21", "fd2e::21"],
            id="a-card-per-family",
        ),
    ],
)
def test_the_address_of_a_node_is_that_in_its_machine_network(
    interfaces: list[dict[str, Any]], expected: list[str]
) -> None:
    config = plans.install_config()
    clusters.dual_stack(config)
    config["networking"]["machineNetwork"].append({"cidr": "192.168.112.0/24"})
    host(config).update(networkConfig={"interfaces": interfaces})
    intent = intent_of(read(plans.written(config)).config)
    assert [str(address) for address in intent.hosts[0].addresses] == expected
