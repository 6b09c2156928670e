"""Settings of a valid install-config that this release cannot install."""

from collections.abc import Iterator

from base.errors import Fault
from base.shapes import below
from cluster.install_config import InstallConfig, Reading
from cluster.install_config.platform import BARE, DISABLED, Bmc
from cluster.options import MachineOptions
from cluster.plan.address_table.conflicts import conflicts_within
from cluster.plan.intent import NO_OPTIONS, pools, roles
from cluster.plan.refusals.fencing import refused_fencing
from cluster.plan.refusals.host_names import refused_names
from cluster.plan.refusals.interfaces import refused_interfaces
from cluster.plan.refusals.network_boot import boots_over_ipv6, refused_provisioning, unbootable
from cluster.values.address import in_any, networks, parse_address
from cluster.values.architecture import Architecture
from cluster.values.bmc_url import BmcUrlError, parse_bmc_url


def beyond_this_release(reading: Reading, options: MachineOptions = NO_OPTIONS) -> list[Fault]:
    """Return each setting of a file that this release cannot install, except where the installer refuses the file.

    With a stack's options, also their addresses that conflict.
    """
    refused = {fault.where for fault in reading.faults}

    def is_known(where: str) -> bool:
        return where not in refused and not any(below(where, path) for path in reading.muted)

    faults = [*unsupported(reading.config), *conflicts_within(reading.config, options)]
    return [fault for fault in faults if is_known(fault.where)]


def unsupported(config: InstallConfig) -> Iterator[Fault]:
    """Yield each setting of an install-config for which no files can be rendered, with the setting that works."""
    yield from _networks(config)
    yield from _pools(config)
    yield from _hosts(config)
    yield from refused_fencing(config)
    yield from refused_names(config)
    yield from refused_interfaces(config)


def _networks(config: InstallConfig) -> Iterator[Fault]:
    yield from _vip_families(config)
    yield from _bgp(config)
    yield from _bootstrap_gateway(config)
    if config.baremetal.provisioning_network != DISABLED:
        yield from refused_provisioning(config)


def _bgp(config: InstallConfig) -> Iterator[Fault]:
    peers = {
        f"{BARE}.hosts[{index}].bgpPeers": host.bgp_peers for index, host in enumerate(config.baremetal.hosts or ())
    }
    for where, value in {f"{BARE}.bgpVIPConfig": config.baremetal.bgp_vip_config, **peers}.items():
        if value:
            what = "VIPs by BGP: not supported, this program announces them by VRRP"
            yield Fault(where, what, "remove it, or have a load balancer of the site announce them: UserManaged")


def _bootstrap_gateway(config: InstallConfig) -> Iterator[Fault]:
    """Yield the bootstrap VM's static gateway if it is outside the network that the VM has its address in."""
    bare = config.baremetal
    address, gateway = (
        parse_address(text) for text in (bare.bootstrap_external_static_ip, bare.bootstrap_external_static_gateway)
    )
    machines = networks([entry.cidr for entry in config.networking.machine_network])
    own = [network for network in machines if address and in_any(address, [network])]
    if gateway and own and not in_any(gateway, own):
        what = f"{gateway} is outside {own[0]}, the network of bootstrapExternalStaticIP {address}"
        fix = "write the router of that network, or its whole prefix in machineNetwork"
        yield Fault(f"{BARE}.bootstrapExternalStaticGateway", what, fix)


def _vip_families(config: InstallConfig) -> Iterator[Fault]:
    """Yield the addresses of the site's balancer of whose family no machine has an address."""
    families = {network.version for network in networks([entry.cidr for entry in config.networking.machine_network])}
    vips = {"apiVIPs": config.baremetal.api_vips, "ingressVIPs": config.baremetal.ingress_vips}
    for key, texts in vips.items():
        for index, text in enumerate(texts):
            address = parse_address(text)
            if address and address.version not in families:
                what = f"{text}: no machine network is of IPv{address.version}"
                yield Fault(f"{BARE}.{key}[{index}]", what, "remove it, or add such a network to machineNetwork")


def _pools(config: InstallConfig) -> Iterator[Fault]:
    for path, pool in config.pools.items():
        if pool.architecture not in tuple(Architecture):
            fix = f"write {' or '.join(Architecture)}"
            yield Fault(f"{path}.architecture", f"{pool.architecture}: not supported yet", fix)


def _hosts(config: InstallConfig) -> Iterator[Fault]:
    architectures = {role: pool.architecture for role, pool in pools(config).items()}
    over_ipv6 = boots_over_ipv6(config)
    for index, (host, role) in enumerate(zip(config.baremetal.hosts or (), roles(config), strict=True)):
        try:
            url = parse_bmc_url(host.bmc.address)
        except BmcUrlError as error:
            yield error.fault.within(f"{BARE}.hosts[{index}].bmc.address")
        else:
            if role and (what := unbootable(host, url, architectures[role], over_ipv6=over_ipv6)):
                yield Fault(f"{BARE}.hosts[{index}].bmc.address", what, f"use {url.instead}")
            if url.speaks_ipmi:
                yield from _too_long(host.bmc, f"{BARE}.hosts[{index}].bmc")
        if role and host.boot_mode == "legacy" and architectures[role] == Architecture.ARM64:
            what = "legacy: servers of arm64 have only UEFI firmware"
            yield Fault(f"{BARE}.hosts[{index}].bootMode", what, "write UEFI")


def _too_long(bmc: Bmc, where: str) -> Iterator[Fault]:
    """Yield the parts of a login that IPMI 2.0 has no room for (sections 13.20 and 22.30)."""
    for key, text, most in (("username", bmc.username, 16), ("password", bmc.password.get_secret_value(), 20)):
        if len(text.encode()) > most:
            fix = "set a shorter one in the BMC, and write it here"
            yield Fault(f"{where}.{key}", f"longer than {most} bytes, the most that IPMI has", fix)
