"""What a plan is made of."""

from typing import Any

from pydantic import ConfigDict, Field, SecretStr

from cluster.install_config.platform import RootDeviceHints
from cluster.options import Images, Options, Runtime, Transport
from cluster.values.address import Address, Network
from cluster.values.bmc_url import BmcUrl
from cluster.values.role import Role
from cluster.values.vrrp import API, INGRESS, ApiPriorities, IngressPriorities, Policy
from providers.base.spec import Model


class Planned(Model):
    """A part of the plan."""

    model_config = ConfigDict(extra="forbid")


class Vip(Planned):
    """A virtual address per family, and its VRRP identity."""

    addresses: tuple[Address, ...]
    """One or two; the cluster's primary family first."""
    networks: tuple[Network, ...]
    """The machine network of each: it lives on the interface that has an address in it."""
    router_id: int
    """virtual_router_id, 1-255."""
    transport: Transport
    """unicast: every holder lists all others; multicast: on the VIP's network."""

    @property
    def address(self) -> Address:
        """The primary one."""
        return self.addresses[0]


class ApiVip(Vip):
    """Held by the bootstrap, then by the control plane."""

    policy: Policy

    @property
    def priorities(self) -> ApiPriorities:
        """The policy's numbers."""
        return API[self.policy]


class IngressVip(Vip):
    """Held by compute; where there is none, by the control plane."""

    priorities: IngressPriorities = INGRESS


class Provisioning(Planned):
    """The provisioning network; what the mode does not need is None."""

    mode: str
    """Managed, Unmanaged or Disabled."""
    bridge: str | None = None
    cidr: Network | None = None
    bootstrap_ip: Address | None = None
    cluster_ip: Address | None = None
    dhcp_range: tuple[Address, Address] | None = None
    interface: str | None = None
    """Of the servers; None: the one with the boot MAC."""
    mac: str | None = None
    """Of the bootstrap VM on this network."""


class PlannedBmc(Planned):
    """A server's BMC."""

    address: str
    """As the install-config has it."""
    url: BmcUrl
    """What that says."""
    username: str
    password: SecretStr
    verify_tls: bool


class Machine(Planned):
    """One that has a place in the network."""

    name: str
    addresses: tuple[Address, ...]
    """The primary family first; empty while nothing names one."""

    @property
    def address(self) -> Address:
        """The primary one."""
        return self.addresses[0]

    def address_of(self, version: int) -> Address:
        """That of one family; a plan's servers and bootstrap have one for each family of the API VIP."""
        return next(address for address in self.addresses if address.version == version)


class Keyfile(Planned):
    """A connection profile of NetworkManager."""

    name: str
    """Of the file, such as `eth0.nmconnection`."""
    text: str = Field(repr=False)
    secret: bool = False
    """Whether the `networkConfig` that it is made of holds a secret."""


class PlannedHost(Machine):
    """One host of the install-config; a spare one, unless it is a `Server`."""

    role: Role | None = None
    """None for a spare one: the replicas are reached without it."""
    boot_mac: str
    """Six pairs of lower-case digits, with colons; so are all MACs of the plan."""
    boot_mode: str
    """UEFI, UEFISecureBoot or legacy."""
    root_device_hints: RootDeviceHints
    network_config: dict[str, Any] | None = Field(repr=False)
    """nmstate; it may hold secrets."""
    keyfiles: tuple[Keyfile, ...] = ()
    """What that makes, by name."""
    bmc: PlannedBmc


class Server(PlannedHost):
    """A host that is installed."""

    role: Role


class StaticNetwork(Planned):
    """The three bootstrapExternalStatic keys, the prefix being that of the machine network."""

    address: Address
    prefix: int
    gateway: Address
    dns: Address


class BootstrapHost(Machine):
    """The bootstrap VM's place in the network."""

    static: StaticNetwork | None
    """What the VM sets itself; None: DHCP reserves its addresses."""
    mac: str
    """The install-config's, or one that the cluster's domain gives: the installer draws a random one for each run,
    which no reservation of a DHCP server could follow."""
    bridge: str


class Intent(Planned):
    """What the install-config alone says; and, of the stack's options, where they place the machines."""

    name: str
    base_domain: str
    machine_networks: tuple[Network, ...]
    api: ApiVip
    ingress: IngressVip
    provisioning: Provisioning
    hosts: tuple[PlannedHost, ...]
    """All of them, in the order of the file."""
    bootstrap: BootstrapHost
    runtime: Runtime
    images: Images
    libvirt_uri: str
    bmc_verify_ca: str
    """PEM of the CA of the BMCs' certificates; empty: the file names none."""

    @property
    def domain(self) -> str:
        """The cluster's own."""
        return f"{self.name}.{self.base_domain}"

    @property
    def dns_records(self) -> dict[str, tuple[Address, ...]]:
        """What the site's DNS must answer, by name."""
        api, ingress = self.api.addresses, self.ingress.addresses
        return {f"api.{self.domain}": api, f"api-int.{self.domain}": api, f"*.apps.{self.domain}": ingress}

    @property
    def servers(self) -> tuple[Server, ...]:
        """The hosts that are installed."""
        return tuple(host for host in self.hosts if isinstance(host, Server))

    def of(self, role: Role) -> tuple[Server, ...]:
        """The servers of one role."""
        return tuple(server for server in self.servers if server.role is role)

    @property
    def control_plane(self) -> tuple[Server, ...]:
        """Servers of the control plane."""
        return self.of(Role.CONTROL_PLANE)

    @property
    def compute(self) -> tuple[Server, ...]:
        """Compute servers."""
        return self.of(Role.COMPUTE)

    @property
    def ingress_role(self) -> Role:
        """The role whose servers hold the Ingress VIP."""
        return Role.COMPUTE if self.compute else Role.CONTROL_PLANE

    def vips_of(self, role: Role) -> tuple[Vip, ...]:
        """The VIPs that a role's servers claim."""
        vips: dict[Role, tuple[Vip, ...]] = {Role.CONTROL_PLANE: (self.api,), Role.COMPUTE: ()}
        return (*vips[role], self.ingress) if role is self.ingress_role else vips[role]


class ClusterPlan(Intent):
    """A cluster as it shall be: every server and the bootstrap have an address, every server a consent."""

    options: Options

    @property
    def bmc_ca(self) -> str:
        """PEM of the CA of the BMCs' certificates; empty: the system's CAs."""
        return self.options.bmc_ca or self.bmc_verify_ca
