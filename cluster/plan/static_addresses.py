"""The static addresses in a host's networkConfig (nmstate)."""

from collections.abc import Iterator
from typing import Any

from cluster.values.address import Address, parse_address
from cluster.values.mac import parse_mac


def static_addresses(network_config: dict[str, Any] | None, boot_mac: str) -> tuple[Address, ...]:
    """Return the static addresses of the boot interface, else of the only interface that has any.

    Args:
        network_config: nmstate's mapping. Parts that have another shape have no addresses.
        boot_mac: In lower case, with colons.

    Returns:
        The addresses; none if several interfaces have some, and none of these is the boot interface.
    """
    found = [
        (parse_mac(str(interface.get("mac-address", ""))), addresses)
        for interface in _interfaces(network_config)
        if (addresses := _of(interface))
    ]
    booting = [addresses for mac, addresses in found if mac == boot_mac]
    if booting:
        return booting[0]
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
