"""The hosts, identified through their BMCs: the servers of one role, pinned by consent, and the spares."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi

from cluster.plan import ClusterPlan, Role
from components.component import Component
from providers.bmc_host.model import BmcHostSpec
from providers.bmc_host.resource import BmcHost


@dataclass(frozen=True)
class ServersArgs:
    """Inputs of `Servers`."""

    plan: ClusterPlan
    role: Role
    after: Sequence[pulumi.Resource]
    """Resources that must exist before the first request to a BMC."""
    hooks: pulumi.ResourceHookBinding | None = None
    """Hooks of each server."""


class Servers(Component):
    """One `BmcHost` per server."""

    hosts: Mapping[str, BmcHost]
    """By host name."""
    rows: Mapping[str, pulumi.Output[str]]
    """URN of each `BmcHost` by host name; Pulumi shows the progress of the host's installation in its row."""

    def __init__(
        self, name: str, cluster: str, args: ServersArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("servers", name, opts)
        # Compute comes and goes, also in production: it is drained first.
        protect = None if args.role.holds_etcd else False
        child = pulumi.ResourceOptions(parent=self, depends_on=[*args.after], hooks=args.hooks, protect=protect)
        servers = {server.name: f"{cluster}-{server.name}" for server in args.plan.of(args.role)}
        self.rows = {host: self.urn_of(BmcHost, resource) for host, resource in servers.items()}
        self.hosts = {
            server.name: BmcHost(
                servers[server.name], BmcHostSpec.of(args.plan, server), child, urn=self.rows[server.name]
            )
            for server in args.plan.of(args.role)
        }
        self.register_outputs({})


@dataclass(frozen=True)
class SparesArgs:
    """Inputs of `Spares`."""

    plan: ClusterPlan
    after: Sequence[pulumi.Resource]
    """Resources that must exist before the first request to a BMC."""


class Spares(Component):
    """One `BmcHost` per spare: identified, and left as it is.

    The type of this component is a part of the spare's URN. So a spare that becomes a server is created as one, taken
    over with consent; and a server that becomes a spare is deleted as one, which protection forbids in production if
    it holds etcd.
    """

    hosts: Sequence[BmcHost]

    def __init__(self, name: str, cluster: str, args: SparesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("servers", name, opts)
        child = pulumi.ResourceOptions(parent=self, depends_on=[*args.after])
        spares = {f"{cluster}-{spare.name}": BmcHostSpec.of(args.plan, spare) for spare in args.plan.spares}
        self.hosts = [
            BmcHost(resource, spec, child, urn=self.urn_of(BmcHost, resource)) for resource, spec in spares.items()
        ]
        self.register_outputs({})
