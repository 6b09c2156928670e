"""Inputs and outputs of `ServerObjects`."""

from typing import TYPE_CHECKING, Any, Self

from base.spec import Outs, Spec
from providers.server_objects.objects import COLLECTIONS, manifests

if TYPE_CHECKING:
    from cluster.plan import ClusterPlan


class ServerObjectsSpec(Spec):
    """The objects of a cluster's servers. No login or address of a BMC is among them."""

    stack: str
    """Its payload has the kubeconfig."""
    api_name: str
    """DNS name of the API, for TLS by address."""
    api_vip: str
    holders_of_etcd: dict[str, tuple[str, ...]]
    """All addresses of each server with a copy of etcd, by name: each has to be a member of etcd first."""
    objects: dict[str, dict[str, Any]]
    """The manifest of each object by its kind and name, as `Machine/okd-worker-0`."""
    deadline_s: float

    @classmethod
    def of(cls, plan: "ClusterPlan", stack: str) -> Self:
        """Build the spec of a plan."""
        return cls(
            stack=stack,
            api_name=f"api.{plan.domain}",
            api_vip=str(plan.api.address),
            holders_of_etcd={server.name: tuple(map(str, server.addresses)) for server in plan.holders_of_etcd},
            objects=manifests(plan),
            deadline_s=plan.options.deadlines.install_s,
        )

    @property
    def in_order(self) -> list[str]:
        """The kinds and names in the order in which the objects are made; Pulumi keeps none."""
        kinds = [*COLLECTIONS]
        return sorted(self.objects, key=lambda name: (kinds.index(name.partition("/")[0]), name))


class ServerObjectsOuts(Outs):
    """What a refresh found."""

    drift: list[str] = []
    """A line for each object that is not as wanted."""
