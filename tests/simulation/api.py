"""What a simulated cluster answers: its Kubernetes API, and its etcd."""

import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from providers.etcd.snapshot import SECTOR_BYTES
from testing.certificate_requests import node
from testing.fakes.etcd import numbered, told_of_members
from testing.fakes.sleeping_cluster import merge
from testing.fakes.workloads import ENDS_S, Pod
from tests.simulation.cluster import BOOTSTRAP, Cluster, Etcd
from wires.api.resources import INFRASTRUCTURE, PODS_OF, HeldError
from wires.etcd.member import Block


@dataclass
class SimKube:
    """`KubernetesDrainer` of one cluster."""

    cluster: Cluster
    problem: Callable[[str], str | None]
    """Returns why the API behind an address cannot be asked."""

    def _reach(self, address: str) -> None:
        if problem := self.problem(address):
            raise ConnectionError(problem)

    def get(self, address: str, path: str, model: Any) -> Any:
        self._reach(address)
        objects, name = self.cluster.objects, path.rpartition("/")[2]
        if path.startswith(PODS_OF.format("")):
            return model.model_validate({"items": self._pods(path.removeprefix(PODS_OF.format("")))})
        answers: dict[str, Callable[[], dict[str, Any] | None]] = {
            "certificatesigningrequests": lambda: {"items": [*self.cluster.requests.values()]},
            "nodes": lambda: {"items": [self._node(each) for each in objects]},
            "leases": lambda: {"items": [self._lease(each) for each in objects]},
            "bootstrap": lambda: {"data": {"status": "complete"}} if self._etcd.is_complete else None,
            "etcd-endpoints": self._members,
            "cluster": self._infrastructure if path == INFRASTRUCTURE else self._operator,
        }
        answer = answers[name]() if name in answers else self._node(name) if name in objects else None
        return answer and model.model_validate(answer)

    def _lease(self, host: str) -> dict[str, Any]:
        return {"metadata": {"name": host}, "spec": {"renewTime": f"{self.cluster.nodes[host].renewed:.0f}"}}

    @property
    def _etcd(self) -> Etcd:
        assert self.cluster.etcd
        return self.cluster.etcd

    def _members(self) -> dict[str, Any] | None:
        members = [self.cluster.nodes[each].address for each in self._etcd.members if each != BOOTSTRAP]
        return told_of_members(numbered(members)) if members else None  # else the etcd operator has not started

    def _infrastructure(self) -> dict[str, Any]:
        """OKD admits three servers where there was one once etcd has three members."""
        is_one = self.cluster.replicas == 1 and len(self._etcd.members) <= 2
        topology = "HighlyAvailable" if self.cluster.wants_three else "SingleReplica"
        status = {"controlPlaneTopology": "SingleReplica" if is_one else "HighlyAvailable"}
        return {"spec": {"controlPlaneTopology": topology}, "status": status | {"platformStatus": {"type": "None"}}}

    def _operator(self) -> dict[str, Any]:
        etcd = self._etcd
        degraded = any(not self.cluster.is_alive(etcd, each) for each in etcd.members)
        conditions = {"EtcdBootstrapMemberRemoved": etcd.is_removed, "EtcdMembersDegraded": degraded}
        return {"status": {"conditions": [{"type": it, "status": str(value)} for it, value in conditions.items()]}}

    def delete(self, address: str, path: str) -> None:
        """Delete a node: only those are ever deleted here. Its pods go with it."""
        self._reach(address)
        name = path.rpartition("/")[2]
        if gone := self.cluster.objects.pop(name, None):
            gone.is_nobodys = not self.cluster.nodes[name].in_control_plane
        self.cluster.pods.pop(name, None)

    def _pods(self, host: str) -> list[dict[str, Any]]:
        ends = self.cluster.pods.get(host)
        return (
            []
            if ends is None
            else [Pod(f"web-{host}", host, "web", ends_at=None if ends == math.inf else ends).shown()]
        )

    def evict(self, address: str, pod: str, uid: str) -> None:
        """Have a pod end within half a minute, unless its budget needs it."""
        self._reach(address)
        host = uid.removeprefix("web-")
        if self.cluster.now() < self.cluster.held_until:
            raise HeldError("The disruption budget web needs 1 healthy pods and has 1 currently")
        if self.cluster.pods.get(host) == math.inf:
            self.cluster.told(f"the pod of {host} is evicted")
            self.cluster.pods[host] = self.cluster.now() + ENDS_S

    def patch(self, address: str, path: str, change: dict[str, Any]) -> None:
        self._reach(address)
        name = path.split("/")[-2]
        if name == "nodes":
            merge(self.cluster.nodes[path.rpartition("/")[2]].marks, change)
            return
        for request in self.cluster.requests.values():
            if request["metadata"]["name"] == name:
                request["status"] = change["status"]
                return
        raise ConnectionError("status 404")

    def _node(self, host: str) -> dict[str, Any]:
        each = self.cluster.nodes[host]
        told = node(host, ready=str(each.joined_s > 0), uuid=self.cluster.objects[host].machine.uuid)
        merge(told, each.marks)
        return told


@dataclass
class SimMembers:
    """`EtcdMember` of one cluster, with the traits of etcd 3.6.8: no majority, no answer; `strict-reconfig-check`."""

    cluster: Cluster
    check: Callable[[], None]
    """Ends a run that was killed."""

    def _etcd(self, address: str) -> Etcd:
        self.check()
        etcd = self.cluster.etcd
        alive = [] if etcd is None else [each for each in etcd.members if self.cluster.is_alive(etcd, each)]
        if (
            etcd is None
            or address not in [self._address(each) for each in alive]
            or not self.cluster.has_quorum(etcd)
        ):
            raise ConnectionError("UNAVAILABLE: no answer, or no majority")
        return etcd

    def _address(self, member: str) -> str:
        return "" if member == BOOTSTRAP else self.cluster.nodes[member].address

    def revision(self, address: str) -> int:
        return self._etcd(address).number + 1

    def members(self, address: str) -> dict[int, str]:
        return {number: self._address(each) for number, each in enumerate(self._etcd(address).members)}

    def remove(self, address: str, member: int) -> None:
        etcd = self._etcd(address)
        host = [*etcd.members][member]
        if not self.cluster.has_quorum(etcd, without=host):
            raise ConnectionError("FAILED_PRECONDITION: etcdserver: re-configuration failed")
        if system := etcd.members.pop(host):
            system.taken_out = True
        self.cluster.told(f"{host} is no member of etcd any more")

    def snapshot(self, address: str) -> Iterator[Block]:
        self._etcd(address)
        database = bytes(SECTOR_BYTES)
        yield Block(database + hashlib.sha256(database).digest(), 0)
