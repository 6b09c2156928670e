"""Inputs and outputs of `OkdInstalled`."""

from typing import TYPE_CHECKING, Self

from base.spec import Outs, Spec

if TYPE_CHECKING:
    from cluster.plan import ClusterPlan


class OkdInstalledSpec(Spec):
    """Where OKD is asked, and how long its installation may take."""

    stack: str
    """Its payload has the kubeconfig."""
    api_name: str
    """DNS name of the API, for TLS by address."""
    api_vip: str
    deadline_s: float

    @classmethod
    def of(cls, plan: "ClusterPlan", stack: str) -> Self:
        """Build the spec of a plan."""
        vip, deadlines = str(plan.api.address), plan.options.deadlines
        return cls(stack=stack, api_name=f"api.{plan.domain}", api_vip=vip, deadline_s=deadlines.install_s)


class OkdInstalledOuts(Outs):
    """What OKD reported when its installation was complete."""

    version: str | None = None
    """The release."""
    operators: list[str] = []
    """Names of the cluster's operators."""
