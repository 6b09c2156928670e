"""Whether all members of etcd answer, as its operator reports it."""

from wires.api.resources import ETCD, KubernetesReader, Reporting

DEGRADED = "EtcdMembersDegraded"
"""The operator's condition that a member does not answer; `EtcdMembersAvailable` says only that a majority does.

Source: pkg/operator/etcdmemberscontroller of openshift/cluster-etcd-operator, 0c63ddc.
"""
UNASKED = "EtcdMembersControllerDegraded"
"""Its condition that it cannot ask them: what it said of them before then stays (same source, `sync`)."""


def member_problem(api: KubernetesReader, vip: str) -> str | None:
    """Return which member of etcd does not answer. None: all do.

    Raises:
        OSError: The API cannot be asked.
    """
    etcd = api.get(vip, ETCD, Reporting)
    degraded = etcd.status.condition(DEGRADED) if etcd else None
    unasked = etcd.status.condition(UNASKED) if etcd else None
    if unasked and unasked.status == "True":
        return f"the etcd operator cannot ask the members: {unasked.message or UNASKED}"
    if degraded is None:
        return f"etcd's condition {DEGRADED} is missing"
    if degraded.status == "False":
        return None
    return f"a member of etcd does not answer: {degraded.message or degraded.status}"
