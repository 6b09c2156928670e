"""Inputs and outputs of `ClusterPower`."""

from typing import TYPE_CHECKING, Self

from pydantic import SecretStr

from base.spec import Model, Outs, Spec
from cluster.option_types import Switch
from cluster.values.balancer import Balancer
from cluster.values.role import Role
from providers.joining.certificates import Approval
from wires.bmc.access import BmcAccess

if TYPE_CHECKING:
    from cluster.plan import ClusterPlan, Server


class PoweredHost(Model):
    """One server of the cluster."""

    bmc: BmcAccess
    """If its CA is empty, `ClusterPowerSpec.ca` applies."""
    role: Role
    address: str
    """Address at which its system answers."""
    addresses: tuple[str, ...]
    """All its addresses in the plan; its serving certificate is for no other ones."""
    consent: str
    """System UUID or serial of its machine; no other one is switched on or off."""


class ClusterPowerSpec(Spec):
    """The servers of a cluster, and whether they run."""

    power: Switch = "on"
    hosts: dict[str, PoweredHost]
    passwords: dict[str, SecretStr]
    """Passwords of the BMCs, by host."""
    ca: str = ""
    """PEM of the CA that signed the BMCs' certificates; if empty, the system's CAs apply."""
    reinstall: dict[str, str] = {}
    """The option of this name: a line that is new leaves its host out when the cluster wakes."""
    stack: str
    """Its payload has the kubeconfig."""
    api_name: str
    """DNS name of the API, for TLS by address."""
    api_vip: str
    vips: dict[str, dict[str, str]] = {}
    """By VIP of the cluster: the address of each machine that may hold it, by name."""
    snapshots: str = ""
    """Folder or bucket into which etcd is saved before a server is switched off; empty: it is not."""
    approve_certificates: bool = True
    """Whether the hosts' certificate requests are approved while the cluster wakes."""
    bmc_s: float
    """Time for each step of a BMC, in seconds."""
    shutdown_s: float
    """Time for each server's system to shut down, in seconds."""
    host_s: float
    """Time for all servers of a kind to become nodes again, in seconds."""

    @classmethod
    def of(cls, plan: "ClusterPlan", stack: str) -> Self:
        """Build the spec of a plan."""
        options, deadlines = plan.options, plan.options.deadlines
        return cls(
            power=options.power,
            hosts={server.name: _host_of(plan, server) for server in plan.servers},
            passwords={server.name: server.bmc.password for server in plan.servers},
            ca=plan.bmc_ca,
            reinstall=options.reinstall,
            stack=stack,
            api_name=f"api.{plan.domain}",
            api_vip=str(plan.api.address),
            vips=_vips(plan),
            snapshots=options.snapshots,
            approve_certificates=options.approve_certificates,
            bmc_s=deadlines.bmc_s,
            shutdown_s=deadlines.shutdown_s,
            host_s=deadlines.host_s,
        )

    @property
    def in_production(self) -> bool:
        """True: no other cluster sleeps."""
        return True

    @property
    def is_off(self) -> bool:
        """Whether the cluster is to sleep."""
        return self.power == "off"

    @property
    def groups(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The servers without a copy of etcd, which go off first, and those with one."""
        with_etcd = tuple(name for name, host in self.hosts.items() if host.role.holds_etcd)
        return tuple(name for name in self.hosts if name not in with_etcd), with_etcd

    def waking(self, old: Self) -> Self:
        """Return the same with those hosts only that slept, and that are to be the same machines."""
        again = {host for host, who in self.reinstall.items() if old.reinstall.get(host) != who}
        known = {host: (it.consent, it.role) for host, it in old.hosts.items()}
        same = {name: it for name, it in self.hosts.items() if known.get(name) == (it.consent, it.role)}
        return self.changed(hosts={name: it for name, it in same.items() if name not in again})


def _host_of(plan: "ClusterPlan", server: "Server") -> PoweredHost:
    return PoweredHost(
        bmc=BmcAccess.of(plan.options, server, ca=""),
        role=server.role,
        address=str(server.address),
        addresses=tuple(map(str, server.addresses)),
        consent=plan.options.consent[server.name],
    )


def _vips(plan: "ClusterPlan") -> dict[str, dict[str, str]]:
    """Return who may hold each VIP; nothing with a balancer of the site, which holds its addresses itself."""
    if plan.balancer is Balancer.SITE:
        return {}
    holders = [(vip, plan.control_plane) for vip in plan.api.addresses]
    holders += [(vip, plan.of(plan.ingress_role)) for vip in plan.ingress.addresses]
    return {str(vip): {it.name: str(it.address_of(vip.version)) for it in servers} for vip, servers in holders}


class ClusterPowerOuts(Outs):
    """How the servers were left."""

    asleep_since: str | None = None
    """Time at which all servers were off, in UTC. None: the cluster does not sleep."""
    unfinished: list[str] = []
    """What a refresh found that `power: on` wants otherwise, a line each: a run that went off ended early."""
    approved: dict[str, list[Approval]] = {}
    """Certificate requests that were approved when it woke last, by host."""
