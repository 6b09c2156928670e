"""The static addresses of a host, from nmstate as operators write it."""

from typing import Any

import pytest

from cluster.plan.static_addresses import static_addresses

BOOT_MAC = "52:54:00:11:10:15"


def interface(name: str, *ipv4: str, **more: Any) -> dict[str, Any]:
    """An interface with static IPv4 addresses."""
    listed = [{"ip": text, "prefix-length": 24} for text in ipv4]
    return {"name": name, "state": "up", "ipv4": {"enabled": True, "dhcp": False, "address": listed}, **more}


def ipv6(*texts: str) -> dict[str, Any]:
    return {"ipv6": {"enabled": True, "address": [{"ip": text, "prefix-length": 64} for text in texts]}}


@pytest.mark.parametrize(
    ("interfaces", "found"),
    [
        pytest.param([interface("eno1", "192.0.2.5")], ["192.0.2.5"], id="one"),
        pytest.param([interface("eno1", "192.0.2.5", "192.0.2.6")], ["192.0.2.5", "192.0.2.6"], id="two-of-one"),
        pytest.param(
            [interface("eno1", "192.0.2.5", **ipv6("FD00::5"))], ["192.0.2.5", "fd00::5"], id="two-families"
        ),
        pytest.param([interface("eno1", **ipv6("fd00::5"))], ["fd00::5"], id="ipv6-alone"),
        pytest.param([interface("eno1", **ipv6("fe80::5", "fd00::5"))], ["fd00::5"], id="link-local-is-left-out"),
        pytest.param(
            [interface("eno1"), interface("eno2"), interface("bond0", "192.0.2.5", type="bond")],
            ["192.0.2.5"],
            id="bond",
        ),
        pytest.param([interface("eno1"), interface("eno1.7", "192.0.2.5", type="vlan")], ["192.0.2.5"], id="vlan"),
        pytest.param(
            [
                interface("eno1", "198.51.100.5"),
                interface("eno2", "192.0.2.5", **{"identifier": "mac-address", "mac-address": BOOT_MAC.upper()}),
            ],
            ["192.0.2.5"],
            id="the-boot-interface-of-two",
        ),
        pytest.param(
            [interface("eno1", **{"mac-address": BOOT_MAC}), interface("eno2", "192.0.2.5")],
            ["192.0.2.5"],
            id="the-boot-interface-has-none",
        ),
        pytest.param([interface("eno1", "198.51.100.5"), interface("eno2", "192.0.2.5")], [], id="which-of-two"),
        pytest.param([{"name": "eno1", "ipv4": {"enabled": True, "dhcp": True}}], [], id="dhcp"),
        pytest.param(
            [{"name": "eno1", "ipv4": {"enabled": False, "address": [{"ip": "192.0.2.5"}]}}], [], id="switched-off"
        ),
        pytest.param([interface("eno1", "no address")], [], id="no-address"),
        pytest.param([{"name": "eno1", "ipv4": {"address": ["192.0.2.5"]}}], [], id="an-address-that-is-no-mapping"),
        pytest.param([{"name": "eno1", "ipv4": {"address": "192.0.2.5"}}], [], id="addresses-that-are-no-list"),
        pytest.param([{"name": "eno1", "ipv4": "192.0.2.5"}], [], id="a-family-that-is-no-mapping"),
        pytest.param(["eno1"], [], id="an-interface-that-is-no-mapping"),
        pytest.param("eno1", [], id="interfaces-that-are-no-list"),
    ],
)
def test_the_static_addresses_of_a_host(interfaces: Any, found: list[str]) -> None:
    assert [str(each) for each in static_addresses({"interfaces": interfaces}, BOOT_MAC)] == found


@pytest.mark.parametrize(
    ("interfaces", "found"),
    [
        pytest.param([interface("eno1", "198.51.100.5", **{"mac-address": BOOT_MAC})], [], id="there-alone"),
        pytest.param(
            [interface("eno1", "198.51.100.5", **{"mac-address": BOOT_MAC}), interface("eno2", "192.0.2.5")],
            ["192.0.2.5"],
            id="there-and-on-one-other",
        ),
        pytest.param([interface("eno2", "192.0.2.5")], ["192.0.2.5"], id="on-one-other"),
        pytest.param([interface("eno1", "198.51.100.5"), interface("eno2", "192.0.2.5")], [], id="which-of-two"),
    ],
)
def test_an_address_on_the_provisioning_network_is_not_the_host_s(interfaces: Any, found: list[str]) -> None:
    assert [
        str(each) for each in static_addresses({"interfaces": interfaces}, BOOT_MAC, boots_on_machine_network=False)
    ] == found


@pytest.mark.parametrize("config", [None, {}, {"dns-resolver": {}}])
def test_a_config_without_interfaces_has_no_addresses(config: dict[str, Any] | None) -> None:
    assert static_addresses(config, BOOT_MAC) == ()
