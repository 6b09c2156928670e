"""Etcd as the API tells of it, and a member of it, for tests."""

import hashlib
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from testing.certificates import Pair
from wires.api.resources import R
from wires.etcd.member import Block

NAMESPACE = "/api/v1/namespaces/openshift-etcd"
SENT_BYTES = 32 * 1024
"""The blocks of a snapshot (snapshotSendBufferSize in v3rpc/maintenance.go of etcd 3.6.8)."""


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
        pair = {"tls.crt": client.certificate, "tls.key": client.key}
        return cls(
            {
                f"{NAMESPACE}/configmaps/etcd-endpoints": {
                    "data": {f"{7 * number:x}": member for number, member in enumerate(members, 1)}
                },
                f"{NAMESPACE}/configmaps/etcd-ca-bundle": {"data": {"ca-bundle.crt": ca_pem}},
                f"{NAMESPACE}/secrets/etcd-client": {
                    "data": {name: b64encode(pem.encode()).decode() for name, pem in pair.items()}
                },
            }
        )

    def get(self, address: str, path: str, model: type[R]) -> R | None:
        """See `KubernetesReader`."""
        self.asked(address)
        if self.down:
            raise ConnectionRefusedError("refused")
        return model.model_validate(self.resources[path]) if path in self.resources else None


@dataclass
class FakeMembers:
    """`EtcdMember` of all addresses. As etcd does, each sends its database in blocks, then the SHA-256."""

    database: bytes = bytes(range(256)) * 4 * 96
    broken: dict[str, str] = field(default_factory=dict)
    """By address: why it does not answer."""
    cut_after: dict[str, int] = field(default_factory=dict)
    """By address: the blocks after which its stream ends, as if that were all."""
    asked: list[str] = field(default_factory=list)

    def revision(self, address: str) -> int:
        """See `EtcdMember`."""
        self.asked.append(address)
        if address in self.broken:
            raise ConnectionError(self.broken[address])
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
