"""Inputs and outputs of `VipHeld`."""

from typing import TYPE_CHECKING, Self

from base.spec import Outs, Spec
from cluster.values.address import Address
from cluster.values.balancer import Balancer

if TYPE_CHECKING:
    from cluster.plan import ClusterPlan


class VipHeldSpec(Spec):
    """A VIP, and the machines that may hold it."""

    balancer: Balancer = Balancer.CLUSTER
    """If it is the site's, the VIP is its address, and no machine of the cluster holds it."""
    vip: str
    nodes: dict[str, str]
    """Address of each machine that may hold it, by name."""
    deadline_s: float

    @classmethod
    def of(cls, plan: "ClusterPlan", vip: Address) -> Self:
        """Build the spec of an Ingress VIP of a plan."""
        holders = plan.of(plan.ingress_role)
        return cls(
            balancer=plan.balancer,
            vip=str(vip),
            nodes={server.name: str(server.address_of(vip.version)) for server in holders},
            deadline_s=plan.options.deadlines.ingress_s,
        )


class VipHeldOuts(Outs):
    """The holder of the VIP, and what answers it."""

    holder: str | None = None
    """Name of the one machine that answers the VIP."""
    macs: list[str] = []
    """Every MAC that answers it."""
    unproven: str | None = None
    """What this machine could not see of the machines that answer the VIP, and why; None if it saw all."""
