"""Which members etcd has, and whether all of them answer, as its operator reports it."""

import re

from wires.api.resources import ETCD, ETCD_MEMBERS, ConfigMap, KubernetesReader, Reporting

DEGRADED = "EtcdMembersDegraded"
"""The operator's condition that a member does not answer; `EtcdMembersAvailable` says only that a majority does.

What it says may be 150 s old: it is written once a minute, from what was asked within the last one, and a member that
is silent is asked for 30 s. With the real operator, a server that lost its power was reported after 135 s (2026-11).
Source: pkg/operator/etcdmemberscontroller and pkg/etcdcli of openshift/cluster-etcd-operator, b4786ae33.
"""
UNASKED = "EtcdMembersControllerDegraded"
"""Its condition that it could not ask them, or not write what it saw: what it said before stays (same source)."""

ROLLS = "NodeInstallerProgressing"
"""Its condition that it restarts the members with new files, one after another, as it does once a member has joined.

Source: pkg/operator/staticpod/controller/installer of openshift/library-go, vendored by the same.
"""
MEMBER = re.compile(r"[0-9a-f]{9,16}")
"""The key of a member: its random id in hex, which has fewer than 9 digits once in four billion."""


class UnlistedError(ConnectionError):
    """The operator lists the nodes of the control plane in place of etcd's members, as it could not ask these."""

    def __init__(self) -> None:
        super().__init__("the etcd operator could not ask the members, and lists nodes in place of them")


def listed_members(api: KubernetesReader, vip: str) -> frozenset[str] | None:
    """Return the addresses of the members that vote. None: the operator has not listed any yet.

    From OKD 4.21 on, an operator that cannot list them writes the addresses of all nodes, by their names, until it
    can (pkg/operator/etcdendpointscontroller of the same, ac507248a); no condition tells of it.

    Raises:
        UnlistedError: It has done so.
        OSError: The API cannot be asked.
    """
    listed = api.get(vip, ETCD_MEMBERS, ConfigMap)
    if listed is None:
        return None
    if not all(map(MEMBER.fullmatch, listed.data)):
        raise UnlistedError
    return frozenset(listed.data.values())


def member_problem(api: KubernetesReader, vip: str) -> str | None:
    """Return which member of etcd does not answer. None: all do.

    Raises:
        OSError: The API cannot be asked.
    """
    return _of_members(api.get(vip, ETCD, Reporting))


def unrest(api: KubernetesReader, vip: str) -> str | None:
    """Return which member of etcd does not answer, else how far the operator is with a restart of all of them.

    None: all answer, and none is about to be restarted.

    Raises:
        OSError: The API cannot be asked.
    """
    etcd = api.get(vip, ETCD, Reporting)
    return _of_members(etcd) or _of_restart(etcd)


def _of_members(etcd: Reporting | None) -> str | None:
    degraded = etcd.status.condition(DEGRADED) if etcd else None
    unasked = etcd.status.condition(UNASKED) if etcd else None
    if unasked and unasked.status == "True":
        return f"the etcd operator cannot report on the members: {unasked.message or UNASKED}"
    if degraded is None:
        return f"etcd's condition {DEGRADED} is missing"
    if degraded.status == "False":
        return None
    return f"a member of etcd does not answer: {degraded.message or degraded.status}"


def _of_restart(etcd: Reporting | None) -> str | None:
    rolls = etcd.status.condition(ROLLS) if etcd else None
    if rolls is None or rolls.status == "False":
        return None
    return f"the etcd operator restarts the members, one after another: {rolls.message or rolls.status}"
