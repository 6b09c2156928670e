"""A stand-in for OKD's etcd operator: it reports etcd's members through the lab's Kubernetes, and how to reach them.

It adds and removes no member: a node's own etcd does that (lab/go/etcd). OKD's restarts all of them after a change;
this one only says so, until it looks again. The lab's etcd wants no certificate of its clients; that of OKD does, as
in `tests/wire/test_etcd_snapshot.py`.
"""

from dataclasses import dataclass, field
from functools import cached_property

from cluster.plan import Intent
from lab.rehearsal.etcd import Etcd, Voter
from lab.rehearsal.okd_api import OkdApi
from lab.rehearsal.operators import Operators
from lab.rehearsal.segment import status
from testing.certificates import Authority, Pair
from testing.fakes.etcd import NAMESPACE, degraded, objects, rolling
from wires.api.resources import ETCD

PORT, OK = 2379, 200


@dataclass
class EtcdOperator(Operators):
    """The operator of one cluster."""

    plan: Intent
    api: OkdApi
    etcd: Etcd
    ca_pem: str
    """The CA that signs the certificates of etcd's members."""
    _is_prepared: bool = field(default=False, init=False)
    _reported: tuple[dict[int, str], list[str], str] | None = field(default=None, init=False)
    """The members, those that do not answer, and whether all are restarted, as last reported."""

    def step(self) -> None:
        """See `Operators`."""
        self.look()

    def look(self) -> list[Voter]:
        """Report once; return etcd's voters.

        Raises:
            OSError: API or etcd do not answer.
            http.client.HTTPException: The API refuses.
        """
        voters = self.etcd.started_voters()
        members = {voter.number: voter.address for voter in voters if voter.name != self.plan.bootstrap.name}
        if not self._is_prepared:
            self.api.ensure("/api/v1/namespaces", {"metadata": {"name": NAMESPACE.rpartition("/")[2]}})
            self._is_prepared = True
        lost = [voter.name for voter in voters if voter.number in members and not self._answers(voter.address)]
        had = self._reported[0] if self._reported else members
        rolls = "0 nodes have achieved new revision 2" if had != members else ""
        if self._reported != (members, lost, rolls):  # most looks find nothing new
            for path, content in objects(members, self.ca_pem, self._client).items():
                collection, _, name = path.rpartition("/")
                self.api.keep(collection, {"metadata": {"name": name}, **content})
            self.api.report_condition(ETCD, rolling(rolls))
            self.api.report_condition(ETCD, degraded(list(members.values()), lost))
            self._reported = members, lost, rolls
        return voters

    @cached_property
    def _client(self) -> Pair:
        return Authority.create("etcd-signer").issue_client("etcd-client", "system:etcd", "etcd-client")

    def _answers(self, address: str) -> bool:
        return status(f"https://api.{self.plan.domain}:{PORT}/readyz", address, self.ca_pem) == OK
