"""The static addresses in a host's networkConfig (nmstate)."""

from collections.abc import Iterator
from typing import Any

from cluster.values.address import Address, parse_address
from cluster.values.mac import parse_mac


def static_addresses(network_config: dict[str, Any] | None, mac: str | None) -> tuple[Address, ...]:
    """Return the static addresses of a host's interface on the machine network, else of the only one that has any.

    Args:
        network_config: nmstate's mapping. Parts that have another shape have no addresses.
        mac: That of the interface on the machine network, in lower case, with colons. None: it is not known.

    Returns:
        The addresses; none if several interfaces have some, and none of these has the MAC.
    """
    found = [
        (parse_mac(str(interface.get("mac-address", ""))), addresses)
        for interface in _interfaces(network_config)
        if (addresses := _of(interface))
    ]
    if known := [addresses for each, addresses in found if mac and each == mac]:
        return known[0]
    return found[0][1] if len(found) == 1 else ()


def _interfaces(network_config: dict[str, Any] | None) -> list[dict[str, Any]]:
    listed = (network_config or {}).get("interfaces")
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def _of(interface: dict[str, Any]) -> tuple[Address, ...]:
    return tuple(address for family in ("ipv4", "ipv6") for address in _of_family(interface.get(family)))


def _of_family(settings: object) -> Iterator[Address]:
    """Yield a family's addresses, also those beside DHCP, but not link-local ones, which identify no node."""
    if not isinstance(settings, dict) or not settings.get("enabled", True):
        return
    listed = settings.get("address")
    for each in listed if isinstance(listed, list) else ():
        address = parse_address(str(each.get("ip", ""))) if isinstance(each, dict) else None
        if address is not None and not address.is_link_local:
            yield address
