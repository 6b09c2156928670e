"""The static addresses in a host's networkConfig (nmstate)."""

from collections.abc import Iterator
from typing import Any

from cluster.values.address import Address, parse_address
from cluster.values.mac import parse_mac


def static_addresses(
    network_config: dict[str, Any] | None, boot_mac: str, *, boots_on_machine_network: bool = True
) -> tuple[Address, ...]:
    """Return the static addresses of a host on the machine network.

    They are those of the boot interface, if that is on the machine network, else of the only other one that has any.

    Args:
        network_config: nmstate's mapping. Parts that have another shape have no addresses.
        boot_mac: In lower case, with colons.
        boots_on_machine_network: Whether the boot interface is on the machine network, not on a provisioning network.

    Returns:
        The addresses; none if several interfaces may be meant.
    """
    by_mac = [
        (parse_mac(str(interface.get("mac-address", ""))), addresses)
        for interface in _interfaces(network_config)
        if (addresses := _of(interface))
    ]
    booting = [addresses for mac, addresses in by_mac if mac == boot_mac]
    if booting and boots_on_machine_network:
        return booting[0]
    others = [addresses for mac, addresses in by_mac if mac != boot_mac]
    return others[0] if len(others) == 1 else ()


def _interfaces(network_config: dict[str, Any] | None) -> list[dict[str, Any]]:
    listed = (network_config or {}).get("interfaces")
    return [interface for interface in listed if isinstance(interface, dict)] if isinstance(listed, list) else []


def _of(interface: dict[str, Any]) -> tuple[Address, ...]:
    return tuple(address for family in ("ipv4", "ipv6") for address in _of_family(interface.get(family)))


def _of_family(settings: object) -> Iterator[Address]:
    """Yield a family's addresses, also those beside DHCP, but not link-local ones, which identify no node."""
    if not isinstance(settings, dict) or not settings.get("enabled", True):
        return
    listed = settings.get("address")
    for entry in listed if isinstance(listed, list) else ():
        address = parse_address(str(entry.get("ip", ""))) if isinstance(entry, dict) else None
        if address is not None and not address.is_link_local:
            yield address
