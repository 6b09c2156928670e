"""The lab's inventory: the plan of a stack's twin, and the data that only the lab needs."""

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_interface
from itertools import chain
from pathlib import Path

from base.errors import ConfigError, Fault, one_line
from cluster.files import read_text
from cluster.install_config import InstallConfig, read
from cluster.install_config.platform import UNMANAGED
from cluster.plan import Intent, load_intent
from cluster.plan.model import PlannedHost
from cluster.plan.sample_values import free_addresses
from cluster.values.address import Address, Interface, Network, parse_address
from cluster.values.balancer import Balancer
from cluster.values.boot_method import BootMethod
from cluster.values.platform import ClusterPlatform
from lab.disks import Disk, disks_of, with_stale
from lab.nics import not_emulated, provisioning_bridge
from lab.shell import LabError
from lab.twin import BMC_NETWORKS, Twin, family_of_named_bmcs, make_twin, uuid_of

STACKS = Path("stacks")
"""Relative to the current directory, as for Pulumi."""

STACK = "rehearsal"
"""The stack that is rehearsed by default."""
SERVER_MIB = 1100
"""Memory of a server: coreos-installer packs a keyfile with xz -9, which needs 674 MiB."""
SLAAC_PREFIX = 64
"""Of a network in which a machine makes itself an address by a router's advertisements (RFC 4862, RFC 2464)."""
BOOTSTRAP_MIB = 400
"""Memory of the bootstrap VM and its process."""


@dataclass(frozen=True)
class Bmc:
    """The address of a server's BMC, and the id of its system there."""

    name: str
    """The host in its URL: a name or an address."""
    address: Address
    port: int
    tls: bool
    system: str | None
    """Id of the system in its URL. None: the URL has none, so the BMC has only one system."""
    ipmi: bool = False
    """Whether it speaks IPMI, at a UDP port."""
    is_replaced: bool = False
    """Whether it is not the server's first one: its login and its certificate are its own, which it made itself."""

    @property
    def pattern(self) -> str:
        """A regular expression for that id."""
        return re.escape(self.system or "")


@dataclass(frozen=True)
class Site:
    """Data from which the lab builds its machines and payload."""

    twin: Twin
    plan: Intent
    """The twin's intent, in which every machine has an address."""
    uuids: Mapping[str, str]
    """UUID of the libvirt domain by host, spares too; also the host's system id at the emulator."""
    bmcs: Mapping[str, Bmc]
    """By host."""
    config: InstallConfig
    """The twin's install-config with its defaults."""
    provisioners: tuple[Interface, ...]
    """The provisioner's address on each machine network with a machine, as its router; the API VIP's first."""
    on_provisioning: tuple[Interface, ...]
    """The provisioner's address on the provisioning network, if it has one there."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the bootstrap VM and of the hosts."""
        return (self.plan.bootstrap.name, *(host.name for host in self.plan.hosts))

    @property
    def has_balancer(self) -> bool:
        """Whether a load balancer of the site has the addresses of API and Ingress."""
        return self.plan.balancer is Balancer.SITE

    @property
    def is_baremetal(self) -> bool:
        """Whether the cluster's platform is baremetal, with the machine-config operator's services on the nodes."""
        return self.plan.platform is ClusterPlatform.BAREMETAL

    @property
    def api_is_real(self) -> bool:
        """Whether the handoff waits for OKD's own report, which only a real API has."""
        return self.is_baremetal or len(self.plan.control_plane) == 1 or self.plan.is_fenced

    @property
    def statics(self) -> frozenset[str]:
        """The machines whose files set all of their addresses, so DHCP must not."""
        named = self.twin.options["node_addresses"]
        bootstrap = self.plan.bootstrap
        static = [bootstrap.name] if bootstrap.static and len(bootstrap.addresses) == 1 else []
        return frozenset([*static, *(server.name for server in self.plan.servers if server.name not in named)])

    @property
    def unserved(self) -> frozenset[str]:
        """The machines without DHCP. Firmware that boots by HTTP from here needs it: it has no static address."""
        http = (server for server in self.plan.servers if server.boot_method is BootMethod.UEFI_HTTP)
        return self.statics - {server.name for server in http if not server.boots_from_network}

    def disks(self, host: PlannedHost) -> tuple[Disk, ...]:
        """Return the disks of a host, in the order of their targets."""
        stale: Sequence[str] = self.twin.options.get("wipe_disks", {}).get(host.name, ())
        return with_stale(disks_of(host.root_device_hints.given), stale)

    @property
    def services(self) -> tuple[Address, ...]:
        """Gateways, DNS and time servers that the install-config names: the provisioner has these addresses too."""
        own = {provisioner.ip for provisioner in self.provisioners}
        return tuple(address for address in _services(self.plan) if address not in own)


def load_site(stack: str = STACK, stacks: Path = STACKS) -> Site:
    """Return the site of a stack's twin.

    Args:
        stack: The stack.
        stacks: The folder with `STACK/install-config.yaml` and `Pulumi.STACK.yaml`.

    Raises:
        LabError: One of the files is missing or wrong, or has what this lab cannot emulate.
    """
    file = stacks / stack / "install-config.yaml"
    with _as_lab_errors():
        twin = make_twin(stack, stacks)
        site = _site(twin)
        _refuse(fault.within(str(file)) for fault in _not_emulated(site.plan))
    return site


def fitting(site: Site, free_mib: int) -> Site:
    """Return the site if its machines fit into `free_mib`, else the site with as much compute as fits.

    Raises:
        LabError: The servers with etcd, and one of compute if there is any, do not fit.
    """
    members, compute = len(site.plan.holders_of_etcd), len(site.plan.compute)
    room = free_mib - BOOTSTRAP_MIB
    if (members + min(1, compute)) * SERVER_MIB > room:
        what = f"{members + min(1, compute)} servers at least, of {SERVER_MIB} MiB each"
        raise LabError(f"{what}; this machine has {room} MiB for them. Fix: rehearse on a larger machine")
    fits = room // SERVER_MIB - members
    if compute <= fits:
        return site
    with _as_lab_errors():
        return _site(site.twin.with_compute(fits))


def _site(twin: Twin) -> Site:
    with tempfile.TemporaryDirectory() as folder:
        twin.write(Path(folder))
        file = Path(folder) / twin.stack / "install-config.yaml"
        plan = load_intent(file, twin.options)
        config = read(read_text(file)).config
    uuids = {
        host.name: uuid_of(host.name, plan.domain, twin.options["consent"].get(host.name)) for host in plan.hosts
    }
    plan = plan.changed(named_addresses=plan.named_addresses | twin.named_addresses)
    bmcs = _bmcs(plan)
    plan = plan.changed(named_addresses=plan.named_addresses | {bmc.address for bmc in bmcs.values()})
    return Site(twin, plan, uuids, bmcs, config, _provisioners(plan), _on_provisioning(plan))


@contextmanager
def _as_lab_errors() -> Iterator[None]:
    """Raise the faults of a stack's files as one line."""
    try:
        yield
    except ConfigError as error:
        raise LabError("; ".join(one_line(str(fault)) for fault in error.faults)) from None


def free_mib() -> int:
    """Return the memory of this machine that is free for a site."""
    fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    return int(fields["MemAvailable"].split()[0]) // 1024


def _refuse(faults: Iterator[Fault]) -> None:
    """Raise all faults, if there are any.

    Raises:
        ConfigError: There is at least one fault.
    """
    if listed := list(faults):
        raise ConfigError(*listed)


def _not_emulated(plan: Intent) -> Iterator[Fault]:
    """Yield each setting that the program supports and the lab does not."""
    if plan.balancer is Balancer.SITE:
        where = "platform.baremetal.loadBalancer.type"
        payload = "the lab has no such payload, whose API must be a real one"
        if plan.platform is ClusterPlatform.BAREMETAL:
            what = f"UserManaged on platform baremetal: {payload}"
            yield Fault(where, what, "rehearse the same stack with `platform: none`")
        elif len(plan.control_plane) == 1:
            what = f"UserManaged with a control plane of one: {payload}"
            yield Fault(where, what, "rehearse the same stack with a control plane of three")
    there = plan.provisioning
    if plan.boots_over_ipv6 and there.mode == UNMANAGED and there.cidr and there.cidr.prefixlen != SLAAC_PREFIX:
        what = f"{there.cidr}: the lab's live system gets its address there from a router, in a /{SLAAC_PREFIX} only"
        yield Fault("platform.baremetal.provisioningNetworkCIDR", what, f"rehearse with a /{SLAAC_PREFIX}")
    for server in plan.servers:
        if settings := not_emulated(server.network_config):
            emulated = "the lab's servers have Ethernet interfaces, with bonds, VLANs and bridges on them"
            what = f"{', '.join(settings)}: {emulated}"
            yield Fault(f"{server.name}.networkConfig", what, "rehearse without it")
        if server.bmc.url.speaks_ipmi and server.boot_mode == "legacy":
            what = "legacy behind IPMI: the lab's firmware is UEFI, and IPMI sets another mode for one boot only"
            yield Fault(f"{server.name}.bootMode", what, "rehearse with UEFI")
    if (bridge := provisioning_bridge(plan)) == plan.bootstrap.bridge:
        what = f"{bridge} is externalBridge too: the lab has a bridge for each of the two networks"
        yield Fault("platform.baremetal.provisioningBridge", what, "name another one")


def _bmcs(plan: Intent) -> dict[str, Bmc]:
    """Return the BMC of each host; one with a host name gets an address of the lab."""
    free = free_addresses(plan, BMC_NETWORKS[family_of_named_bmcs(plan)])
    named: dict[str, Address] = {}
    bmcs = {}
    for host in plan.hosts:
        url = host.bmc.url
        if (address := parse_address(url.host)) is None:
            address = named[url.host] = named.get(url.host) or next(free)
        system = (url.system_id or "").rsplit("/", 1)[-1] or None
        bmcs[host.name] = Bmc(url.host, address, url.port, url.transport == "https", system, url.speaks_ipmi)
    return bmcs


def _services(plan: Intent) -> list[Address]:
    """Return the addresses of the gateways, DNS and time servers of a plan, sorted."""
    networks = [server.network for server in plan.servers]
    named = {route.gateway for network in networks for route in network.routes if route.gateway}
    named |= {server.address for network in networks for server in network.dns_servers}
    named |= {address for server in plan.ntp_servers if (address := parse_address(server))}
    if static := plan.bootstrap.static:
        named |= {static.gateway, static.dns}
    return sorted(named, key=str)


def _provisioners(plan: Intent) -> tuple[Interface, ...]:
    """Return the provisioner's address on a network of each family, and on each other one that a machine is on.

    That of a family is the API VIP's, if it has one.
    """
    by_family = dict[int, Network]()
    for network in (*plan.api.networks, *plan.machine_networks):
        by_family.setdefault(network.version, network)
    taken = [address for host in plan.hosts for address in host.addresses]
    others = [network for network in plan.machine_networks if any(address in network for address in taken)]
    return tuple(_provisioner_on(network, plan) for network in dict.fromkeys([*by_family.values(), *others]))


def _on_provisioning(plan: Intent) -> tuple[Interface, ...]:
    """Return the provisioner's address on the provisioning network, if it serves there: by media, or as the site."""
    network, media = plan.provisioning.cidr, plan.media.address
    if provisioning_bridge(plan) is None or network is None:
        return ()
    serves = plan.provisioning.mode == UNMANAGED or (media is not None and media in network)
    return (_provisioner_on(network, plan),) if serves else ()


def _provisioner_on(network: Network, plan: Intent) -> Interface:
    """Return its address there: that of the media, else that of a service, since it serves both, else a free one.

    Raises:
        ConfigError: The network is full.
    """
    own = (address for address in (plan.media.address, *_services(plan)) if address and address in network)
    address = next(chain(own, free_addresses(plan, network)), None)
    if address is None:
        raise ConfigError(Fault(str(network), "no free address for the provisioner", "rehearse a larger network"))
    return ip_interface(f"{address}/{network.prefixlen}")
