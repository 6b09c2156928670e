"""One role's rollout: what is wanted of each host, and what is recorded of it."""

from typing import TYPE_CHECKING, Self

from pydantic import SecretStr

from assets.ignition import composed_sha256, keyfiles_in, own_config
from cluster.values.role import Role
from providers.base.spec import Model, Outs, Spec
from wires.redfish.access import BmcAccess
from wires.redfish.bmc import Identity
from wires.redfish.identity import usable

if TYPE_CHECKING:
    from assets.render import Rendered
    from cluster.plan import ClusterPlan, Server


class HostSpec(Model):
    """One host to install."""

    bmc: BmcAccess
    """Its CA is empty where that of all holds."""
    address: str
    """Where the installed system answers."""
    root_device: str
    """Disk that is wiped, as `/dev/…`."""


class MachineId(Model):
    """Who answers behind a host's BMC, as `BmcHost` found it."""

    uuid: str = ""
    serial: str = ""

    @property
    def identity(self) -> Identity:
        """For comparisons."""
        return Identity(self.uuid, self.serial)

    @property
    def own(self) -> str:
        """What is this machine's alone, lower case: its UUID, else its serial number; empty: neither is."""
        return usable(self.identity).lower()


UNIDENTIFIED = MachineId()


class HostProvisioningSpec(Spec):
    """The hosts of one role, and what their boot ISOs are made from."""

    role: Role
    hosts: dict[str, HostSpec]
    identities: dict[str, MachineId] = {}
    """By host; what is missing is not compared."""
    passwords: dict[str, SecretStr]
    """Of the BMCs, by host."""
    ca: str = ""
    """PEM of the CA that signed the BMCs' certificates; empty: the system's CAs."""
    media_address: str = ""
    """Address of this machine that the BMCs reach; boot ISOs are served there while hosts are installed."""
    media_port: int
    media_url: str = ""
    """In place of these: of the folder of a web server that has the boot ISOs."""
    base_iso_sha256: str
    base_iso_url: str = ""
    """Where to get the base ISO when the cache does not have it."""
    ignition_sha256: dict[str, str]
    """Digest of each host's composed Ignition: what a preview shows of it."""
    ours: dict[str, SecretStr] = {}
    """Our part of each host's Ignition, as JSON text. Only an input: the outputs do not repeat it."""
    keyfiles: dict[str, dict[str, SecretStr]] = {}
    """NetworkManager's keyfiles by host and file name, for the boot ISO; `ours` has them as well. Only an input."""
    payload_sha256: str
    """Digest of the role's file in `stacks/<stack>/payload/`: master.ign or worker.ign."""
    reinstall: dict[str, str] = {}
    """By host, serial or UUID: a line that is new since the last successful `up` has that host installed anew."""
    unicast: bool = False
    """True: the hosts list each other as VRRP peers for good, so none can be added once some are installed."""
    stack: str
    api_name: str
    """DNS name of the API, for TLS probes by address."""
    deadline_s: float = 3600
    """Time for each host, in seconds."""
    rows: dict[str, str] = {}
    """URN by host, in whose row its progress is shown; where none is given, in this resource's."""

    @classmethod
    def of(cls, plan: "ClusterPlan", role: Role, rendered: "Rendered", stack: str) -> Self:
        """The servers of one role of a plan, with their rendered files."""
        options, servers = plan.options, plan.of(role)
        payload = getattr(options.payload, role.pool)
        ours = {server.name: own_config(rendered.of(server)) for server in servers}
        keyfiles = {server.name: keyfiles_in(rendered.servers[server.name]) for server in servers}
        return cls(
            role=role,
            hosts={server.name: _host_of(plan, server) for server in servers},
            passwords={server.name: server.bmc.password for server in servers},
            ca=plan.bmc_ca,
            media_address=str(options.media.address or ""),
            media_port=options.media.port,
            media_url=options.media.url,
            base_iso_sha256=options.media.base_iso.sha256,
            base_iso_url=options.media.base_iso.url,
            ignition_sha256={name: composed_sha256(payload, text) for name, text in ours.items()},
            ours={name: SecretStr(text) for name, text in ours.items()},
            keyfiles={
                name: {file: SecretStr(text) for file, text in files.items()}
                for name, files in keyfiles.items()
                if files
            },
            payload_sha256=payload,
            reinstall={name: who for name, who in options.reinstall.items() if name in ours},
            unicast=any(vip.transport == "unicast" for vip in plan.vips_of(role)),
            stack=stack,
            api_name=f"api.{plan.domain}",
            deadline_s=options.deadlines.host_s,
        )

    def identity_of(self, name: str) -> MachineId:
        """Who answers behind a host's BMC."""
        return self.identities.get(name, UNIDENTIFIED)


def _host_of(plan: "ClusterPlan", server: "Server") -> HostSpec:
    return HostSpec(
        bmc=BmcAccess.of(plan.options, server, ca=""),
        address=str(server.address),
        root_device=server.root_device_hints.device_name,
    )


class InstallationRecord(Model):
    """What is known of an installed host."""

    uuid: str
    """What is the machine's alone, see `MachineId.own`."""
    iso_sha256: str
    """Empty: found installed, adopted."""
    at: str
    """In UTC."""


class HostProvisioningOuts(Outs):
    """The installation of one role's hosts."""

    installed: dict[str, InstallationRecord] = {}
    """By host."""
    steps: dict[str, dict[str, float]] = {}
    """By host: seconds spent in each step."""
    requests: dict[str, int] = {}
    """By host: requests sent to its BMC."""
