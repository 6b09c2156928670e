"""Inputs and outputs of `HostProvisioning`."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BeforeValidator, Field, SecretStr

from assets.boot_server import boot_server
from assets.ignition import composed_sha256, keyfiles_in, own_config
from base.spec import INPUT_ONLY, Mark, Model, Outs, Spec, marked_fields
from cluster.values.address import netloc
from cluster.values.architecture import Architecture
from cluster.values.phase import Phase
from cluster.values.role import Role
from providers.joining.certificates import Approval
from wires.bmc.access import BmcAccess
from wires.bmc.identity import UNIDENTIFIED, MachineId

if TYPE_CHECKING:
    from assets.keepalived import Keepalived
    from assets.render import Rendered
    from cluster.plan import ClusterPlan, Server
    from cluster.plan.model import Vip


INTO_ISO = Mark("an input that goes into the boot ISOs, or the digest of one that does")


def _as_hints(value: Any) -> Any:
    """Read the state of a release whose only hint was `deviceName`."""
    return {"deviceName": value} if isinstance(value, str) else value


class VrrpNode(Model):
    """What the keepalived.conf of a server says, where it claims VIPs."""

    sources: tuple[str, ...] = ()
    """The addresses from which it advertises by unicast."""
    peers: tuple[str, ...] = ()
    """The addresses of the machines that it lists: by unicast, it hears no other one."""
    priority: int | None = None
    """Its priority for the API VIP: that of each machine is another one. None: it does not claim that VIP."""

    @classmethod
    def of(cls, conf: "Keepalived", api: "Vip") -> Self:
        """Return what a file says, `api` being the API VIP."""
        by_unicast = [instance for instance in conf.instances if instance.peers]
        priorities = [instance.priority for instance in conf.instances if instance.vrid == api.vrid]
        return cls(
            sources=tuple(dict.fromkeys(str(instance.source) for instance in by_unicast)),
            peers=tuple(dict.fromkeys(str(peer) for instance in by_unicast for peer in instance.peers)),
            priority=next(iter(priorities), None),
        )


class HostSpec(Model):
    """One host to install."""

    bmc: BmcAccess
    """If its CA is empty, `HostProvisioningSpec.ca` applies."""
    address: str
    """Address at which the installed system answers."""
    addresses: tuple[str, ...] = ()
    """All its addresses in the plan; its serving certificate is for no other ones."""
    root_device: Annotated[dict[str, str], BeforeValidator(_as_hints), INTO_ISO]
    """What the disk that the installation wipes must have: the given `rootDeviceHints`, as text."""
    wipe_disks: Annotated[tuple[str, ...], INTO_ISO] = ()
    """Serial numbers or WWNs of the disks that it wipes, too, if they are stale."""
    consent: str = ""
    """UUID or serial of the machine that the host is to be, if its peer fences it; empty for other hosts."""

    @property
    def all_addresses(self) -> tuple[str, ...]:
        """Its addresses; that at which it answers, if a state of an earlier release has no others."""
        return self.addresses or (self.address,)


class HostProvisioningSpec(Spec):
    """The hosts of one role, and what their boot ISOs are made from."""

    role: Role
    architecture: Architecture = Architecture.AMD64
    hosts: dict[str, HostSpec]
    identities: dict[str, MachineId] = {}
    """By host; a host without one is installed without a check of its identity."""
    passwords: dict[str, SecretStr]
    """Passwords of the BMCs, by host."""
    ca: str = ""
    """PEM of the CA that signed the BMCs' certificates; if empty, the system's CAs apply."""
    media_address: Annotated[str, INTO_ISO] = ""
    """Address of this machine that the BMCs reach; it serves the boot ISOs while hosts are installed."""
    media_port: Annotated[int, INTO_ISO]
    media_url: Annotated[str, INTO_ISO] = ""
    """URL of a folder on a web server that has the boot ISOs; replaces address and port."""
    over_tls: tuple[str, ...] = ()
    """The hosts whose BMCs fetch their ISOs from this machine over TLS."""
    boot_macs: Annotated[dict[str, str], INTO_ISO] = {}
    """By host that boots from the network: the MAC of the card that it boots from."""
    boot_server: Annotated[str, INTO_ISO] = ""
    """URL at which these hosts reach the media server: itself, or a proxy on the provisioning network."""
    base_iso_sha256: Annotated[str, INTO_ISO]
    base_iso_url: str = ""
    """URL to download the base ISO from if it is not in the cache."""
    ignition_sha256: Annotated[dict[str, str], INTO_ISO]
    """Digest of each host's composed Ignition config, for previews to show."""
    own_ignition: Annotated[dict[str, SecretStr], INPUT_ONLY] = Field({}, alias="ours")
    """This program's part of each host's Ignition config, as JSON text."""
    keyfiles: Annotated[dict[str, dict[str, SecretStr]], INPUT_ONLY] = {}
    """Keyfiles by host and file name, for the boot ISO; `own_ignition` contains them as well."""
    payload_sha256: Annotated[str, INTO_ISO]
    """Digest of the role's file in `stacks/<stack>/payload/`: such as master.ign."""
    reinstall: dict[str, str] = {}
    """Serial or UUID by host. A line that is new since the last successful `up` reinstalls its host."""
    out_of_etcd: tuple[str, ...] = ()
    """Hosts that are wiped again only once they are out of etcd: in phase production, all of a role that has it."""
    snapshots: str = ""
    """Store that etcd is saved into before a server of a running control plane is installed; empty: none."""
    fenced: bool = False
    """Whether the hosts fence each other: none is touched once they run etcd, and all are cut off before a delete."""
    unicast: bool = False
    """If true, each host has a fixed list of its VRRP peers, so only one that they list can be added to them."""
    vrrp: dict[str, VrrpNode] = {}
    """By host whose keepalived.conf says something of it: what."""
    stack: str
    api_name: str
    """DNS name of the API, for TLS probes by address."""
    api_vip: str = ""
    """Address at which the API is asked for certificate requests and nodes."""
    approve_certificates: bool = True
    """Whether the hosts' certificate requests are approved while they are installed."""
    deadline_s: float = 3600
    """Time for the installation of each host, in seconds."""
    rows: dict[str, str] = {}
    """By host, URN of the resource in whose row its progress is shown; without one, it is this resource."""

    @classmethod
    def of(cls, plan: "ClusterPlan", role: Role, rendered: "Rendered", stack: str) -> Self:
        """Build the spec of one role's servers of a plan, with their rendered files."""
        options, servers = plan.options, plan.of(role)
        payload, architecture = getattr(options.payload, role.pool), plan.architectures[role]
        base_iso = options.media.base_isos[architecture]
        holds_etcd = role.holds_etcd and options.phase is Phase.PRODUCTION
        fenced = plan.is_fenced and role is Role.CONTROL_PLANE
        boot_macs = {server.name: server.boot_mac for server in servers if server.boots_from_network}
        own_ignition = {server.name: own_config(rendered.of(server)) for server in servers}
        return cls(
            role=role,
            architecture=architecture,
            hosts={server.name: _host_of(plan, server, fenced=fenced) for server in servers},
            passwords={server.name: server.bmc.password for server in servers},
            ca=plan.bmc_ca,
            media_address=str(options.media.address or ""),
            media_port=options.media.port,
            media_url=options.media.url,
            over_tls=_over_tls(plan, role),
            boot_macs=boot_macs,
            boot_server=boot_server(plan, role) if boot_macs else "",
            base_iso_sha256=base_iso.sha256,
            base_iso_url=base_iso.url,
            ignition_sha256={name: composed_sha256(payload, text) for name, text in own_ignition.items()},
            own_ignition={name: SecretStr(text) for name, text in own_ignition.items()},
            keyfiles=_keyfiles_of(plan, role, rendered),
            payload_sha256=payload,
            reinstall={name: who for name, who in options.reinstall.items() if name in own_ignition},
            out_of_etcd=tuple(own_ignition) if holds_etcd else (),
            snapshots=options.snapshots if holds_etcd else "",
            fenced=fenced,
            unicast=plan.lists_peers(role),
            vrrp=_vrrp_of(plan, role, rendered),
            stack=stack,
            api_name=f"api.{plan.domain}",
            api_vip=str(plan.api.address),
            approve_certificates=options.approve_certificates,
            deadline_s=options.deadlines.host_s,
        )

    @property
    def in_production(self) -> bool:
        """Whether the cluster is in phase production: compute is installed in no other one."""
        return self.role is Role.COMPUTE or bool(self.out_of_etcd)

    @property
    def is_proxied(self) -> bool:
        """Whether hosts reach the media server by a proxy of this cluster."""
        return self.boot_server not in ("", f"http://{netloc(self.media_address, self.media_port)}")

    @property
    def into_iso(self) -> list[Any]:
        """The values of the inputs with the mark `INTO_ISO`, and of such fields of each host."""
        fields = marked_fields(HostSpec, INTO_ISO)
        of_hosts = {name: [getattr(host, field) for field in fields] for name, host in self.hosts.items()}
        return [of_hosts, *(getattr(self, field) for field in marked_fields(HostProvisioningSpec, INTO_ISO))]

    def identity_of(self, name: str) -> MachineId:
        """Return the machine behind a host's BMC."""
        return self.identities.get(name, UNIDENTIFIED)


def _vrrp_of(plan: "ClusterPlan", role: Role, rendered: "Rendered") -> dict[str, VrrpNode]:
    confs = {server.name: rendered.keepalived.get(server.name) for server in plan.of(role)}
    nodes = {name: VrrpNode.of(conf, plan.api) for name, conf in confs.items() if conf}
    return {name: node for name, node in nodes.items() if node != VrrpNode()}


def _over_tls(plan: "ClusterPlan", role: Role) -> tuple[str, ...]:
    fetched_by_bmc = [server for server in plan.of(role) if not server.fetches_installer]
    goes_over_tls = plan.options.media.goes_over_tls
    return tuple(it.name for it in fetched_by_bmc if goes_over_tls(it.name, has_secret=it.holds_secret))


def _keyfiles_of(plan: "ClusterPlan", role: Role, rendered: "Rendered") -> dict[str, dict[str, SecretStr]]:
    files = {server.name: keyfiles_in(rendered.servers[server.name]) for server in plan.of(role)}
    return {name: {file: SecretStr(text) for file, text in own.items()} for name, own in files.items() if own}


def _host_of(plan: "ClusterPlan", server: "Server", *, fenced: bool) -> HostSpec:
    return HostSpec(
        bmc=BmcAccess.of(plan.options, server, ca=""),
        address=str(server.address),
        addresses=tuple(map(str, server.addresses)),
        root_device=server.root_device_hints.given,
        wipe_disks=plan.options.wipe_disks.get(server.name, ()),
        consent=plan.options.consent[server.name] if fenced else "",
    )


class InstallationRecord(Model):
    """Record of an installed host."""

    uuid: str
    """Identity of the machine, see `MachineId.own`."""
    iso_sha256: str
    """Digest of the boot ISO; empty if the host was found installed and adopted."""
    at: str
    """Time of the record, in UTC."""


class HostProvisioningOuts(Outs):
    """The installation of one role's hosts; each output is by host."""

    installed: dict[str, InstallationRecord] = {}
    disks: dict[str, str] = {}
    """The disk that the host chose, by its hints; a host is missing that was adopted, or could not send it."""
    steps: dict[str, dict[str, float]] = {}
    """Seconds spent in each step."""
    requests: dict[str, int] = {}
    """Number of requests sent to the BMC."""
    approved: dict[str, list[Approval]] = {}
    """Certificate requests that were approved while the host was installed."""
    installed_vrrp: dict[str, VrrpNode] = {}
    """The `vrrp` that it was installed with; a host is missing that was adopted, or that an old release installed."""

    def of_hosts(self, hosts: Collection[str]) -> Self:
        """Return the outputs of some hosts."""
        return type(self)(
            **{
                name: {host: value for host, value in getattr(self, name).items() if host in hosts}
                for name in type(self).model_fields
            }
        )
