"""The oracle of the network scripts: the cases of baremetal-runtimecfg's own tests, and one per rule."""

from collections.abc import Sequence
from dataclasses import replace
from ipaddress import ip_address, ip_interface, ip_network

import pytest

from tests.unit.assets.runtimecfg_oracle import NodeAddress, Route, node_address, vip_interface

INDEX = {"lo": 1, "eth0": 2, "eth1": 3}


def at(interface: str, cidr: str, *, label: str = "", deprecated: bool = False) -> NodeAddress:
    return NodeAddress(interface, INDEX[interface], ip_interface(cidr), label, deprecated)


def default(interface: str, gateway: str = "", priority: int = 100) -> Route:
    return Route(INDEX[interface], None, ip_address(gateway) if gateway else None, priority)


def advertised(interface: str, destination: str) -> Route:
    return Route(INDEX[interface], ip_network(destination), advertised=True)


LO = [at("lo", "127.0.0.1/8"), at("lo", "::1/128")]
IPV4 = [
    *LO,
    at("eth0", "10.0.0.5/24"),
    at("eth0", "169.254.10.10/16"),
    at("eth0", "10.0.0.100/24"),
    at("eth1", "192.168.1.2/24"),
]
IPV6 = [
    *LO,
    at("eth0", "fd00::5/64"),
    at("eth0", "fe80::1234/64"),
    at("eth1", "fd01::3/64", deprecated=True),
    at("eth1", "fd01::5/64"),
]
DUAL = [*IPV4, *IPV6]
SMALL = [*LO, at("eth0", "fd00::f05/120"), at("eth1", "fd00::5/120")]
LEASED = [*LO, at("eth0", "fd00::5/128"), at("eth1", "fd01::5/128")]
ETH0, ETH1 = [default("eth0")], [default("eth1")]


@pytest.mark.parametrize(
    ("vip", "addresses", "routes", "chosen"),
    [
        pytest.param("10.0.0.2", IPV4, ETH0, "10.0.0.5", id="ipv4-on-the-first-interface"),
        pytest.param("192.168.1.99", IPV4, ETH0, "192.168.1.2", id="ipv4-on-the-second-interface"),
        pytest.param("10.0.0.2", IPV4, ETH1, "10.0.0.5", id="the-default-route-is-elsewhere"),
        pytest.param("169.254.10.11", IPV4, ETH1, "192.168.1.2", id="link-local-ipv4-is-no-node-s"),
        pytest.param("fd00::2", IPV6, ETH0, "fd00::5", id="ipv6-on-the-first-interface"),
        pytest.param("fd01::2", IPV6, ETH0, "fd01::5", id="a-deprecated-ipv6-is-passed-over"),
        pytest.param("10.0.0.2", DUAL, ETH0, "10.0.0.5", id="ipv4-of-two-families"),
        pytest.param("fd01::2", DUAL, ETH0, "fd01::5", id="ipv6-of-two-families"),
        pytest.param("fd00::f02", SMALL, ETH0, "fd00::f05", id="one-64-in-two-120-first"),
        pytest.param("fd00::2", SMALL, ETH0, "fd00::5", id="one-64-in-two-120-second"),
        pytest.param("10.0.0.5", IPV4, ETH1, "10.0.0.100", id="the-vip-itself-is-passed-over"),
        pytest.param("10.0.0.2", [at("eth0", "10.0.0.5/24", label="eth0:eip"), *LO], ETH0, None, id="egress-address"),
        pytest.param("fd69::5", [at("eth0", "fd69::2/64"), at("eth1", "fd01::5/64")], ETH1, "fd01::5", id="ovn"),
        pytest.param("fd01::2", LEASED, [advertised("eth1", "fd01::/64"), *ETH0], "fd01::5", id="128-and-its-64"),
        pytest.param("fd01::2", LEASED, [advertised("eth0", "fd01::/64"), *ETH0], "fd00::5", id="128-and-another-s"),
        pytest.param("fd01::2", LEASED, ETH0, "fd00::5", id="128-that-no-router-advertises"),
        pytest.param(
            "fd01:0:0:1::2", LEASED, [advertised("eth1", "fd01::/48"), *ETH0], "fd00::5", id="128-counts-as-64"
        ),
        pytest.param(
            "fd01::f02", LEASED, [advertised("eth1", "fd01::/120"), *ETH0], "fd00::5", id="128-of-a-smaller-network"
        ),
        pytest.param("172.16.0.2", IPV4, [default("eth1"), default("eth0")], "10.0.0.5", id="default-by-index"),
        pytest.param(
            "172.16.0.2",
            IPV4,
            [default("eth0", priority=101), default("eth1")],
            "192.168.1.2",
            id="default-by-metric",
        ),
        pytest.param("172.16.0.2", DUAL, ETH0, "10.0.0.5", id="default-by-family-of-the-vip-4"),
        pytest.param("fd99::2", DUAL, ETH0, "fd00::5", id="default-by-family-of-the-vip-6"),
        pytest.param(
            "172.16.0.2",
            [at("eth0", "192.0.2.5/24"), at("eth0", "10.0.0.5/24")],
            [default("eth0", "10.0.0.1")],
            "10.0.0.5",
            id="default-by-gateway",
        ),
        pytest.param(
            "172.16.0.2",
            [at("eth0", "10.0.0.5/24"), at("eth0", "192.0.2.5/24")],
            ETH0,
            "192.0.2.5",
            id="public-first",
        ),
        pytest.param(
            "2001:db8::9",
            [at("eth0", "::ffff:192.0.2.5/120"), at("eth0", "2001:db8:1::5/64")],
            ETH0,
            "2001:db8:1::5",
            id="mapped-last",
        ),
        pytest.param(
            "172.16.0.2", [at("eth0", "10.0.0.9/24"), at("eth0", "10.0.0.8/24")], ETH0, "10.0.0.8", id="lowest-last"
        ),
        pytest.param("172.16.0.2", IPV4, [], None, id="nothing-fits"),
    ],
)
def test_the_own_address_beside_a_vip(
    vip: str, addresses: Sequence[NodeAddress], routes: Sequence[Route], chosen: str | None
) -> None:
    address = node_address(ip_address(vip), addresses, routes)
    assert (address and str(address.address)) == chosen


def test_another_vip_of_the_cluster_is_no_own_address() -> None:
    api, ingress = ip_address("10.0.0.2"), ip_address("10.0.0.5")
    address = node_address(api, IPV4, ETH0, [api, ingress])
    assert address is not None
    assert str(address.address) == "10.0.0.100"


@pytest.mark.parametrize(
    ("vip", "place"),
    [
        pytest.param("192.168.1.99", ("eth1", 32), id="ipv4"),
        pytest.param("fd01::2", ("eth1", 128), id="ipv6"),
        pytest.param("172.16.0.2", ("eth0", 32), id="by-the-default-route"),
    ],
)
def test_a_vip_is_a_host_route_of_the_interface(vip: str, place: tuple[str, int]) -> None:
    assert vip_interface(ip_address(vip), DUAL, ETH0) == place


def test_an_unreachable_vip_has_no_interface() -> None:
    assert vip_interface(ip_address("172.16.0.2"), LO, []) is None


def test_interfaces_are_tried_in_the_order_of_their_indexes() -> None:
    twice = [at("eth1", "10.0.0.7/24"), *IPV4]
    assert vip_interface(ip_address("10.0.0.2"), twice, []) == ("eth0", 32)
    moved = [replace(each, index=9) if each.interface == "eth0" else each for each in twice]
    assert vip_interface(ip_address("10.0.0.2"), moved, []) == ("eth1", 32)
