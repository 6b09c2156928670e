"""Saves etcd, whose snapshot is all that a control plane can be restored from, as upstream's cluster-backup.sh does.

The etcd operator keeps what its clients need in its namespace: members, CA, certificate. The member that is asked
proves first that a majority answers it, since one that was cut off serves an old database without a word.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Self

from assets.contract import ETCD_PORT
from base.errors import SnapshotError
from base.progress import Progress, Report
from base.write_guard import make
from cluster.values.snapshots import Store, store_of
from payload.kubeconfig import needed, read_kubeconfig
from providers.etcd.access import EtcdAccess, IncompleteEtcdError
from wires.api.kubernetes import KubeApi
from wires.api.resources import answer_first, unasked
from wires.etcd.client import EtcdClient
from wires.etcd.member import Block, EtcdMember
from wires.etcd.stores import Put, keeper_of
from wires.etcd.writes import SAVE, to_store

SHA256_BYTES, SECTOR_BYTES = 32, 512
"""The database is a multiple of sectors; `etcdutl` takes the rest for its SHA-256 (its snapshot/v3_snapshot.go)."""
REPORT_BYTES = 64 << 20
BY_HAND = (
    "or save it on a server of the control plane, with `sudo /usr/local/bin/cluster-backup.sh /home/core/backup`"
)
OPERATOR = f"see `oc get clusteroperator etcd`, then try again; {BY_HAND}"


@dataclass(frozen=True)
class EtcdSnapshots:
    """The snapshots of one cluster."""

    access: EtcdAccess
    store: Store
    report: Report
    now: Callable[[], datetime]

    @classmethod
    def of(cls, stack: str, api_name: str, vip: str, snapshots: str, report: Report) -> Self:
        """Return those of a stack, in its own part of the store that its option `snapshots` names.

        Raises:
            PayloadError: The payload has no kubeconfig.
        """
        api = KubeApi.by(needed(stack, read_kubeconfig(stack), "snapshots"), api_name)
        return cls(EtcdAccess(api, vip, EtcdClient), store_of(stack, snapshots), report, partial(datetime.now, UTC))

    def take(self) -> str:
        """Save etcd as a new file in the store. It has every secret of the cluster.

        Returns:
            The path or URL of the file, whose name has the form that upstream's cluster-restore.sh looks for.

        Raises:
            ConfigError: The store cannot be written.
            SnapshotError: etcd cannot be asked, no majority of it answers, or what came is not what etcd sent.
                There is no new file in either case.
        """
        member, addresses = self._members()
        name = f"snapshot_{self.now():%Y-%m-%d_%H%M%S}.db"
        problems = list[str]()
        for address in addresses:
            try:
                self.report(Progress(SAVE, f"asking {address}"))
                revision = member.revision(address)
                blocks = self._counted(address, member.snapshot(address))
                make(to_store(self.store))
                with keeper_of(self.store).new(name) as put:
                    size = _checked(blocks, put)
            except ConnectionError as error:
                problems.append(f"{address}: {error}")
            else:
                path = str(self.store / name)
                self.report(Progress(SAVE, f"{path}: {size >> 20} MiB, revision {revision} or later"))
                return path
        fix = f"have this machine reach {ETCD_PORT} of the control plane, and a majority of etcd answer; {OPERATOR}"
        raise SnapshotError("not saved: no member gave a snapshot", where="etcd", fix=fix, details=problems)

    def _members(self) -> tuple[EtcdMember, list[str]]:
        """Return a client of the members, and their addresses."""
        try:
            return self.access.reach()
        except OSError as error:
            what = f"not saved: {unasked(self.access.vip, error)}"
            raise SnapshotError(what, where="etcd", fix=f"{answer_first(error)}, {BY_HAND}") from None
        except IncompleteEtcdError as error:
            raise SnapshotError(f"not saved: {error}", where="etcd", fix=OPERATOR) from None

    def _counted(self, address: str, blocks: Iterable[Block]) -> Iterator[bytes]:
        """Yield the contents, and report now and then how much is to come."""
        sent = reported = 0
        for block in blocks:
            yield block.content
            sent += len(block.content)
            if sent >= reported + REPORT_BYTES:
                reported = sent
                detail = f"{sent >> 20} of {(sent + block.left) >> 20} MiB from {address}"
                self.report(Progress(SAVE, detail))


def _checked(blocks: Iterable[bytes], put: Put) -> int:
    """Hand a snapshot on, and return its size in bytes.

    Raises:
        ConnectionError: Its end is not the SHA-256 of what was before.
    """
    digest, size, end = hashlib.sha256(), 0, b""
    for block in blocks:
        put(block)
        size += len(block)
        end += block
        digest.update(end[:-SHA256_BYTES])
        end = end[-SHA256_BYTES:]
    if size % SECTOR_BYTES != SHA256_BYTES or end != digest.digest():
        raise ConnectionError(f"the {size} bytes that came do not end with their SHA-256")
    return size
