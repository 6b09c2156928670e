"""Asks a cluster in production whether a server of its control plane may be wiped.

That is so after an administrator has taken the server out, as OKD's documentation says for a failed one: removed its
member of etcd, then deleted its node. Once the server has joined again, the etcd operator makes it a member again.
"""

from collections.abc import Collection
from dataclasses import dataclass

from base.errors import ProvisioningError
from base.spec import Model
from providers.host_provisioning.joining.nodes import NODE_LIST
from wires.api.resources import ETCD, ConfigMap, KubernetesReader, Metadata, Reporting

MEMBERS = "/api/v1/namespaces/openshift-etcd/configmaps/etcd-endpoints"
"""Where the etcd operator keeps the addresses of etcd's members, by id."""
DEGRADED = "EtcdMembersDegraded"
"""The operator's condition that a member does not answer; `EtcdMembersAvailable` says only that a majority does.

Source: pkg/operator/etcdmemberscontroller of openshift/cluster-etcd-operator, 0c63ddc.
"""
FIX = "take the server out first (docs/how-to/replace-a-control-plane-server.md)"


class _Node(Model):
    metadata: Metadata


@dataclass(frozen=True)
class EtcdQuorum:
    """etcd without the server that is to be wiped."""

    api: KubernetesReader
    vip: str
    """Address of the API."""

    def refuse_member(self, host: str, addresses: Collection[str]) -> None:
        """Return if a server is no part of the cluster any more, and all members of etcd answer.

        Raises:
            ProvisioningError: It is, or they do not, or the API does not say. Nothing was touched.
        """
        try:
            problem = self._node(host) or self._members(host, addresses) or self._quorum()
        except OSError as error:
            problem = f"the API cannot be asked through {self.vip}: {type(error).__name__}: {error}"
        if problem:
            raise ProvisioningError(f"not wiped: {problem}", where=f"reinstall.{host}", fix=FIX)

    def _node(self, host: str) -> str | None:
        found = self.api.get(self.vip, f"{NODE_LIST}/{host}", _Node)
        return f"node {host} exists" if found else None

    def _members(self, host: str, addresses: Collection[str]) -> str | None:
        found = self.api.get(self.vip, MEMBERS, ConfigMap)
        if not found or not found.data:
            return "ConfigMap openshift-etcd/etcd-endpoints names no member of etcd"
        listed = sorted({*found.data.values()} & {*addresses})
        return f"{host} is a member of etcd ({', '.join(listed)})" if listed else None

    def _quorum(self) -> str | None:
        found = self.api.get(self.vip, ETCD, Reporting)
        seen = found.status.condition(DEGRADED) if found else None
        if seen is None:
            return f"etcd's condition {DEGRADED} is missing"
        return None if seen.status == "False" else f"a member of etcd does not answer: {seen.message or seen.status}"
