"""Whether all members of etcd answer, as its operator reports it."""

from wires.api.resources import ETCD, KubernetesReader, Reporting

DEGRADED = "EtcdMembersDegraded"
"""The operator's condition that a member does not answer; `EtcdMembersAvailable` says only that a majority does.

Source: pkg/operator/etcdmemberscontroller of openshift/cluster-etcd-operator, 0c63ddc.
"""


def member_problem(api: KubernetesReader, vip: str) -> str | None:
    """Return which member of etcd does not answer. None: all do.

    Raises:
        OSError: The API cannot be asked.
    """
    etcd = api.get(vip, ETCD, Reporting)
    degraded = etcd.status.condition(DEGRADED) if etcd else None
    if degraded is None:
        return f"etcd's condition {DEGRADED} is missing"
    if degraded.status == "False":
        return None
    return f"a member of etcd does not answer: {degraded.message or degraded.status}"
