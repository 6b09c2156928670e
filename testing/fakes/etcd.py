"""Etcd as the API tells of it, its members, and its operator's part, for tests."""

import hashlib
from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from testing.certificates import Pair
from wires.api.resources import ETCD, ETCD_MEMBERS, R
from wires.etcd.client import OWN
from wires.etcd.member import Block, DeclinedError

NODES = "/api/v1/nodes/"
NAMESPACE = "/api/v1/namespaces/openshift-etcd"
CONFIG_MAPS, SECRETS = f"{NAMESPACE}/configmaps", f"{NAMESPACE}/secrets"
DEGRADED = "EtcdMembersDegraded"
SENT_BYTES = 32 * 1024
"""The blocks of a snapshot (snapshotSendBufferSize in v3rpc/maintenance.go of etcd 3.6.8)."""


def numbered(addresses: Iterable[str]) -> dict[int, str]:
    """Return members with these addresses by ids as long as etcd's, which are random 64 bits."""
    return dict(enumerate(addresses, 0x2F79956F264CFA13))


def told_of_members(members: Mapping[int, str]) -> dict[str, Any]:
    """Return what the ConfigMap of etcd's members has, by the address of each number.

    Source: pkg/operator/etcdendpointscontroller of cluster-etcd-operator, b4786ae33.
    """
    return {"data": {f"{number:x}": address for number, address in members.items()}}


def objects(members: Mapping[int, str], ca_pem: str, client: Pair) -> dict[str, dict[str, Any]]:
    """Return what the etcd operator keeps of its members, by path: their addresses, by number, and how to reach them.

    Source: pkg/tlshelpers of the same.
    """
    pair = {"tls.crt": client.certificate, "tls.key": client.key}
    return {
        ETCD_MEMBERS: told_of_members(members),
        f"{CONFIG_MAPS}/etcd-ca-bundle": {"data": {"ca-bundle.crt": ca_pem}},
        f"{SECRETS}/etcd-client": {"data": {name: b64encode(pem.encode()).decode() for name, pem in pair.items()}},
    }


def degraded(members: Collection[str], unhealthy: Collection[str]) -> dict[str, str]:
    """Return the etcd operator's condition about the members of these names, of which some do not answer.

    Source: pkg/operator/etcdmemberscontroller, pkg/etcdcli/health.go of the same.
    """
    count = f"{len(members) - len(unhealthy)} of {len(members)} members are available"
    words = [count, *(f"{name} is unhealthy" for name in unhealthy)]
    message = ", ".join(words) if unhealthy else "No unhealthy members found"
    return {"type": DEGRADED, "status": str(bool(unhealthy)), "message": message}


def rolling(revisions: str) -> dict[str, str]:
    """Return the etcd operator's condition about a restart of all members, by its words; empty: it restarts none.

    Source: as the operator of 4.23 (b4786ae33) wrote it with a real API, on nodes whose kubelets were a stand-in.
    """
    message = revisions or "3 nodes are at revision 4"
    return {"type": "NodeInstallerProgressing", "status": str(bool(revisions)), "message": message}


@dataclass
class EtcdApi:
    """`KubernetesReader` that has the objects of the etcd operator, by path. The bytes of a secret are in base64."""

    resources: dict[str, Any]
    down: bool = False
    asked: Callable[[str], None] = lambda _: None
    """Called with the address of each request."""

    @classmethod
    def of(cls, members: Sequence[str], ca_pem: str, client: Pair) -> Self:
        """Return one with these addresses of members."""
        return cls(dict(objects(numbered(members), ca_pem, client)))

    def get(self, address: str, path: str, model: type[R]) -> R | None:
        """See `KubernetesReader`."""
        self.asked(address)
        if self.down:
            raise ConnectionRefusedError("refused")
        return model.model_validate(self.resources[path]) if path in self.resources else None


@dataclass
class OperatedApi:
    """`KubernetesKeeper` with nodes, and what the etcd operator says of members that it asks at each read.

    Its part is a stand-in, which says nothing new once it has stopped.
    """

    api: EtcdApi
    members: Callable[[], Mapping[int, str]]
    unhealthy: Callable[[], Collection[str]]
    nodes: set[str]
    stopped: bool = False
    learners: set[str] = field(default_factory=set)
    """The addresses of members that do not vote, which the operator does not list, although their health counts."""
    revisions: str = ""
    """The operator's words for a restart of all members; empty: it restarts none."""
    ready: set[str] = field(default_factory=set)
    """The nodes whose kubelets report."""
    deleted: list[str] = field(default_factory=list)

    def get(self, address: str, path: str, model: type[R]) -> R | None:
        """See `KubernetesReader`."""
        if not self.stopped:
            self._report()
        if path.startswith(NODES):
            name = path.removeprefix(NODES)
            ready = {"type": "Ready", "status": "True" if name in self.ready else "Unknown"}
            node = {"metadata": {"name": name}, "status": {"conditions": [ready]}}
            return model.model_validate(node) if name in self.nodes else None
        return self.api.get(address, path, model)

    def delete(self, _: str, path: str) -> None:
        """See `KubernetesKeeper`."""
        name = path.removeprefix(NODES)
        self.nodes.discard(name)
        self.deleted.append(name)

    def patch(self, address: str, path: str, change: dict[str, Any]) -> None:
        """See `KubernetesWriter`."""
        raise NotImplementedError

    create = patch

    def _report(self) -> None:
        members = self.members()
        voters = {number: address for number, address in members.items() if address not in self.learners}
        self.api.resources[ETCD_MEMBERS] = told_of_members(voters)
        conditions = [degraded([*members.values()], self.unhealthy()), rolling(self.revisions)]
        self.api.resources[ETCD] = {"status": {"conditions": conditions}}


@dataclass
class FakeMembers:
    """`EtcdMember` of all addresses. As etcd does, each sends its database in blocks, then the SHA-256."""

    database: bytes = bytes(range(256)) * 4 * 96
    broken: dict[str, str] = field(default_factory=dict)
    """By address: why it does not answer."""
    cut_after: dict[str, int] = field(default_factory=dict)
    """By address: the blocks after which its stream ends, as if that were all."""
    asked: list[str] = field(default_factory=list)
    listed: dict[int, str] = field(default_factory=dict)
    """All members of etcd, by id."""
    removed: list[str] = field(default_factory=list)
    refuses: str = ""
    """Why no member is removed."""

    def members(self, address: str) -> dict[int, str]:
        """See `EtcdMember`."""
        self.revision(address)
        return dict(self.listed)

    def remove(self, address: str, member: int) -> None:
        """See `EtcdMember`. One that does not answer any more is removed as well."""
        self.revision(address)
        if self.refuses:
            raise ConnectionError(self.refuses)
        self.removed.append(self.listed.pop(member))

    def revision(self, address: str) -> int:
        """See `EtcdMember`."""
        self.asked.append(address)
        if address in self.broken:
            says = self.broken[address]
            raise (DeclinedError if OWN in says else ConnectionError)(says)
        return 42

    def snapshot(self, address: str) -> Iterator[Block]:
        """See `EtcdMember`."""
        assert self.asked[-1] == address, "asked for its snapshot before its majority"
        parts = [self.database[at : at + SENT_BYTES] for at in range(0, len(self.database), SENT_BYTES)]
        parts = [*parts, hashlib.sha256(self.database).digest()][: self.cut_after.get(address)]
        left = len(self.database)
        for part in parts:
            left = max(0, left - len(part))
            yield Block(part, left)
