"""The servers of one role: each one's BMC, identified and consented to, not yet installed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi

from cluster.options import Phase
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
    """What must hold before the first BMC is asked anything."""


class Servers(Component):
    """A `BmcHost` per server, by host name."""

    hosts: Mapping[str, BmcHost]
    rows: Mapping[str, pulumi.Output[str]]
    """URN of each, in whose row its installation is shown."""

    def __init__(
        self, name: str, cluster: str, args: ServersArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("servers", name, opts)
        options = args.plan.options
        child = pulumi.ResourceOptions(
            parent=self,
            depends_on=[*args.after],
            protect=options.phase is Phase.PRODUCTION and not options.destroyable,
        )
        servers = {server.name: f"{cluster}-{server.name}" for server in args.plan.of(args.role)}
        self.rows = {host: self.urn_of(BmcHost, resource) for host, resource in servers.items()}
        self.hosts = {
            server.name: BmcHost(
                servers[server.name], BmcHostSpec.of(args.plan, server), child, urn=self.rows[server.name]
            )
            for server in args.plan.of(args.role)
        }
        self.register_outputs({})
