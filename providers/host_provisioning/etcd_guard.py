"""Asks a cluster about etcd, before a server of its control plane, which was installed before, is wiped.

In production it is wiped once it is out of the cluster; `departure.py` takes it out. Once the server has joined
again, the etcd operator readmits it to etcd. In phase bootstrap, etcd may still run on the bootstrap VM only; then no
server has a copy to lose.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from base.clock import Clock
from base.errors import ProvisioningError, words_of
from base.progress import Report
from base.spec import Model
from providers.etcd.health import UnlistedError, listed_members, member_problem, unrest
from providers.joining.nodes import Node
from providers.patience import patiently
from providers.server_objects.objects import COLLECTIONS, MACHINE
from wires.api.resources import (
    ALIVE,
    ETCD,
    NODE_LIST,
    KubernetesReader,
    Reporting,
    answer_first,
    unasked,
)
from wires.bmc.client import Identity

RUNNING = "EtcdRunningInCluster"
"""The operator's condition that etcd runs on the nodes. Its jobs then have two nodes fence each other.

Source: pkg/operator/ceohelpers/external_etcd_status.go and pkg/tnf of the same, b4786ae33.
"""
MACHINES = (
    f"{COLLECTIONS[MACHINE]}?labelSelector=machine.openshift.io%2Fcluster-api-machine-role%20in%20(master,arbiter)"
)
"""The Machines by which the operator admits a node, once one of them runs (its clustermembercontroller)."""
TAKE_OUT = (
    "take the server out first (docs/how-to/replace-a-control-plane-server.md); or, if an earlier `pulumi up` has "
    "reinstalled it already, remove its line from `reinstall`"
)
ONE_EACH = "reinstall or replace one of them in each `pulumi up`"
REPAIR = "have the etcd operator report all members first (`oc get clusteroperator etcd`), and take no other one out"
ANSWER = "since etcd is asked before a copy of it is wiped"
BEFORE_PRODUCTION = "; if it will never answer, run `pulumi destroy`, and install the cluster again"
IN_PRODUCTION = (
    "; if the API will never answer, restore or destroy the cluster (docs/how-to/restore-a-control-plane.md)"
)

Problem = tuple[str, str]
"""What is wrong, and the fix."""


class SilentEtcdError(ConnectionError):
    """A member of etcd that has to answer does not.

    Args:
        what: What is wrong.
        fix: What to do about it.
    """

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.problem: Problem = what, fix


class _Address(Model):
    address: str


class _MachineStatus(Model):
    phase: str = ""
    addresses: tuple[_Address, ...] = ()


class _Machine(Model):
    status: _MachineStatus = _MachineStatus()


class _Machines(Model):
    items: tuple[_Machine, ...] = ()


@dataclass(frozen=True)
class EtcdQuorum:
    """etcd without the server that is to be wiped."""

    api: KubernetesReader
    vip: str
    """Address of the API."""
    clock: Clock
    report: Report
    in_production: bool = True
    """In phase bootstrap, etcd's operator may not have started."""

    def refuse_members(self, servers: Mapping[str, Collection[str]]) -> None:
        """Return if no server is a member of etcd.

        Args:
            servers: The addresses of each, by name.

        Raises:
            ProvisioningError: Some are, all of which it names; or the API does not say. Nothing was touched.
        """
        self.refuse(" and ".join(servers), lambda: self._members(servers))

    def refuse(self, host: str, asked: Callable[[], Problem | None]) -> None:
        """Return if nothing speaks against a wipe.

        Args:
            host: Its name.
            asked: Returns what does, or raises an OSError, such as a `SilentEtcdError`: nobody says.

        Raises:
            ProvisioningError: Something does, or nobody says in time. Nothing was touched.
        """
        try:
            problem = patiently(asked, self.clock, self.report)
        except SilentEtcdError as error:
            problem = error.problem
        except UnlistedError as error:
            problem = str(error), REPAIR
        except OSError as error:
            what = unasked(self.vip, error)
            problem = what, self._answer(error)
        if problem:
            what, fix = problem
            raise ProvisioningError(f"not wiped: {what}", where=host, fix=fix)

    def fences(self) -> bool:
        """Whether etcd runs on the nodes, so that two that fence each other may switch each other on and off.

        Raises:
            ProvisioningError: The API does not say. Nothing was touched.
        """
        try:
            etcd = patiently(lambda: self.api.get(self.vip, ETCD, Reporting), self.clock, self.report)
        except OSError as error:
            what = f"etcd cannot be asked through {self.vip}, and two servers that run it fence each other"
            raise ProvisioningError(f"{what}: {words_of(error)}", fix=self._answer(error)) from None
        running = etcd.status.condition(RUNNING) if etcd else None
        return running is not None and running.status == "True"

    def _answer(self, error: OSError) -> str:
        never = IN_PRODUCTION if self.in_production else BEFORE_PRODUCTION
        return f"{answer_first(error)}, {ANSWER}{'' if isinstance(error, ALIVE) else never}"

    def presence(self, host: str, addresses: Collection[str]) -> Problem | None:
        """Return what of a server is in the cluster, or which other member of etcd does not answer. None: it is out.

        Raises:
            OSError: The API cannot be asked.
        """
        return self.node(host) or self._members({host: addresses}) or self._quorum()

    def absence(self, addresses: Collection[str]) -> str | None:
        """Return why a server is not back in etcd, with all members answering, and none about to be restarted.

        The operator restarts each of them once the server is a member: until then, no other one may leave. On
        platform baremetal it admits none without a Machine, which `ServerObjects` makes, and then waits for etcd.

        Raises:
            OSError: The API cannot be asked.
        """
        if not self.votes(addresses):
            return None if self._lacks_machine(addresses) else "it is not yet a member of etcd"
        return unrest(self.api, self.vip)

    def votes(self, addresses: Collection[str]) -> bool:
        """Return whether a server's member of etcd votes: the operator lists no learner.

        Raises:
            OSError: The API cannot be asked.
        """
        return not (listed_members(self.api, self.vip) or frozenset()).isdisjoint(addresses)

    def node(self, host: str) -> Problem | None:
        """Return that a server's node exists. None: it does not.

        Raises:
            OSError: The API cannot be asked.
        """
        node = self.api.get(self.vip, f"{NODE_LIST}/{host}", Node)
        return (f"node {host} exists", TAKE_OUT) if node else None

    def lives(self, host: str) -> bool:
        """Return whether the cluster sees a server at work: its node is ready, and the operator reaches all of etcd.

        Both are late to see a death, the operator by as long as it takes to start on another server: neither alone
        says that a server lives.

        Raises:
            OSError: The API cannot be asked.
        """
        node = self.api.get(self.vip, f"{NODE_LIST}/{host}", Node)
        return node is not None and node.problem is None and member_problem(self.api, self.vip) is None

    def has(self, host: str, machine: Identity, addresses: Collection[str]) -> bool:
        """Return whether a machine that is on is a part of the cluster, as a host's node, be that ready or not.

        If there is no such node, or nobody can tell whose it is: as a member of etcd at the host's addresses.

        Raises:
            ProvisioningError: The API does not say. Nothing was touched.
        """

        def is_in() -> bool:
            node = self.api.get(self.vip, f"{NODE_LIST}/{host}", Node)
            return node.runs_on(machine) if node and not node.untold(machine) else self.votes(addresses)

        said = list[bool]()
        self.refuse(host, lambda: said.append(is_in()))
        return said[0]

    def _lacks_machine(self, addresses: Collection[str]) -> bool:
        listed = self.api.get(self.vip, MACHINES, _Machines)
        running = [each.status for each in listed.items if each.status.phase == "Running"] if listed else []
        known = {it.address for status in running for it in status.addresses}
        return bool(running) and not known & {*addresses}

    def _members(self, servers: Mapping[str, Collection[str]]) -> Problem | None:
        members = listed_members(self.api, self.vip)
        if members is None and not self.in_production:
            return None  # the etcd operator has not started
        if not members:
            return "ConfigMap openshift-etcd/etcd-endpoints names no member of etcd", REPAIR
        listed = {host: ", ".join(sorted(members & {*addresses})) for host, addresses in servers.items()}
        found = [f"{host} is a member of etcd ({own})" for host, own in listed.items() if own]
        fix = TAKE_OUT if len(found) == 1 else f"{ONE_EACH}, and {TAKE_OUT}"
        return (" and ".join(found), fix) if found else None

    def _quorum(self) -> Problem | None:
        problem = member_problem(self.api, self.vip)
        return (problem, REPAIR) if problem else None
