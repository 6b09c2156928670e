"""Asks a cluster, before a server joins its control plane, what OKD takes that control plane for (ADR 82).

Sources: enhancements/topologies/mutable-topology.md of openshift/enhancements, 1313bd47; `InfrastructureSpec` and
`InfrastructureStatus` of openshift/api, 2a3d73913; pkg/operator/ceohelpers/bootstrap.go of
openshift/cluster-etcd-operator, b4786ae33: as `SingleReplica`, etcd takes each server that joins; as any other one,
etcd of one member does not grow.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from pydantic import Field

from base.spec import Model
from providers.etcd.health import listed_members
from providers.host_provisioning.etcd_guard import EtcdQuorum, Problem
from providers.host_provisioning.records import THREE
from providers.joining.nodes import Nodes
from wires.api.resources import INFRASTRUCTURE, NODE_LIST

PAGE = "docs/how-to/grow-and-shrink.md#one-to-three"
ASK = f"run `oc adm transition topology HighlyAvailable` first ({PAGE}), then `pulumi up` again"
LOWER = "lower controlPlane.replicas to what it was"


class Topology(StrEnum):
    """What OKD takes a control plane for."""

    ONE = "SingleReplica"
    PAIR = "DualReplica"
    EXTERNAL = "External"
    ARBITER = "HighlyAvailableArbiter"
    MANY = "HighlyAvailable"


class _Desired(Model):
    topology: str = Field("", alias="controlPlaneTopology")


class _PlatformStatus(Model):
    type: str = ""


class _Observed(Model):
    topology: Topology = Field(Topology.MANY, alias="controlPlaneTopology")
    platform: _PlatformStatus = Field(_PlatformStatus(), alias="platformStatus")


class Infrastructure(Model):
    """What OKD takes the cluster for, and what an administrator wants it to be."""

    spec: _Desired = _Desired()
    status: _Observed = _Observed()

    def obstacle(self, voters: int) -> Problem | None:
        """Return why no server may join the control plane. None: one may.

        Args:
            voters: Members of etcd that vote.
        """
        now = self.status.topology
        if now is Topology.ONE:
            return self._obstacle_of_one(voters)
        if now in (Topology.PAIR, Topology.EXTERNAL):
            return f"OKD takes its control plane for {now.value}, which does not grow", LOWER
        if voters == 1:
            what = f"OKD takes its control plane of one for {now.value}, so that etcd does not grow"
            return what, f"whoever changed its status has to make that {Topology.ONE.value} again; or {LOWER}"
        return None

    def _obstacle_of_one(self, voters: int) -> Problem | None:
        if voters >= THREE:
            what = f"OKD still takes its control plane of {voters} for {Topology.ONE.value}"
            return what, f"{LOWER}; OKD makes {Topology.MANY.value} only of exactly {THREE}, then go on ({PAGE})"
        if self.status.platform.type != "None":
            platform = self.status.platform.type or "unknown"
            return f"OKD makes three servers of one only on platform None, this is {platform}", LOWER
        if self.spec.topology != Topology.MANY:
            return f"nobody has asked OKD to take its control plane for {Topology.MANY.value}", ASK
        return None


@dataclass(frozen=True)
class ControlPlane:
    """The control plane of a cluster in production, which a server is to join."""

    servers: Collection[str]
    """All that the file names."""
    quorum: EtcdQuorum

    def prove(self, host: str) -> None:
        """Return if a server may join.

        Raises:
            ProvisioningError: It may not, or nobody says. Nothing was touched.
        """
        self.quorum.refuse(host, self._obstacle)

    def _obstacle(self) -> Problem | None:
        api, vip = self.quorum.api, self.quorum.vip
        found = api.get(vip, INFRASTRUCTURE, Infrastructure) or Infrastructure()
        obstacle = found.obstacle(len(listed_members(api, vip) or ()))
        if obstacle or found.status.topology is not Topology.ONE:
            return obstacle
        nodes = api.get(vip, NODE_LIST, Nodes) or Nodes()
        if others := sorted({node.metadata.name for node in nodes.items} - {*self.servers}):
            what = f"OKD makes three servers of one only without compute, and has {' and '.join(others)}"
            return what, LOWER
        return None
