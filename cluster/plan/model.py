"""The parts of a plan."""

from functools import cached_property
from typing import Any

from pydantic import ConfigDict, Field, SecretStr

from base.spec import Model
from cluster.install_config.platform import DISABLED, MANAGED, RootDeviceHints
from cluster.install_config.rules.pools import FENCED
from cluster.option_types import Runtime, Transport
from cluster.options import BmcOptions, Images, MediaSource, Options
from cluster.plan.network_config import NetworkConfig
from cluster.values.address import IPV4, IPV6, Address, Network
from cluster.values.architecture import Architecture
from cluster.values.balancer import Balancer, needs_api_int
from cluster.values.bmc_url import BmcUrl
from cluster.values.boot_method import BootMethod
from cluster.values.platform import ClusterPlatform
from cluster.values.role import Role, payload_files
from cluster.values.vrrp import API, INGRESS, ApiPriorities, IngressPriorities, Policy


class Planned(Model):
    """A part of the plan."""

    model_config = ConfigDict(extra="forbid")


class Vip(Planned):
    """A virtual address per family, and its VRRP identity."""

    addresses: tuple[Address, ...]
    """One or two addresses; the cluster's primary family first."""
    networks: tuple[Network, ...]
    """The machine network of each address. A machine holds the address on its interface in that network.

    For an address of the site's balancer that is elsewhere, the first machine network of its family.
    """
    vrid: int
    """virtual_router_id, 1-255."""
    transport: Transport
    """unicast: each machine that claims the VIP lists all others, spares too; multicast: it reaches all on the VIP's
    network."""

    @property
    def address(self) -> Address:
        """The address of the primary family."""
        return self.addresses[0]


class ApiVip(Vip):
    """The API VIP, which the bootstrap VM holds first, and then the control plane."""

    policy: Policy

    @property
    def priorities(self) -> ApiPriorities:
        """The priorities of the policy."""
        return API[self.policy]


class IngressVip(Vip):
    """The Ingress VIP, which compute holds or, if there is none, the control plane."""

    priorities: IngressPriorities = INGRESS


RESERVED = {IPV4: 32, IPV6: 125}
"""Prefix of what DHCP reserves for a server, by family: one address, or eight. One boot over IPv6 asks with several
identities, of firmware and of iPXE, and dnsmasq gives an address to only one of them."""


class Provisioning(Planned):
    """The provisioning network. Values that the mode does not need are None."""

    mode: str
    """Managed, Unmanaged or Disabled."""
    bridge: str | None = None
    cidr: Network | None = None
    bootstrap_ip: Address | None = None
    cluster_ip: Address | None = None
    dhcp_range: tuple[Address, Address] | None = None
    gateway: Address | None = None
    """What DHCP names as the router there, if anything."""
    interface: str | None = None
    """Name of the servers' interface on this network. None: the interface with the boot MAC."""
    mac: str | None = None
    """MAC of the bootstrap VM on this network."""
    vrid: int | None = None
    """virtual_router_id of `cluster_ip`, which the control plane claims."""


class PlannedBmc(Planned):
    """A server's BMC."""

    address: str
    """The address as written in the install-config."""
    url: BmcUrl
    """The parsed address."""
    username: str
    password: SecretStr
    verify_tls: bool


class PlannedFence(Planned):
    """How one server of a control plane fences another: by Basic over https, whatever the scheme says."""

    where: str
    """The place of the login in the install-config."""
    address: str
    """The address of the fenced server's system, in the form of a BMC's address."""
    username: str
    password: SecretStr
    verify_tls: bool
    ca: str
    """PEM of the CAs that the servers trust beside the system's."""


class Machine(Planned):
    """A machine with addresses."""

    name: str
    addresses: tuple[Address, ...]
    """The primary family first. Empty until an input names one."""

    @property
    def address(self) -> Address:
        """The address of the primary family."""
        return self.addresses[0]

    def address_of(self, version: int) -> Address:
        """Return the address of a family. A plan's servers and bootstrap VM have one per family of the API VIP."""
        return next(address for address in self.addresses if address.version == version)


class Keyfile(Planned):
    """A connection profile of NetworkManager."""

    name: str
    """Name of the file, such as `eth0.nmconnection`."""
    text: str = Field(repr=False)
    secret: bool = False
    """Whether the `networkConfig` that it is made from holds a secret."""


class PlannedHost(Machine):
    """A host of the install-config. It is a spare, unless it is a `Server`."""

    role: Role | None = None
    """None for a spare: the replicas do not need it, and it is identified only."""
    spare_of: Role | None = None
    """The role of a spare in the file. None for a server, and for a spare that may get any role."""
    boot_mac: str
    """Six pairs of lower-case digits with colons, like all MACs of the plan. It is that of the card on the
    provisioning network or, if that is Disabled, on the machine network."""
    provisioning_address: Address | None = None
    """The address of a server on a Managed provisioning network, the first that is reserved for its boot MAC."""
    boot_mode: str
    """UEFI, UEFISecureBoot or legacy."""
    root_device_hints: RootDeviceHints
    network_config: dict[str, Any] | None = Field(repr=False)
    """Configuration for nmstate, which may hold secrets."""
    keyfiles: tuple[Keyfile, ...] = ()
    """The keyfiles that nmstate makes from it, sorted by name."""
    bmc: PlannedBmc

    @cached_property  # the rules read it sixty times
    def network(self) -> NetworkConfig:
        """What `network_config` says; nothing if it is None."""
        return NetworkConfig.of(self.network_config)

    @property
    def holds_secret(self) -> bool:
        """Whether its keyfiles, which its boot ISO has, hold a secret."""
        return any(keyfile.secret for keyfile in self.keyfiles)

    @property
    def boot_method(self) -> BootMethod:
        """How it gets to its boot ISO."""
        return BootMethod.of(self.bmc.url, self.boot_mode)

    @property
    def boots_from_network(self) -> bool:
        """Whether its firmware boots from the provisioning network."""
        return self.bmc.url.needs_provisioning_network

    @property
    def fetches_installer(self) -> bool:
        """Whether it fetches the installer itself, from this program's own server: its BMC inserts no virtual CD."""
        return self.boot_method is not BootMethod.VIRTUAL_CD


class Server(PlannedHost):
    """A host that is installed."""

    role: Role


class StaticNetwork(Planned):
    """The three bootstrapExternalStatic keys, with the prefix of the machine network."""

    address: Address
    prefix: int
    gateway: Address
    dns: Address


class BootstrapHost(Machine):
    """The bootstrap VM in the network."""

    static: StaticNetwork | None
    """The address that the VM sets itself. None: DHCP reserves its addresses."""
    mac: str
    """The install-config's MAC, or one that follows from the cluster's domain. The installer's own is random for each
    run, so no DHCP server could reserve an address for it."""
    bridge: str


class Intent(Planned):
    """What an install-config asks for, with the options of `MachineOptions` that a stack adds."""

    name: str
    base_domain: str
    machine_networks: tuple[Network, ...]
    platform: ClusterPlatform
    """The platform of the cluster that is installed."""
    balancer: Balancer
    """If it is the site's, `api` and `ingress` are its addresses: no machine claims them, and their VRRP identity is
    unused."""
    api: ApiVip
    ingress: IngressVip
    provisioning: Provisioning
    hosts: tuple[PlannedHost, ...]
    """All hosts, in the order of the file."""
    architectures: dict[Role, Architecture]
    """The architecture of the servers of each role that has any."""
    bootstrap: BootstrapHost
    topology: dict[str, str]
    """The values that an installed cluster may not change; see `topology_of`."""
    payload_values: dict[str, str] = Field(repr=False)
    """The values that the payload must have been made from; see `payload_values`. A proxy's may hold a login."""
    runtime: Runtime
    images: Images
    media: MediaSource
    ntp_servers: tuple[str, ...]
    """Addresses and names of the time servers of all machines. Empty: the machines keep those of their image."""
    libvirt_uri: str
    bmc_verify_ca: str
    """PEM of the CA of the BMCs' certificates. Empty if the file names none."""
    named_addresses: frozenset[Address] = frozenset()
    """Each address that the inputs name, whatever its use: no other machine may get it."""

    @property
    def domain(self) -> str:
        """The cluster's domain."""
        return f"{self.name}.{self.base_domain}"

    @property
    def dns_records(self) -> dict[str, tuple[Address, ...]]:
        """The addresses that the site's DNS must answer, by name."""
        api, ingress = self.api.addresses, self.ingress.addresses
        names = ("api", "api-int") if needs_api_int(self.balancer, self.platform) else ("api",)
        return {**{f"{name}.{self.domain}": api for name in names}, f"*.apps.{self.domain}": ingress}

    @property
    def servers(self) -> tuple[Server, ...]:
        """The hosts that are installed."""
        return tuple(host for host in self.hosts if isinstance(host, Server))

    @property
    def spares(self) -> tuple[PlannedHost, ...]:
        """The hosts that are identified only."""
        return tuple(host for host in self.hosts if not isinstance(host, Server))

    def of(self, role: Role) -> tuple[Server, ...]:
        """Return the servers of one role."""
        return tuple(server for server in self.servers if server.role is role)

    @property
    def control_plane(self) -> tuple[Server, ...]:
        """Servers of the control plane."""
        return self.of(Role.CONTROL_PLANE)

    @property
    def arbiters(self) -> tuple[Server, ...]:
        """Servers that hold a copy of etcd, and nothing else of the control plane."""
        return self.of(Role.ARBITER)

    @property
    def holders_of_etcd(self) -> tuple[Server, ...]:
        """Servers with a copy of etcd: the control plane and arbiters."""
        return (*self.control_plane, *self.arbiters)

    @property
    def is_fenced(self) -> bool:
        """Whether the two servers of its control plane fence each other: etcd has no other majority (ADR 65)."""
        return len(self.control_plane) == FENCED and not self.arbiters

    @property
    def payload_files(self) -> tuple[str, ...]:
        """The files of its payload, without `.ign`."""
        return payload_files(has_arbiter=bool(self.arbiters))

    @property
    def compute(self) -> tuple[Server, ...]:
        """Compute servers."""
        return self.of(Role.COMPUTE)

    @property
    def booted_from_network(self) -> tuple[Server, ...]:
        """The servers that boot the installer from the network."""
        return tuple(server for server in self.servers if server.boots_from_network)

    def boot_clients(self, role: Role) -> tuple[Server, ...]:
        """Return the servers of a role whose network boot the cluster's own machines serve.

        The bootstrap VM serves that of the roles that hold etcd, the control plane that of compute.
        """
        managed = self.provisioning.mode == MANAGED
        return tuple(server for server in self.booted_from_network if managed and server.role is role)

    @property
    def clients_of_bootstrap(self) -> tuple[Server, ...]:
        """The servers whose network boot the bootstrap VM serves."""
        return tuple(server for role in Role if role.holds_etcd for server in self.boot_clients(role))

    @property
    def boots_over_ipv6(self) -> bool:
        """Whether there is a provisioning network, and it is of IPv6."""
        cidr = self.provisioning.cidr
        return self.provisioning.mode != DISABLED and cidr is not None and cidr.version == IPV6

    @property
    def serves_boots(self) -> bool:
        """Whether machines of the cluster serve the network boot of others."""
        return any(self.boot_clients(role) for role in Role)

    @property
    def runs_services(self) -> bool:
        """Whether any machine runs a service of this program."""
        needs_none = self.platform is ClusterPlatform.BAREMETAL and self.balancer is Balancer.SITE
        return self.serves_boots or not needs_none

    @property
    def provisioning_vip(self) -> Vip | None:
        """The address at which compute boots from the network. None: nothing of it does."""
        own = self.provisioning
        if not (self.boot_clients(Role.COMPUTE) and own.cluster_ip and own.cidr and own.vrid):
            return None
        return Vip(addresses=(own.cluster_ip,), networks=(own.cidr,), vrid=own.vrid, transport="unicast")

    @property
    def ingress_role(self) -> Role:
        """The role whose servers run the routers of Ingress, and hold its VIP."""
        return Role.COMPUTE if self.compute else Role.CONTROL_PLANE

    def claimants(self, role: Role) -> tuple[PlannedHost, ...]:
        """Return the hosts that claim a role's VIPs, now or later: its servers, then its spares with addresses."""
        families = {address.version for address in self.api.addresses}
        spares = (spare for spare in self.spares if spare.spare_of is role)
        return (*self.of(role), *(it for it in spares if families <= {address.version for address in it.addresses}))

    def lists_peers(self, role: Role) -> bool:
        """Return whether a role's servers list all others in their own keepalived.conf, for good."""
        own = self.balancer is not Balancer.OPERATOR
        return own and any(vip.transport == "unicast" for vip in self.vips_of(role))

    def vips_of(self, role: Role) -> tuple[Vip, ...]:
        """Return the VIPs that a role's servers claim."""
        of_boots = (self.provisioning_vip,) if role is Role.CONTROL_PLANE and self.provisioning_vip else ()
        if self.balancer is Balancer.SITE:
            return of_boots
        vips = (self.api, *of_boots) if role is Role.CONTROL_PLANE else ()
        return (*vips, self.ingress) if role is self.ingress_role else vips


class BmcPlan(Intent):
    """An intent whose BMCs can be reached: every host has a login."""

    options: BmcOptions
    fences: dict[str, PlannedFence] = {}
    """By server that its peer fences: how. Only where logins are tried: the program itself fences nobody."""

    @property
    def bmc_ca(self) -> str:
        """PEM of the CA of the BMCs' certificates. Empty: the system's CAs."""
        return self.options.bmc_ca or self.bmc_verify_ca


class ClusterPlan(BmcPlan):
    """A complete plan: every server and the bootstrap VM have addresses, and every server has a consent."""

    options: Options
