"""Takes a server that is wiped again out of etcd and the cluster first, and tells when it is back.

The order is upstream's, of *Replacing an unhealthy etcd member* whose node is not ready. The server is off by then,
so nothing of it joins again meanwhile. Why its secrets and the quorum guard stay: ADR 76.
"""

from collections.abc import Collection
from dataclasses import dataclass

from assets.contract import ETCD_PORT
from base.clock import Clock
from base.errors import ProvisioningError, words_of
from base.write_guard import make
from providers.etcd.access import EtcdAccess, IncompleteEtcdError
from providers.host_provisioning.etcd_guard import REPAIR, EtcdQuorum, Problem, SilentEtcdError
from wires.api.resources import NODE_LIST, KubernetesKeeper, polled_fix
from wires.bmc.steps import Waits
from wires.etcd.member import DeclinedError, EtcdMember
from wires.etcd.writes import out_of_etcd

OFF = (
    "if it is to be wiped, switch it off, then run `pulumi up` again; if an earlier `pulumi up` has reinstalled it "
    "already, remove its line from `reinstall`"
)
OUT_S = 300.0
"""Time for the operator to report that the server is out, which it may tell 150 s late (`etcd.health.DEGRADED`)."""
POLL_S = 5.0
OTHERS = 2
"""Members that have to be left of those that vote, so that a majority is more than one machine."""
KEEP = "remove its line from `reinstall`, or take back the change that makes it another machine"
REACH = f"have this machine reach {ETCD_PORT} of the control plane, and all other members answer; or {KEEP}"
DEAD_TOO = (
    "have it answer; or, if its server is dead, too, take that one out of etcd and the cluster yourself "
    "(docs/how-to/replace-a-control-plane-server.md), then run `pulumi up` again, and reinstall it in a later one"
)
OPERATOR = "the etcd operator reaches all members: only this machine does not reach it, or another one has its name"
AGAIN = "see `oc get clusteroperator etcd`, then run `pulumi up` again, which goes on from here"


@dataclass(frozen=True)
class Departure:
    """One server with a copy of etcd, in production."""

    host: str
    addresses: Collection[str]
    api_name: str
    api: KubernetesKeeper
    access: EtcdAccess
    quorum: EtcdQuorum
    clock: Clock

    def prove(self) -> None:
        """Return if the server is out of the cluster, or its member is dead and the others are a majority.

        Raises:
            ProvisioningError: It does not, or does not say. Nothing was touched.
        """
        self.quorum.refuse(self.host, self._need)

    def take_out(self) -> Waits:
        """Remove the member and delete the node of the server, which is off; wait until the operator reports that.

        Raises:
            ProvisioningError: It does not in time. The server is off, and its disk as it was.
        """
        deadline = self.clock.now() + OUT_S
        while problem := self._left():
            if self.clock.now() >= deadline:
                left, fix = problem
                what = f"not wiped: it is off, but not out of the cluster after {OUT_S:.0f} s: {left}"
                raise ProvisioningError(what, where=self.host, fix=fix)
            yield POLL_S

    def missing(self) -> str | None:
        """Return why the server is not back in etcd. None: it is a member, and all members answer and stay up."""
        try:
            return self.quorum.absence(self.addresses)
        except OSError as error:
            return f"etcd cannot be asked: {words_of(error)}"

    def _need(self) -> Problem | None:
        """Return why etcd cannot do without the server: each other member has to answer, and confirm a majority.

        Raises:
            SilentEtcdError: One does not; or the server's own does not, and the cluster sees it at work.
            OSError: The API cannot be asked.
        """
        if not self.quorum.presence(self.host, self.addresses):
            return None
        try:
            etcd, asked = self._reach()
            members = {*etcd.members(asked).values()}
        except IncompleteEtcdError as error:
            return f"etcd cannot be asked: {error}", REACH
        except ConnectionError as error:
            raise SilentEtcdError(f"etcd cannot be asked: {error}", REACH) from None
        others, own = sorted(members - {*self.addresses}), sorted(members & {*self.addresses})
        if len(others) < OTHERS and self.quorum.votes(self.addresses):
            return f"etcd has {len(others)} other members, wanted {OTHERS} or more", KEEP
        problems = {each: _problem(etcd, each) for each in (*others, *own)}
        if silent := [other for other in others if problems[other]]:
            fix = DEAD_TOO if len(others) - len(silent) >= OTHERS else REPAIR
            raise SilentEtcdError(f"another member of etcd does not answer, {silent[0]}: {problems[silent[0]]}", fix)
        # One that declines is alive: a learner, of a server that an earlier run has reinstalled, reads nothing.
        alive = [each for each in own if problems[each] is None or isinstance(problems[each], DeclinedError)]
        if own and not alive and self.quorum.lives(self.host):
            raise SilentEtcdError(f"its etcd is silent, but its node is ready, and {OPERATOR}", OFF)
        return (f"{self.host} is a member of etcd that answers ({', '.join(alive)})", OFF) if alive else None

    def _reach(self) -> tuple[EtcdMember, str]:
        """Return a client of etcd, and the address of another member than the server's."""
        etcd, addresses = self.access.reach()
        others = [address for address in addresses if address not in self.addresses]
        if not others:
            raise IncompleteEtcdError("it has no other member")
        return etcd, others[0]

    def _left(self) -> Problem | None:
        """Do what is left to do; return what of the server was in the cluster before, and what to do if it stays."""
        try:
            problem = self.quorum.presence(self.host, self.addresses)
            if problem:
                self._remove()
        except (OSError, IncompleteEtcdError) as error:
            return words_of(error), polled_fix(error, AGAIN)
        return (problem[0], AGAIN) if problem else None

    def _remove(self) -> None:
        etcd, other = self._reach()
        for member, address in etcd.members(other).items():
            if address in self.addresses:
                make(out_of_etcd(self.api_name, self.host))
                etcd.remove(other, member)
        if self.quorum.node(self.host):
            self.api.delete(self.quorum.vip, f"{NODE_LIST}/{self.host}")


def _problem(etcd: EtcdMember, address: str) -> ConnectionError | None:
    try:
        etcd.revision(address)
    except ConnectionError as error:
        return error
    return None
