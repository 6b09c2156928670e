"""The addresses that a cluster with a proxy asks directly, and those that it must.

OpenShift adds to `noProxy` its networks of machines, pods and services, the names inside the cluster and api-int
(openshift/installer, pkg/asset/manifests/proxy.go; "Configuring the cluster-wide proxy" of the documentation). All
programs read the result as Go's golang.org/x/net/http/httpproxy does.
"""

from collections.abc import Iterator
from enum import StrEnum

from base.errors import Fault
from cluster.install_config import InstallConfig
from cluster.options import MachineOptions
from cluster.plan.address_table.rows import rows_of
from cluster.plan.address_table.uses import Use
from cluster.plan.intent import NO_OPTIONS
from cluster.values.address import Address, in_any, networks, parse_address
from cluster.values.platform import ClusterPlatform


class Asker(StrEnum):
    """Who of a cluster asks an address over HTTP or HTTPS, in the words of the messages."""

    MACHINES = "the cluster's machines"
    METAL3 = "metal3"
    """Only in a cluster of platform baremetal."""
    PULL = "whoever pulls images"
    """May use the proxy: the registry itself is asked that way."""
    NOBODY = "nobody"


ASKERS = {
    Use.API_VIP: Asker.MACHINES,
    Use.INGRESS_VIP: Asker.MACHINES,
    Use.SERVER: Asker.MACHINES,
    Use.BOOTSTRAP: Asker.MACHINES,
    Use.BALANCER: Asker.MACHINES,
    Use.OTHER_CARD: Asker.NOBODY,
    Use.PROVISIONING_VIP: Asker.METAL3,
    Use.BOOT_SERVER: Asker.METAL3,
    Use.RESERVED: Asker.METAL3,
    Use.BMC: Asker.METAL3,
    Use.REGISTRY: Asker.PULL,
    # Of this program and of firmware, neither of which reads the install-config's proxy:
    **dict.fromkeys((Use.MEDIA, Use.WEB_SERVER, Use.HYPERVISOR), Asker.NOBODY),
    # Not asked over HTTP:
    **dict.fromkeys((Use.GATEWAY, Use.DNS, Use.NTP, Use.PROXY, Use.CARD, Use.SYSTEM), Asker.NOBODY),
    # Networks and their ends:
    **dict.fromkeys((Use.UNUSABLE, Use.ROUTE, Use.MACHINES, Use.PROVISIONING), Asker.NOBODY),
    **dict.fromkeys((Use.PODS, Use.SERVICES, Use.OVN), Asker.NOBODY),
}
"""By use in the table of addresses."""


def proxied_addresses(config: InstallConfig, options: MachineOptions = NO_OPTIONS) -> Iterator[Fault]:
    """Yield each address that the cluster would ask through the proxy, though it must ask it directly."""
    asking = {Asker.MACHINES, *([Asker.METAL3] if options.platform is ClusterPlatform.BAREMETAL else [])}
    for row in rows_of(config, options) if config.proxy else ():
        asker = ASKERS[row.use]
        if asker in asking and isinstance(row.value, Address) and not goes_direct(config, row.text):
            what = f"{row.text} is not in proxy.noProxy, so {asker} would ask {row.use} through the proxy"
            yield Fault(row.path, what, "add it, or a network that contains it, to proxy.noProxy")


def goes_direct(config: InstallConfig, host: str) -> bool:
    """Return whether the cluster asks a host, a name or an address, without the proxy."""
    own = f"{config.metadata.name}.{config.base_domain.removesuffix('.')}"
    written = (config.proxy.no_proxy if config.proxy else "").split(",")
    entries = [entry.strip() for entry in written] + ["localhost", ".svc", ".cluster.local", f"api-int.{own}"]
    address = parse_address(host)
    if "*" in entries:
        return True
    if address is None:
        return any(_covers(entry.lower().removesuffix("."), host.lower()) for entry in entries if entry)
    net = config.networking
    outer = [entry.cidr for entry in net.machine_network]
    inside = [*outer, *(entry.cidr for entry in net.cluster_network), *net.service_network]
    is_named = address in map(parse_address, entries) or in_any(address, networks([*entries, *inside]))
    return is_named or address.is_loopback


def _covers(entry: str, host: str) -> bool:
    """Return whether a domain covers a name: with a dot before it, only the names below it."""
    return host == entry or host.endswith(entry if entry.startswith(".") else f".{entry}")
