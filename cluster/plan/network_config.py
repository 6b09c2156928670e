"""The interfaces, routes and DNS servers of a host's networkConfig (nmstate 2.2).

A part of another shape is left out: nmstate refuses it when it makes the keyfiles.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cluster.values.address import IPV4, IPV6, Address, Interface, Network, parse_address, parse_cidr
from cluster.values.mac import parse_mac

FAMILIES = {"ipv4": IPV4, "ipv6": IPV6}
MAIN_TABLE = "254"
TRUE = ("1", "on", "true", "y", "yes")
"""What nmstate reads as true, besides a YAML boolean."""


@dataclass(frozen=True)
class StaticAddress:
    """An address that an interface sets itself, also beside DHCP; no link-local one, which identifies no node."""

    path: str
    """Below `networkConfig`, such as `interfaces[0].ipv4.address[0]`."""
    cidr: Interface

    @property
    def address(self) -> Address:
        """The address without its prefix."""
        return self.cidr.ip


@dataclass(frozen=True)
class TunnelId:
    """The number of a VLAN or VXLAN."""

    path: str
    kind: str
    """vlan or vxlan."""
    number: int


@dataclass(frozen=True)
class LowerInterface:
    """An interface that another one is made of; the file may say nothing else of it."""

    path: str
    name: str


@dataclass(frozen=True)
class NetworkInterface:
    """An interface of the machine: a network card, a bond, a VLAN."""

    path: str
    name: str
    by_mac: bool
    """Whether nmstate finds it by its MAC; `name` is then only that of its profile."""
    type: str
    ids: tuple["TunnelId", ...]
    """The id of a VLAN or a VXLAN."""
    lower: tuple["LowerInterface", ...]
    """What it is made of: the ports of a bond or bridge, the base of a VLAN."""
    mac: str | None
    """In lower case, with colons. None: the file names none."""
    state: str
    """up, down, absent, unknown or ignore."""
    addresses: tuple[StaticAddress, ...]
    """Also those of an interface that is not up, and so has none."""
    automatic: frozenset[int]
    """The families, 4 and 6, whose addresses come from DHCP or a router."""
    automatic_dns: frozenset[int]
    """Those of them whose DNS servers come from there as well."""

    @property
    def is_up(self) -> bool:
        """Whether the machine uses it."""
        return self.state == "up"


@dataclass(frozen=True)
class StaticRoute:
    """A route."""

    path: str
    destination: Network
    gateway: Address | None
    """None: the destination is on the link."""
    interface: str
    """Name of the interface that it leads through. Empty: the file names none."""
    in_main_table: bool
    """Whether it is in the kernel's main table, not in one that only rules of the file use."""

    @property
    def version(self) -> int:
        """Its family, 4 or 6."""
        return self.destination.version

    @property
    def is_default(self) -> bool:
        """Whether it leads to all addresses of its family, also without a rule."""
        return self.destination.prefixlen == 0 and self.in_main_table


@dataclass(frozen=True)
class DnsServer:
    """A DNS server of the machine; a link-local one is without its zone."""

    path: str
    address: Address


@dataclass(frozen=True)
class NetworkConfig:
    """The parts of a `networkConfig`. All paths are below it."""

    interfaces: tuple[NetworkInterface, ...] = ()
    routes: tuple[StaticRoute, ...] = ()
    dns_servers: tuple[DnsServer, ...] = ()
    hostname: str = ""
    """The name that it wants for the machine."""
    only_running: tuple[str, ...] = ()
    """The sections with `running`, by which nmstate reports, and without `config`, which it applies."""

    @classmethod
    def of(cls, written: dict[str, Any] | None) -> "NetworkConfig":
        """Read a host's `networkConfig`; None if it has none."""
        document = _mapping(written)
        resolver = _mapping(_mapping(document.get("dns-resolver")).get("config"))
        routes = _mapping(document.get("routes"))
        return cls(
            interfaces=tuple(_interface(*entry) for entry in _mappings(document, "interfaces", "interfaces")),
            routes=tuple(_routes(_mappings(routes, "config", "routes.config"))),
            dns_servers=tuple(_dns_servers(resolver.get("server"))),
            hostname=str(_mapping(document.get("hostname")).get("config", "")),
            only_running=tuple(
                key
                for key in ("dns-resolver", "route-rules", "routes")
                if (section := _mapping(document.get(key))).get("running") and not section.get("config")
            ),
        )

    @property
    def up(self) -> tuple[NetworkInterface, ...]:
        """The interfaces that the machine uses."""
        return tuple(interface for interface in self.interfaces if interface.is_up)

    def on_link(self, interface: NetworkInterface) -> list[Network]:
        """Return the networks whose machines an interface reaches without a gateway, as far as the file says."""
        own = (static.cidr.network for static in interface.addresses)
        routed = (
            route.destination
            for route in self.routes
            if route.interface == interface.name and not route.gateway and not route.is_default
        )
        return [*own, *routed]


def _interface(path: str, written: dict[str, Any]) -> NetworkInterface:
    families = {
        version: settings
        for key, version in FAMILIES.items()
        if _is_true((settings := _mapping(written.get(key))).get("enabled"))
    }
    automatic = [
        version
        for version, settings in families.items()
        if _is_true(settings.get("dhcp")) or _is_true(settings.get("autoconf"))
    ]
    return NetworkInterface(
        path=path,
        name=str(written.get("name", "")),
        by_mac=written.get("identifier") == "mac-address",
        ids=tuple(_ids(path, written)),
        lower=tuple(_lower(path, written)),
        type=str(written.get("type", "")),
        mac=parse_mac(str(written.get("mac-address", ""))),
        state=str(written.get("state", "up")),
        addresses=tuple(
            address
            for key, version in FAMILIES.items()
            for address in _addresses(f"{path}.{key}.address", families.get(version, {}))
        ),
        automatic=frozenset(automatic),
        automatic_dns=frozenset(
            version for version in automatic if _is_true(families[version].get("auto-dns", True))
        ),
    )


def _ids(path: str, interface: dict[str, Any]) -> Iterator[TunnelId]:
    for kind in ("vlan", "vxlan"):
        text = str(_mapping(interface.get(kind)).get("id", ""))
        if text.isdecimal():
            yield TunnelId(f"{path}.{kind}.id", kind, int(text))


def _lower(path: str, interface: dict[str, Any]) -> Iterator[LowerInterface]:
    for key, settings in interface.items():
        section = _mapping(settings)
        if isinstance(base := section.get("base-iface"), str):
            yield LowerInterface(f"{path}.{key}.base-iface", base)
        ports = section.get("port")
        for index, port in enumerate(ports if isinstance(ports, list) else ()):
            at = f"{path}.{key}.port[{index}]"
            if isinstance(port, str):
                yield LowerInterface(at, port)
            elif isinstance(name := _mapping(port).get("name"), str):
                yield LowerInterface(f"{at}.name", name)


def _addresses(path: str, family: dict[str, Any]) -> Iterator[StaticAddress]:
    for entry_path, entry in _mappings(family, "address", path):
        cidr = parse_cidr(f"{entry.get('ip')}/{entry.get('prefix-length')}")
        if cidr is not None and not cidr.is_link_local:
            yield StaticAddress(entry_path, cidr)


def _routes(entries: Iterator[tuple[str, dict[str, Any]]]) -> Iterator[StaticRoute]:
    """Yield the routes that lead somewhere: neither those to remove nor, for example, a blackhole."""
    for path, entry in entries:
        text = str(entry.get("destination", ""))
        address = parse_address(text)
        destination = parse_cidr(f"{text}/{address.max_prefixlen}" if address else text)
        if destination is None or entry.get("state") == "absent" or entry.get("route-type", "unicast") != "unicast":
            continue
        gateway = parse_address(str(entry.get("next-hop-address", "")))
        if gateway is not None and gateway.is_unspecified:
            gateway = None
        yield StaticRoute(
            path=path,
            destination=destination.network,
            gateway=gateway,
            interface=str(entry.get("next-hop-interface", "")),
            in_main_table=str(entry.get("table-id") or MAIN_TABLE) == MAIN_TABLE,
        )


def _dns_servers(listed: object) -> Iterator[DnsServer]:
    for index, text in enumerate(listed if isinstance(listed, list) else ()):
        address = parse_address(str(text).partition("%")[0])
        if address is not None:
            yield DnsServer(f"dns-resolver.config.server[{index}]", address)


def _is_true(value: object) -> bool:
    return str(value).lower() in TRUE


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _mappings(parent: dict[str, Any], key: str, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the mappings of a list, each with its path."""
    listed = parent.get(key)
    for index, entry in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(entry, dict):
            yield f"{path}[{index}]", entry
