"""Interfaces, routes and DNS servers, from nmstate as operators write it."""

from typing import Any

import pytest
import yaml

from boot_media.keyfiles import keyfiles_of
from cluster.plan.network_config import NetworkConfig, NetworkInterface
from testing import clusters

BOOT_MAC = "52:54:00:11:10:15"


def interface(**settings: Any) -> NetworkInterface:
    """Return what is read of one interface."""
    written = {"name": "eno1", "type": "ethernet", **settings}
    (read,) = NetworkConfig.of({"interfaces": [written]}).interfaces
    return read


def ipv4(*texts: str, **more: Any) -> dict[str, Any]:
    """Return a family's settings with static addresses."""
    return {"enabled": True, "address": [{"ip": text, "prefix-length": 24} for text in texts], **more}


def test_an_interface_is_read_with_the_path_of_each_address() -> None:
    ipv6 = {
        "enabled": True,
        "address": [{"ip": "fe80::5", "prefix-length": 64}, {"ip": "FD00::5", "prefix-length": "64"}],
    }
    read = interface(**{"mac-address": BOOT_MAC.upper()}, state="down", ipv4=ipv4("192.0.2.5"), ipv6=ipv6)
    assert (read.path, read.name, read.type, read.mac, read.state) == (
        "interfaces[0]",
        "eno1",
        "ethernet",
        BOOT_MAC,
        "down",
    )
    assert [(static.path, str(static.cidr)) for static in read.addresses] == [
        ("interfaces[0].ipv4.address[0]", "192.0.2.5/24"),
        ("interfaces[0].ipv6.address[1]", "fd00::5/64"),
    ]


@pytest.mark.parametrize(
    ("state", "is_up"),
    [(None, True), ("up", True), ("down", False), ("absent", False), ("ignore", False), ("unknown", False)],
)
def test_only_an_interface_that_is_up_counts(state: str | None, is_up: bool) -> None:
    config = NetworkConfig.of({"interfaces": [{"name": "eno1"} | ({"state": state} if state else {})]})
    assert [read.name for read in config.up] == (["eno1"] if is_up else [])


@pytest.mark.parametrize(
    "family",
    [
        pytest.param({"address": [{"ip": "192.0.2.5", "prefix-length": 24}]}, id="not-enabled"),
        pytest.param(ipv4("192.0.2.5", enabled=False), id="switched-off"),
        pytest.param(ipv4("192.0.2.5", enabled="no"), id="switched-off-in-words"),
        pytest.param(ipv4("no address"), id="no-address"),
        pytest.param({"enabled": True, "address": [{"ip": "192.0.2.5"}]}, id="no-prefix"),
        pytest.param({"enabled": True, "address": ["192.0.2.5"]}, id="an-address-that-is-no-mapping"),
        pytest.param({"enabled": True, "address": "192.0.2.5"}, id="addresses-that-are-no-list"),
        pytest.param("192.0.2.5", id="a-family-that-is-no-mapping"),
    ],
)
def test_an_address_that_nmstate_does_not_set_is_left_out(family: Any) -> None:
    assert interface(ipv4=family).addresses == ()


@pytest.mark.parametrize(
    ("settings", "automatic", "dns"),
    [
        pytest.param({"ipv4": {"enabled": True, "dhcp": True}}, {4}, {4}, id="dhcp"),
        pytest.param(
            {"ipv4": {"enabled": "yes", "dhcp": "TRUE", "auto-dns": "no"}}, {4}, set(), id="without-its-dns"
        ),
        pytest.param({"ipv6": {"enabled": True, "autoconf": True}}, {6}, {6}, id="a-router"),
        pytest.param({"ipv4": {"enabled": False, "dhcp": True}}, set(), set(), id="switched-off"),
        pytest.param({"ipv4": ipv4("192.0.2.5", dhcp=False)}, set(), set(), id="static"),
    ],
)
def test_the_families_that_dhcp_or_a_router_configures(
    settings: dict[str, Any], automatic: set[int], dns: set[int]
) -> None:
    read = interface(**settings)
    assert ({*read.automatic}, {*read.automatic_dns}) == (automatic, dns)


@pytest.mark.parametrize("enabled", [True, "true", "Yes", "on", "y", "1", "off", "n", False])
def test_an_address_is_read_exactly_if_nmstate_writes_it(enabled: object) -> None:
    config = {"interfaces": [{"name": "eno1", "type": "ethernet", "ipv4": ipv4("192.0.2.5", enabled=enabled)}]}
    (keyfile,) = keyfiles_of(config)
    assert bool(NetworkConfig.of(config).interfaces[0].addresses) == ("192.0.2.5/24" in keyfile.text)


def test_routes_and_dns_servers_of_a_static_host() -> None:
    read = NetworkConfig.of(clusters.nmstate("eno1", "192.168.111.21"))
    (route,) = read.routes
    assert (route.path, str(route.destination), str(route.gateway), route.interface) == (
        "routes.config[0]",
        "0.0.0.0/0",
        "192.168.111.1",
        "eno1",
    )
    assert route.is_default
    assert [(server.path, str(server.address)) for server in read.dns_servers] == [
        ("dns-resolver.config.server[0]", "192.168.111.1")
    ]


ROUTES = """
- {destination: 198.51.100.0/24, next-hop-interface: eno1}
- {destination: 198.51.100.7, next-hop-interface: eno1, next-hop-address: 0.0.0.0}
- {destination: 10.0.0.0/8, next-hop-address: 192.0.2.1, next-hop-interface: eno1}
- {destination: 10.1.0.0/16, route-type: blackhole}
- {destination: 10.2.0.0/16, next-hop-address: 192.0.2.1, next-hop-interface: eno1, state: absent}
- {destination: somewhere, next-hop-address: 192.0.2.1, next-hop-interface: eno1}
- 10.3.0.0/16
"""


def test_routes_are_on_the_link_or_through_a_gateway() -> None:
    read = NetworkConfig.of({"routes": {"config": yaml.safe_load(ROUTES)}})
    assert [(str(route.destination), route.gateway and str(route.gateway)) for route in read.routes] == [
        ("198.51.100.0/24", None),
        ("198.51.100.7/32", None),
        ("10.0.0.0/8", "192.0.2.1"),
    ]
    assert [str(network) for network in read.on_link(interface(ipv4=ipv4("192.0.2.5")))] == [
        "192.0.2.0/24",
        "198.51.100.0/24",
        "198.51.100.7/32",
    ]


def test_a_dns_server_is_read_without_its_zone() -> None:
    servers = ["fe80::1%eno1", "dns.example.com", "2001:DB8::53"]
    read = NetworkConfig.of({"dns-resolver": {"config": {"server": servers}}})
    assert [(server.path[-3:], str(server.address)) for server in read.dns_servers] == [
        ("[0]", "fe80::1"),
        ("[2]", "2001:db8::53"),
    ]


@pytest.mark.parametrize(
    "written",
    [
        None,
        {},
        {"interfaces": "eno1", "routes": [], "dns-resolver": {"config": {"server": "192.0.2.53"}}},
        {"interfaces": ["eno1"], "routes": {"config": {}}, "dns-resolver": []},
    ],
)
def test_parts_of_another_shape_are_left_out(written: dict[str, Any] | None) -> None:
    assert NetworkConfig.of(written) == NetworkConfig()
