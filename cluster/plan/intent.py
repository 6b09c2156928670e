"""Builds the intent of a valid install-config."""

import hashlib
from collections.abc import Iterable

from cluster.install_config import InstallConfig
from cluster.install_config.platform import DISABLED, MANAGED, BareMetal, Host, RootDeviceHints
from cluster.install_config.rules.vips import user_managed
from cluster.install_config.schema import MachinePool
from cluster.options import MachineOptions
from cluster.payload_values import payload_values
from cluster.plan.model import (
    RESERVED,
    ApiVip,
    BootstrapHost,
    IngressVip,
    Intent,
    PlannedBmc,
    PlannedHost,
    Provisioning,
    Server,
    StaticNetwork,
)
from cluster.plan.node_addresses import static_addresses
from cluster.topology import topology_of
from cluster.values.address import Address, Network, in_any, networks, parse_address
from cluster.values.architecture import Architecture
from cluster.values.balancer import Balancer
from cluster.values.bmc_url import parse_bmc_url
from cluster.values.mac import parse_mac
from cluster.values.role import Role
from cluster.values.vrrp import derived_vrids

NO_OPTIONS = MachineOptions()
"""The options' defaults."""


def intent_of(config: InstallConfig) -> Intent:
    """Build the intent of a config without faults and without anything that `refusals` refuses."""
    bare, name = config.baremetal, config.metadata.name
    base_domain = config.base_domain.removesuffix(".")
    domain = f"{name}.{base_domain}"
    machine_networks = tuple(networks([entry.cidr for entry in config.networking.machine_network]))
    vrids, assigned_roles = derived_vrids(name), roles(config)
    intent = Intent(
        name=name,
        base_domain=base_domain,
        machine_networks=machine_networks,
        platform=NO_OPTIONS.platform,
        balancer=Balancer.SITE if user_managed(config) else Balancer.CLUSTER,
        api=_api_vip(bare, machine_networks, vrids.api),
        ingress=_ingress_vip(bare, machine_networks, vrids.ingress),
        provisioning=_provisioning(bare, domain, vrids.provisioning),
        hosts=_hosts(bare, assigned_roles),
        architectures={
            role: Architecture(pool.architecture) for role, pool in pools(config).items() if role in assigned_roles
        },
        bootstrap=_bootstrap(bare, name, domain, machine_networks),
        topology=topology_of(config.model_dump(mode="json", by_alias=True)),
        payload_values=payload_values(config),
        runtime=NO_OPTIONS.runtime,
        images=NO_OPTIONS.images,
        media=NO_OPTIONS.media,
        ntp_servers=bare.additional_ntp_servers,
        libvirt_uri=bare.libvirt_uri,
        bmc_verify_ca=bare.bmc_verify_ca,
    )
    return intent.changed(
        hosts=tuple(host.changed(addresses=static_addresses(intent, host)) for host in intent.hosts)
    )


def pools(config: InstallConfig) -> dict[Role, MachinePool]:
    """Return the pool of each role. A valid config has at most one pool of compute."""
    arbiter = [(Role.ARBITER, config.arbiter)] if config.arbiter else []
    compute = [(Role.COMPUTE, pool) for pool in config.compute]
    return dict([(Role.CONTROL_PLANE, config.control_plane), *arbiter, *compute])


def replicas(config: InstallConfig) -> dict[Role, int]:
    """Return the number of servers of each role."""
    compute = sum(pool.replicas or 0 for pool in config.compute)
    arbiters = config.arbiter.replicas or 0 if config.arbiter else 0
    return {
        Role.CONTROL_PLANE: config.control_plane.replicas or 0,
        Role.ARBITER: arbiters,
        Role.COMPUTE: compute,
    }


def roles(config: InstallConfig) -> list[Role | None]:
    """Return the role of each host; None for a spare.

    Of the hosts with a role in the file, the first ones are installed, as many as the replicas want. Then the hosts
    without a role fill up the control plane, then arbiters, then compute.
    """
    hosts, free = config.baremetal.hosts or (), replicas(config)
    assigned: list[Role | None] = [None] * len(hosts)

    def take(host: int, wanted: Iterable[Role]) -> None:
        assigned[host] = role = next((role for role in wanted if free[role] > 0), None)
        if role is not None:
            free[role] -= 1

    for index, host in enumerate(hosts):
        take(index, [role for role in Role if role.pool == host.role])
    for index, host in enumerate(hosts):
        if not host.role:
            take(index, Role)
    return assigned


def dhcp_range(bare: BareMetal) -> tuple[Address, Address] | None:
    """Return the first and the last address of `provisioningDHCPRange`; None if it is no range."""
    ends = [parse_address(end) for end in bare.provisioning_dhcp_range.split(",")]
    match ends:
        case [first, last] if first and last and first.version == last.version:
            return first, last
    return None


def reservations(bare: BareMetal) -> list[Network]:
    """Return what DHCP reserves for each host on a Managed network, in the order of the file, while there is room."""
    if bare.provisioning_network != MANAGED or not (ends := dhcp_range(bare)):
        return []
    first, last = ends
    prefix = RESERVED[first.version]
    size = 1 << first.max_prefixlen - prefix
    start = -int(first) % size
    room = max(0, int(last) - int(first) + 1 - start) // size
    return networks([f"{first + start + size * index}/{prefix}" for index in range(min(room, len(bare.hosts or ())))])


def _addresses(texts: tuple[str, ...]) -> tuple[Address, ...]:
    return tuple(address for address in map(parse_address, texts) if address is not None)


def _api_vip(bare: BareMetal, machine_networks: tuple[Network, ...], vrid: int) -> ApiVip:
    addresses = _addresses(bare.api_vips)
    return ApiVip(
        addresses=addresses,
        networks=_networks_of(addresses, machine_networks),
        vrid=vrid,
        transport=NO_OPTIONS.vrrp.api,
        policy=NO_OPTIONS.vrrp.policy,
    )


def _ingress_vip(bare: BareMetal, machine_networks: tuple[Network, ...], vrid: int) -> IngressVip:
    addresses = _addresses(bare.ingress_vips)
    return IngressVip(
        addresses=addresses,
        networks=_networks_of(addresses, machine_networks),
        vrid=vrid,
        transport=NO_OPTIONS.vrrp.ingress,
    )


def _hosts(bare: BareMetal, assigned_roles: Iterable[Role | None]) -> tuple[PlannedHost, ...]:
    reserved = reservations(bare)
    return tuple(
        _host(host, role, reserved[index].network_address if index < len(reserved) else None)
        for index, (host, role) in enumerate(zip(bare.hosts or (), assigned_roles, strict=True))
    )


def _networks_of(vips: tuple[Address, ...], machine_networks: tuple[Network, ...]) -> tuple[Network, ...]:
    """Return the machine network of each address; the first of its family for one that is elsewhere."""

    def network_of(vip: Address) -> Network:
        family = [network for network in machine_networks if network.version == vip.version]
        return next((network for network in family if in_any(vip, [network])), family[0])

    return tuple(map(network_of, vips))


def _provisioning(bare: BareMetal, domain: str, vrid: int) -> Provisioning:
    cidr = networks([bare.provisioning_network_cidr])
    mode = bare.provisioning_network
    return Provisioning(
        mode=mode,
        bridge=bare.provisioning_bridge or None,
        cidr=cidr[0] if cidr else None,
        bootstrap_ip=parse_address(bare.bootstrap_provisioning_ip),
        cluster_ip=parse_address(bare.cluster_provisioning_ip),
        dhcp_range=dhcp_range(bare),
        gateway=parse_address(bare.provisioning_network_gateway),
        interface=bare.provisioning_network_interface or None,
        mac=_mac(bare.provisioning_mac_address, f"provisioning.{domain}") if mode != DISABLED else None,
        vrid=vrid if mode == MANAGED else None,
    )


def _host(written: Host, role: Role | None, provisioning_address: Address | None) -> PlannedHost:
    host = PlannedHost(
        name=written.name,
        addresses=(),
        boot_mac=parse_mac(written.boot_mac_address) or "",
        provisioning_address=provisioning_address,
        spare_of=None if role else next((each for each in Role if each.pool == written.role), None),
        boot_mode=written.boot_mode,
        root_device_hints=written.root_device_hints or RootDeviceHints(),
        network_config=written.network_config,
        bmc=PlannedBmc(
            address=written.bmc.address,
            url=parse_bmc_url(written.bmc.address),
            username=written.bmc.username,
            password=written.bmc.password,
            verify_tls=not written.bmc.disable_certificate_verification,
        ),
    )
    return host if role is None else Server(**dict(host) | {"role": role})


def _bootstrap(bare: BareMetal, name: str, domain: str, machine_networks: tuple[Network, ...]) -> BootstrapHost:
    static = None
    # The rules hold: all three are set or none, and the address is in a machine network.
    texts = (
        bare.bootstrap_external_static_ip,
        bare.bootstrap_external_static_gateway,
        bare.bootstrap_external_static_dns,
    )
    if addresses := _addresses(texts):
        address, gateway, dns = addresses
        (network,) = _networks_of((address,), machine_networks)
        static = StaticNetwork(address=address, prefix=network.prefixlen, gateway=gateway, dns=dns)
    return BootstrapHost(
        name=f"{name}-bootstrap",
        addresses=addresses[:1],
        static=static,
        mac=_mac(bare.external_mac_address, domain),
        bridge=bare.external_bridge,
    )


def _mac(text: str, name: str) -> str:
    """Return the file's MAC, else one that follows from a name, with the prefix of QEMU's network cards."""
    return parse_mac(text) or f"52:54:00:{hashlib.sha256(name.encode()).digest()[:3].hex(':')}"
