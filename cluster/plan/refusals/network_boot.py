"""Network boot of a valid install-config that this release cannot serve."""

from collections.abc import Iterator

from base.errors import Fault
from cluster.install_config import InstallConfig
from cluster.install_config.platform import BARE, DISABLED, MANAGED, Host
from cluster.plan.intent import dhcp_range, reservations
from cluster.values.address import IPV6, parse_cidr
from cluster.values.architecture import Architecture
from cluster.values.bmc_url import BmcUrl
from cluster.values.boot_method import BootMethod


def refused_provisioning(config: InstallConfig) -> Iterator[Fault]:
    """Yield what a Managed network cannot have: a router of DHCPv6, and a range too short for the hosts."""
    bare = config.baremetal
    if bare.provisioning_network != MANAGED:
        return
    if bare.provisioning_network_gateway and boots_over_ipv6(config):
        what = f"{bare.provisioning_network_gateway}: DHCPv6 names no router"
        yield Fault(f"{BARE}.provisioningNetworkGateway", what, "remove it: a router there announces itself")
    hosts, room = len(bare.hosts or ()), len(reservations(bare))
    if dhcp_range(bare) and room < hosts:
        each = "eight of its own there, aligned to eight" if boots_over_ipv6(config) else "its own address there"
        what = f"{bare.provisioning_dhcp_range} has addresses for {room} of {hosts} hosts"
        yield Fault(f"{BARE}.provisioningDHCPRange", what, f"write a longer one: each host has {each}")


def boots_over_ipv6(config: InstallConfig) -> bool:
    """Return whether the servers have a provisioning network, and it is of IPv6."""
    cidr = parse_cidr(config.baremetal.provisioning_network_cidr)
    return config.baremetal.provisioning_network != DISABLED and cidr is not None and cidr.version == IPV6


def unbootable(host: Host, url: BmcUrl, architecture: str, *, over_ipv6: bool) -> str:
    """Return why a host cannot boot by the method of its BMC's address; empty if it can.

    Neither iPXE nor UEFI HTTP was tried on arm64. BIOS has no PXE over IPv6, and undionly.kpxe has no IPv6. UEFI HTTP
    over IPv6 was tried with edk2, and did not work.
    """
    method = BootMethod.of(url, host.boot_mode)
    if method is not BootMethod.VIRTUAL_CD and architecture == Architecture.ARM64:
        return "servers of arm64 boot from virtual media only"
    if method is BootMethod.UEFI_HTTP and host.boot_mode == "legacy":
        return "bootMode legacy: only UEFI firmware boots by HTTP"
    if over_ipv6 and url.needs_provisioning_network and host.boot_mode != "UEFI":
        return f"bootMode {host.boot_mode}: over a provisioning network of IPv6, only UEFI boots, by iPXE"
    return ""
