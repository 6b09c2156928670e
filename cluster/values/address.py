"""Addresses and networks, parsed as by Go's net package, which the installer uses."""

import re
from functools import lru_cache
from ipaddress import (
    IPv4Address,
    IPv4Interface,
    IPv4Network,
    IPv6Address,
    IPv6Interface,
    IPv6Network,
    ip_address,
    ip_interface,
)

Address = IPv4Address | IPv6Address
Interface = IPv4Interface | IPv6Interface
Network = IPv4Network | IPv6Network
IPV4, IPV6 = 4, 6


def parse_address(text: str) -> Address | None:
    """Parse an address in any spelling; None if it is not one. `::ffff:192.0.2.1` is 192.0.2.1. Refuse zones."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        return None if address.scope_id else address.ipv4_mapped or address
    return address


@lru_cache(maxsize=1024)  # a file's rules parse each of its networks fifty times
def parse_cidr(text: str) -> Interface | None:
    """Parse `address/prefix`, and keep the host bits. None: not a CIDR, for example without a prefix."""
    if not re.fullmatch(r"[0-9a-fA-F:.]+/[0-9]{1,3}", text):
        return None
    try:
        return ip_interface(text)
    except ValueError:
        return None


def networks(texts: list[str]) -> list[Network]:
    """Return the networks of the texts that are CIDRs, without host bits."""
    return [cidr.network for cidr in map(parse_cidr, texts) if cidr is not None]


def url_host(address: str) -> str:
    """Return an address as a URL has it: an IPv6 address is in brackets, a name or IPv4 address is not."""
    return f"[{address}]" if ":" in address else address


def netloc(address: str, port: int) -> str:
    """Return `address:port` as a URL has it."""
    return f"{url_host(address)}:{port}"


def overlap(one: Network, other: Network) -> bool:
    """Return whether two networks share an address."""
    return one.version == other.version and one.overlaps(other)


def in_any(address: Address, of: list[Network]) -> bool:
    """Return whether an address is in one of the networks."""
    return any(address.version == network.version and address in network for network in of)
