"""Addresses and networks as Go's net package reads them; the verdicts are those of net.ParseIP and net.ParseCIDR."""

from ipaddress import ip_address, ip_interface, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.values.address import in_any, netloc, networks, overlap, parse_address, parse_cidr


@pytest.mark.parametrize(
    ("text", "address"),
    [
        pytest.param("192.0.2.1", "192.0.2.1", id="ipv4"),
        pytest.param("255.255.255.255", "255.255.255.255", id="ipv4-broadcast"),
        pytest.param("2001:db8::1", "2001:db8::1", id="ipv6"),
        pytest.param("2001:0DB8:0:0:0:0:0:0001", "2001:db8::1", id="ipv6-written-out"),
        pytest.param("::", "::", id="ipv6-unspecified"),
        pytest.param("2001:db8::192.0.2.1", "2001:db8::c000:201", id="ipv6-with-a-dotted-end"),
        pytest.param("::ffff:192.0.2.1", "192.0.2.1", id="mapped-ipv4"),
        pytest.param("::FFFF:c000:0201", "192.0.2.1", id="mapped-ipv4-in-hex"),
    ],
)
def test_an_address_is_read_in_any_spelling(text: str, address: str) -> None:
    assert parse_address(text) == ip_address(address)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("api.example.com", id="name"),
        pytest.param("192.0.2", id="too-short"),
        pytest.param("192.0.2.1.1", id="too-long"),
        pytest.param("192.0.2.256", id="octet-too-large"),
        pytest.param("192.0.2.01", id="leading-zero"),
        pytest.param("::ffff:192.0.2.01", id="leading-zero-in-a-mapped-one"),
        pytest.param("3221225985", id="one-number"),
        pytest.param("192.0.2.1/24", id="with-a-prefix"),
        pytest.param("192.0.2.1 ", id="trailing-space"),
        pytest.param("١٩٢.0.2.1", id="other-digits"),
        pytest.param("fe80::1%eth0", id="zone"),
        pytest.param("fe80::1%", id="empty-zone"),
        pytest.param("::ffff:192.0.2.1%eth0", id="zone-of-a-mapped-one"),
        pytest.param("[2001:db8::1]", id="brackets"),
        pytest.param("2001:db8::1::1", id="two-gaps"),
        pytest.param("1:2:3:4:5:6:7:8:9", id="nine-groups"),
        pytest.param("1:2:3:4::5:6:7:8", id="gap-of-nothing"),
        pytest.param("2001:db8::12345", id="group-too-long"),
    ],
)
def test_an_invalid_address_is_refused(text: str) -> None:
    assert parse_address(text) is None


@pytest.mark.parametrize(
    ("text", "interface"),
    [
        pytest.param("192.0.2.0/24", "192.0.2.0/24", id="ipv4"),
        pytest.param("192.0.2.5/24", "192.0.2.5/24", id="host-bits-are-kept"),
        pytest.param("192.0.2.5/32", "192.0.2.5/32", id="one-address"),
        pytest.param("0.0.0.0/0", "0.0.0.0/0", id="all-of-ipv4"),
        pytest.param("192.0.2.0/024", "192.0.2.0/24", id="prefix-with-a-leading-zero"),
        pytest.param("2001:DB8::/32", "2001:db8::/32", id="ipv6"),
        pytest.param("2001:db8::5/128", "2001:db8::5/128", id="one-ipv6-address"),
        pytest.param("::/0", "::/0", id="all-of-ipv6"),
    ],
)
def test_a_network_is_read_with_its_host_bits(text: str, interface: str) -> None:
    assert parse_cidr(text) == ip_interface(interface)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("192.0.2.0", id="no-prefix"),
        pytest.param("192.0.2.0/", id="empty-prefix"),
        pytest.param("/24", id="no-address"),
        pytest.param("192.0.2.0/255.255.255.0", id="netmask"),
        pytest.param("192.0.2.0/0.0.0.255", id="hostmask"),
        pytest.param("192.0.2.0/33", id="ipv4-prefix-too-long"),
        pytest.param("2001:db8::/129", id="ipv6-prefix-too-long"),
        pytest.param("192.0.2.0/-1", id="negative-prefix"),
        pytest.param("192.0.2.0/+24", id="signed-prefix"),
        pytest.param("192.0.2.0/٢٤", id="other-digits"),
        pytest.param("192.0.2.0/24/24", id="two-prefixes"),
        pytest.param("192.0.02.0/24", id="leading-zero"),
        pytest.param("192.0.2/24", id="short-address"),
        pytest.param(" 192.0.2.0/24", id="leading-space"),
        pytest.param("192.0.2.0/24\n", id="trailing-newline"),
        pytest.param("fe80::1%eth0/64", id="zone"),
    ],
)
def test_an_invalid_network_is_refused(text: str) -> None:
    assert parse_cidr(text) is None


def test_invalid_networks_are_left_out() -> None:
    read = networks(["192.0.2.5/24", "nonsense", "2001:db8::/32"])
    assert read == [ip_network("192.0.2.0/24"), ip_network("2001:db8::/32")]


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        pytest.param("10.0.0.0/8", "10.1.0.0/16", True, id="inside"),
        pytest.param("10.1.0.0/16", "10.0.0.0/8", True, id="around"),
        pytest.param("10.0.0.0/24", "10.0.1.0/24", False, id="neighbours"),
        pytest.param("0.0.0.0/0", "::/0", False, id="other-family"),
    ],
)
def test_networks_overlap_if_they_share_an_address(one: str, other: str, shared: bool) -> None:
    assert overlap(ip_network(one), ip_network(other)) is shared


@pytest.mark.parametrize(
    ("address", "held"),
    [
        pytest.param("10.0.0.0", True, id="first"),
        pytest.param("10.0.0.255", True, id="last"),
        pytest.param("10.0.1.0", False, id="next"),
        pytest.param("2001:db8::1", True, id="second-network"),
        pytest.param("2001:db9::1", False, id="no-network"),
    ],
)
def test_an_address_is_found_in_any_of_the_networks(address: str, held: bool) -> None:
    of = [ip_network("10.0.0.0/24"), ip_network("2001:db8::/32")]
    assert in_any(ip_address(address), of) is held


@given(st.text())
def test_no_text_makes_the_readers_raise(text: str) -> None:
    assert parse_address(text) is None or parse_cidr(text) is None


@given(st.ip_addresses(), st.data())
def test_a_printed_address_or_network_is_read_back(address: object, data: st.DataObject) -> None:
    read = parse_address(str(address))
    assert read is not None
    prefix = data.draw(st.integers(0, read.max_prefixlen))
    assert str(parse_cidr(f"{read}/{prefix}")) == f"{read}/{prefix}"


def test_a_url_has_ipv6_in_brackets() -> None:
    assert netloc("fd00::21", 443) == "[fd00::21]:443"
    assert netloc("192.0.2.1", 443) == "192.0.2.1:443"
    assert netloc("bmc.lab.test", 8000) == "bmc.lab.test:8000"
