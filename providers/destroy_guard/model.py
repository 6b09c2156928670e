"""Inputs of `DestroyGuard`."""

from typing import TYPE_CHECKING, Self

from base.spec import Spec

if TYPE_CHECKING:
    from cluster.plan import ClusterPlan


class DestroyGuardSpec(Spec):
    """Whether the cluster may be destroyed."""

    cluster: str
    """Its `metadata.name`."""
    protected: bool = False
    """If true, delete refuses, also where `--ignore-protect` passes Pulumi's own refusal."""

    @classmethod
    def of(cls, plan: "ClusterPlan") -> Self:
        """Build the spec of a plan."""
        return cls(cluster=plan.name, protected=plan.options.protects_cluster)
