"""Inputs and outputs of `ClusterUpgrade`."""

from typing import TYPE_CHECKING, Self

from base.spec import Outs, Spec

if TYPE_CHECKING:
    from cluster.options import Release
    from cluster.plan import ClusterPlan


class ClusterUpgradeSpec(Spec):
    """The release that a cluster runs, and where its API is asked."""

    stack: str
    """Its payload has the kubeconfig."""
    api_name: str
    """DNS name of the API, for TLS by address."""
    api_vip: str
    version: str
    image: str
    """The release image, by digest."""
    snapshots: str
    """Folder or bucket into which etcd is saved before the upgrade begins; empty: it is not saved."""
    deadline_s: float

    @classmethod
    def of(cls, plan: "ClusterPlan", stack: str, release: "Release") -> Self:
        """Build the spec of a plan."""
        return cls(
            stack=stack,
            api_name=f"api.{plan.domain}",
            api_vip=str(plan.api.address),
            version=release.version,
            image=release.image,
            snapshots=plan.options.snapshots,
            deadline_s=plan.options.deadlines.upgrade_s,
        )


class ClusterUpgradeOuts(Outs):
    """What the cluster ran when the upgrade had ended."""

    running: str | None = None
    """The version; a refresh updates it."""
