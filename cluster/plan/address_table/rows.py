"""The table: each address, network, MAC and BMC that an install-config and a stack's options name, and its use."""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from base.shapes import values_at
from cluster.install_config import InstallConfig
from cluster.install_config.platform import BARE, DISABLED, MANAGED, Host
from cluster.install_config.rules.networks import JOIN, OVN, OVN_NETWORKS, join_subnet
from cluster.install_config.rules.vips import user_managed
from cluster.options import MachineOptions, Options
from cluster.plan.address_table.uses import CONTAINING, OVERLAY, Use
from cluster.plan.addresses import CONFIG
from cluster.plan.intent import NO_OPTIONS, reservations
from cluster.plan.network_config import NetworkConfig
from cluster.values.address import IPV4, Address, Network, in_any, networks, parse_address
from cluster.values.bmc_url import BmcUrlError, parse_bmc_url
from cluster.values.mac import parse_mac
from cluster.values.phase import Phase
from cluster.values.snapshots import BucketUrl

CONFIG_FIELDS = {
    "networking.machineNetwork[].cidr": Use.MACHINES,
    "networking.clusterNetwork[].cidr": Use.PODS,
    "networking.serviceNetwork[]": Use.SERVICES,
    "networking.ovnKubernetesConfig.ipv4.internalJoinSubnet": Use.OVN,
    f"{BARE}.provisioningNetworkCIDR": Use.PROVISIONING,
    f"{BARE}.apiVIPs[]": Use.API_VIP,
    f"{BARE}.ingressVIPs[]": Use.INGRESS_VIP,
    f"{BARE}.bootstrapExternalStaticIP": Use.BOOTSTRAP,
    f"{BARE}.bootstrapProvisioningIP": Use.BOOT_SERVER,
    f"{BARE}.clusterProvisioningIP": Use.PROVISIONING_VIP,
    f"{BARE}.bootstrapExternalStaticGateway": Use.GATEWAY,
    f"{BARE}.provisioningNetworkGateway": Use.GATEWAY,
    f"{BARE}.bootstrapExternalStaticDNS": Use.DNS,
    f"{BARE}.additionalNTPServers[]": Use.NTP,
    f"{BARE}.libvirtURI": Use.HYPERVISOR,
    f"{BARE}.externalMACAddress": Use.CARD,
    f"{BARE}.provisioningMACAddress": Use.CARD,
    "proxy.httpProxy": Use.PROXY,
    "proxy.httpsProxy": Use.PROXY,
    "imageDigestSources[].mirrors[]": Use.REGISTRY,
    "imageContentSources[].mirrors[]": Use.REGISTRY,
}
"""The fields of an install-config, by path; `_of_host` has those of a host."""
OPTION_FIELDS = {
    "bootstrap.address[]": Use.BOOTSTRAP,
    "media.address": Use.MEDIA,
    "media.url": Use.WEB_SERVER,
    "media.base_iso.url": Use.WEB_SERVER,
    "media.base_iso_arm64.url": Use.WEB_SERVER,
    "provisioner.base_image.source": Use.WEB_SERVER,
    **{f"images.{name}": Use.REGISTRY for name in ("release", "keepalived", "haproxy", "coredns")},
    "upgrade.image": Use.REGISTRY,
}
"""The options, by path; `_of_nodes` has `node_addresses`, `_of_snapshots` has `snapshots`."""
OF_A_MANAGED_NETWORK = tuple(
    f"{BARE}.{key}" for key in ("bootstrapProvisioningIP", "clusterProvisioningIP", "provisioningNetworkGateway")
)


class Row(NamedTuple):
    """One value and its use."""

    use: Use
    value: Hashable
    """An address, a network, a MAC, or the endpoint of a BMC: equal for all spellings."""
    text: str
    """The value in messages. It contains no secret."""
    path: str
    """The path of the install-config, or `config: ` and that of the option."""
    owner: str
    """What has the value; two rows of one owner may have the same. The path, where nothing else names it."""
    part: str = ""
    """What of the value is meant: a system of a BMC. Empty: all of it."""
    file: str = ""
    """The file of another cluster that the path is of."""

    @property
    def is_option(self) -> bool:
        """Whether it is one of the stack's options."""
        return self.path.startswith(f"{CONFIG}: ")

    @property
    def place(self) -> str:
        """The path, with the file of another cluster."""
        return f"{self.path} of {self.file}" if self.file else self.path


def rows_of(config: InstallConfig, options: MachineOptions = NO_OPTIONS) -> list[Row]:
    """Return the table of a cluster, networks first. Values that are invalid, or names, have no row.

    The networks inside an installed cluster are fixed, so they have none either. Two equal rows of one owner are one.
    """
    hosts = config.baremetal.hosts or ()
    rows = [
        *_of_fields(CONFIG_FIELDS, config.model_dump(by_alias=True)),
        *_of_ovn(config),
        *_of_machine_networks(config),
        *_of_reservations(config),
        *(row for index, host in enumerate(hosts) for row in _of_host(f"{BARE}.hosts[{index}]", host)),
        *_of_nodes(hosts, options),
        *_of_snapshots(options),
        *(row._replace(path=f"{CONFIG}: {row.path}") for row in _of_fields(OPTION_FIELDS, options.model_dump())),
    ]
    installed = is_installed(options)
    machines = networks([entry.cidr for entry in config.networking.machine_network])
    firsts = dict[Hashable, Row]()
    for row in rows:
        if not (installed and row.use in OVERLAY) and not _unused(config, row):
            used = row._replace(use=_use(config, row, machines))
            firsts.setdefault((used.use, used.value, used.part, used.owner), used)
    return sorted(firsts.values(), key=lambda row: row.use not in CONTAINING | OVERLAY)


def is_installed(options: MachineOptions) -> bool:
    """Return whether the cluster is in production, as far as the options say it."""
    return isinstance(options, Options) and options.phase is Phase.PRODUCTION


def _use(config: InstallConfig, row: Row, machines: list[Network]) -> Use:
    """Return the use of a row, which may depend on other fields."""
    if row.use in (Use.API_VIP, Use.INGRESS_VIP) and user_managed(config):
        return Use.BALANCER
    aside = isinstance(row.value, Address) and not in_any(row.value, machines)
    return Use.OTHER_CARD if row.use is Use.SERVER and aside else row.use


def _unused(config: InstallConfig, row: Row) -> bool:
    """Return whether a row is one of the provisioning network that the mode does not use."""
    mode = config.baremetal.provisioning_network
    return (row.use is Use.PROVISIONING and mode == DISABLED) or (
        row.path in OF_A_MANAGED_NETWORK and mode != MANAGED
    )


def _of_fields(fields: Mapping[str, Use], section: dict[str, Any]) -> Iterator[Row]:
    for pattern, use in fields.items():
        for path, value in values_at(pattern, section):
            yield from _rows(use, str(value), path, use if use is Use.BOOTSTRAP else "")


def _of_ovn(config: InstallConfig) -> Iterator[Row]:
    """Yield the networks that OVN-Kubernetes has if the file names none."""
    own = {use: texts for use, texts in OVN_NETWORKS.items() if use != "join" or not join_subnet(config.networking)}
    for use, texts in own.items() if config.networking.network_type == OVN else ():
        path = JOIN if use == "join" else "networking.networkType"
        yield from (row for text in texts for row in _rows(Use.OVN, text, path))


def _of_machine_networks(config: InstallConfig) -> Iterator[Row]:
    """Yield the addresses that no machine can have: the ends of an IPv4 network, unless it is point-to-point."""
    for index, entry in enumerate(config.networking.machine_network):
        path = f"networking.machineNetwork[{index}].cidr"
        for network in networks([entry.cidr]):
            if network.version == IPV4 and network.prefixlen < network.max_prefixlen - 1:
                for end in (network.network_address, network.broadcast_address):
                    yield from _rows(Use.UNUSABLE, str(end), path)


def _of_reservations(config: InstallConfig) -> Iterator[Row]:
    """Yield the addresses of each host on a Managed provisioning network, in the order of the file."""
    bare = config.baremetal
    for host, reserved in zip(bare.hosts or (), reservations(bare), strict=False):
        own = _static_addresses(host)
        for address in (it for it in reserved if it not in own):  # else the host itself says so
            yield from _rows(Use.RESERVED, str(address), f"{BARE}.provisioningDHCPRange")


def _of_host(path: str, host: Host) -> Iterator[Row]:
    yield from _rows(Use.CARD, host.boot_mac_address, f"{path}.bootMACAddress", host.name)
    yield from _rows(Use.BMC, host.bmc.address, f"{path}.bmc.address")
    yield from _of_system(host.bmc.address, f"{path}.bmc.address")
    network, path = NetworkConfig.of(host.network_config), f"{path}.networkConfig"
    for interface in network.up:
        yield from _rows(Use.CARD, interface.mac or "", f"{path}.{interface.path}.mac-address", host.name)
        for static in interface.addresses:
            yield from _rows(Use.SERVER, str(static.address), f"{path}.{static.path}.ip")
    for route in network.routes:
        yield from _rows(Use.GATEWAY, str(route.gateway or ""), f"{path}.{route.path}.next-hop-address")
        yield from _rows(Use.ROUTE, str(route.destination), f"{path}.{route.path}.destination")
    for server in network.dns_servers:
        yield from _rows(Use.DNS, str(server.address), f"{path}.{server.path}")


def _of_system(address: str, path: str) -> Iterator[Row]:
    try:
        url = parse_bmc_url(address)
    except BmcUrlError:
        return
    system = "" if url.has_one_system else url.system_id or ""
    yield Row(Use.SYSTEM, url.endpoint, address, path, path, part=system)


def _of_nodes(hosts: tuple[Host, ...], options: MachineOptions) -> Iterator[Row]:
    """Yield the addresses of `node_addresses`, without those that the host's own `networkConfig` sets."""
    static = {host.name: _static_addresses(host) for host in hosts}
    for name, addresses in options.node_addresses.items():
        for index, address in enumerate(addresses):
            path = f"{CONFIG}: node_addresses.{name}[{index}]"
            if address not in static.get(name, ()):
                yield from _rows(Use.SERVER, str(address), path)


def _of_snapshots(options: MachineOptions) -> Iterator[Row]:
    if isinstance(options, Options) and (bucket := BucketUrl.of(options.snapshots)):
        yield from _rows(Use.WEB_SERVER, bucket.endpoint, f"{CONFIG}: snapshots")


def _static_addresses(host: Host) -> set[Address]:
    network = NetworkConfig.of(host.network_config)
    return {static.address for interface in network.up for static in interface.addresses}


def _rows(use: Use, text: str, path: str, owner: str = "") -> Iterator[Row]:
    for value in _values(use, text):
        yield Row(use, value, str(value), path, owner or path)


def _values(use: Use, text: str) -> Iterable[Hashable]:
    if use is Use.CARD:
        return filter(None, [parse_mac(text)])
    if use in CONTAINING | OVERLAY:
        return networks([text])
    return _address(text)


def _address(text: str) -> Iterator[Address]:
    """Yield the address of a text or URL that has one, and that identifies one machine."""
    try:
        host = urlsplit(text if "//" in text else f"//{text}").hostname or ""
    except ValueError:
        host = ""
    address = parse_address(text) or parse_address(host)
    if address and not (
        address.is_link_local or address.is_loopback or address.is_unspecified or address.is_multicast
    ):
        yield address
