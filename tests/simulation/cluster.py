"""What runs on the machines once they are up: etcd, the API, nodes, certificate requests, OKD's own bootstrap."""

import hashlib
import math
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from providers.etcd_snapshot import SECTOR_BYTES
from testing.certificate_requests import client_request, node, serving_request
from testing.fakes.etcd import numbered, told_of_members
from testing.fakes.sleeping_cluster import merge
from testing.fakes.workloads import ENDS_S, Pod
from tests.simulation.servers import Server, System
from tests.simulation.vm import Libvirt
from wires.api.resources import INFRASTRUCTURE, PODS_OF, HeldError
from wires.etcd.member import Block

BOOTSTRAP = "bootstrap"


@cache
def _request(kind: str, host: str, address: str) -> dict[str, Any]:
    return client_request(host) if kind == "client" else serving_request(host, address)


@dataclass(eq=False)
class Etcd:
    """etcd and OKD's bootstrap of one disk of the bootstrap VM."""

    number: int
    members: dict[str, System | None] = field(default_factory=dict)
    """By machine: the system that has the data; None for the bootstrap VM."""
    seeded: bool = False
    is_complete: bool = False
    """OKD's bootstrap says that its work is complete."""
    is_removed: bool = False
    """The bootstrap VM is no member any more."""
    has_ended: bool = False
    """The payload has ended the bootstrap VM's API."""
    ready_s: float = 0.0
    """Seconds for which the whole control plane has been ready."""


def unmarked() -> dict[str, Any]:
    """Return what others have written to the object of a new node."""
    return {"metadata": {"annotations": {}}, "spec": {}}


@dataclass(eq=False)
class Node:
    """The operating system of one server."""

    host: str
    address: str
    in_control_plane: bool
    up_s: float = 0.0
    """Seconds since its system came up; 0: it does not run."""
    joined_s: float = 0.0
    """Seconds since it has become a node; 0: it has not, since it came up."""
    api_runs: bool = False
    has_quorum: bool = False
    serves_config: bool = False
    has_serving_certificate: bool = False
    flaps_until: float = 0.0
    renewed: float = 0.0
    """When its kubelet has renewed its lease."""
    certified: int = 0
    """How often the certificates of all kubelets had expired when it got its own."""
    unready_s: float = 0.0
    """Seconds for which its API has not been ready."""
    down_s: float = 0.0
    """Seconds for which its system has not run."""
    marks: dict[str, Any] = field(default_factory=unmarked)
    """What others have written to its object."""

    @property
    def is_cordoned(self) -> bool:
        """Whether it takes no new pod."""
        return bool(self.marks["spec"].get("unschedulable"))


@dataclass
class Pace:
    """Seconds that the steps of this world's machines take."""

    join_s: float = 20
    member_s: float = 20
    config_s: float = 20
    complete_s: float = 60
    removed_s: float = 90
    ended_s: float = 60
    """From both until the payload ends the bootstrap VM's API; inf: never."""


@dataclass
class Cluster:
    """All of it."""

    servers: Mapping[str, Server]
    libvirt: Libvirt
    nodes: dict[str, Node]
    now: Callable[[], float]
    told: Callable[[str], None]
    vip_holder: Callable[[], str]
    """Returns the one machine that holds the API VIP; empty: none, or several."""
    pace: Pace = field(default_factory=Pace)
    replicas: int = 3
    """Servers of the control plane at its installation."""
    wants_three: bool = False
    """Whether an administrator has asked to make three servers of one."""
    joins: Callable[[str], None] = lambda _: None
    """Called before a server becomes a node."""
    etcds: list[Etcd] = field(default_factory=list)
    objects: dict[str, System] = field(default_factory=dict)
    """The nodes that the API has, with the system of each."""
    requests: dict[str, dict[str, Any]] = field(default_factory=dict)
    pods: dict[str, float] = field(default_factory=dict)
    """By node with a pod: when that ends, if it is evicted; inf: it was not."""
    held_until: float = 0.0
    """Until then, a budget needs each pod."""
    bootstrap_ready: bool = False
    config_down_until: float = 0.0
    expired: int = 0
    """How often the certificates of all kubelets have expired, in a long sleep."""
    _serial: int = 0

    def __post_init__(self) -> None:
        self.control_plane = [each for each in self.nodes.values() if each.in_control_plane]

    def new_disk(self, replicas: int) -> int:
        """The VM gets a new disk: another cluster, with an etcd and nodes of its own."""
        self.replicas, self.wants_three = replicas, False
        self.etcds.append(Etcd(len(self.etcds)))
        self.objects.clear()
        self.pods.clear()
        self.requests.clear()
        return len(self.etcds) - 1

    @property
    def etcd(self) -> Etcd | None:
        """That of the newest disk."""
        return self.etcds[-1] if self.etcds else None

    def etcd_of(self, host: str) -> Etcd | None:
        system = self.servers[host].system
        return None if system is None or system.generation is None else self.etcds[system.generation]

    def is_alive(self, etcd: Etcd, member: str) -> bool:
        if member == BOOTSTRAP:
            return self.libvirt.is_up() and self.libvirt.generation == etcd.number
        return self.nodes[member].up_s > 0 and self.servers[member].system is etcd.members[member]

    def has_quorum(self, etcd: Etcd, without: str = "") -> bool:
        alive = [each for each in etcd.members if each != without and self.is_alive(etcd, each)]
        return len(alive) > len(etcd.members) // 2

    @property
    def is_lost(self) -> bool:
        """Whether etcd's majority is gone for good, with disks that were wiped, or servers that were replaced."""
        etcd = self.etcd
        if etcd is None:
            return False
        has_vm = self.libvirt.generation == etcd.number
        kept = [has_vm if each == BOOTSTRAP else self.servers[each].system is it for each, it in etcd.members.items()]
        return bool(kept) and sum(kept) <= len(kept) // 2

    def api_serves(self, etcd: Etcd) -> bool:
        """Whether any API of a generation serves."""
        of_bootstrap = self.bootstrap_ready and self.libvirt.generation == etcd.number
        return of_bootstrap or any(
            self.is_ready(each) and self.etcd_of(each.host) is etcd for each in self.control_plane
        )

    def is_ready(self, each: Node) -> bool:
        return each.api_runs and each.has_quorum and self.now() >= each.flaps_until

    # A second passes.
    def tick(self) -> None:
        self._bootstrap()
        for each in self.nodes.values():
            self._node(each)
        quorum = [self.has_quorum(etcd) for etcd in self.etcds]
        for each in self.control_plane:
            own = self.etcd_of(each.host)
            each.has_quorum = own is not None and quorum[own.number]
            each.unready_s = 0.0 if self.is_ready(each) else each.unready_s + 1
            each.down_s = 0.0 if each.up_s else each.down_s + 1
        if self.etcd:
            self._complete(self.etcd)

    def _bootstrap(self) -> None:
        number = self.libvirt.generation
        etcd = self.etcds[number] if number is not None else None
        if etcd and self.libvirt.may_serve() and not etcd.seeded:
            etcd.seeded = True
            etcd.members[BOOTSTRAP] = None
        before = self.bootstrap_ready
        may = etcd is not None and self.libvirt.may_serve() and not etcd.has_ended
        self.bootstrap_ready = bool(may and etcd and self.has_quorum(etcd))
        if before != self.bootstrap_ready:
            self.told(f"the bootstrap VM's API is {'ready' if self.bootstrap_ready else 'not ready any more'}")

    def _node(self, each: Node) -> None:
        system = self.servers[each.host].runs()
        if system is None:
            if each.up_s:
                self.told(f"the system of {each.host} is down")
            each.up_s = each.joined_s = 0.0
            each.api_runs = each.serves_config = each.has_serving_certificate = False
            return
        if system.generation is None and not self._fetches_config(each, system):
            return
        each.up_s += 1
        etcd = self.etcd_of(each.host)
        assert etcd
        if each.joined_s or (each.up_s > self.pace.join_s and self._joins(each, system, etcd)):
            each.joined_s += 1
            each.renewed = self.now()
        if each.in_control_plane and system.has_joined:
            self._serves(each, system, etcd)
        elif each.joined_s:
            self._runs_pods(each.host)

    def _runs_pods(self, host: str) -> None:
        """A node that is ready gets a pod, as long as it is not cordoned; its kubelet ends one that is evicted."""
        if self.now() >= self.pods.get(host, math.inf):
            del self.pods[host]
        if host in self.objects and not self.nodes[host].is_cordoned:
            self.pods.setdefault(host, math.inf)

    def _fetches_config(self, each: Node, system: System) -> bool:
        """The first boot fetches its config through the VIP, and tries until it gets it."""
        holder = self.vip_holder()
        if self.now() < self.config_down_until or not holder:
            return False
        if holder == BOOTSTRAP:
            if not (each.in_control_plane and self.bootstrap_ready):
                return False
            system.generation = self.libvirt.generation
        elif self.nodes[holder].serves_config:
            own = self.servers[holder].system
            system.generation = own.generation if own else None
        if system.generation is not None:
            self.told(f"{each.host} gets its config from {holder}")
        return system.generation is not None

    def _joins(self, each: Node, system: System, etcd: Etcd) -> bool:
        """Kubelet has its certificates approved: the client's, then that by which it serves."""
        is_node = self.objects.get(each.host) is system
        if system.has_joined and is_node and each.certified == self.expired:
            each.has_serving_certificate = True
            return True
        if not self.api_serves(etcd):
            return False
        if each.certified != self.expired or not is_node:
            if (system.taken_out and not is_node) or not self._approved("client", each, system, etcd):
                return False
            self.joins(each.host)
            if each.host not in self.objects:
                each.marks = unmarked()
            self.objects[each.host] = system
            system.has_joined, system.is_nobodys = True, False
            self.told(f"{each.host} has joined the cluster")
        if not self._approved("serving", each, system, etcd):
            return False
        each.has_serving_certificate, each.certified = True, self.expired
        return True

    def _approved(self, kind: str, each: Node, system: System, etcd: Etcd) -> bool:
        key = f"{kind}/{each.host}/{id(system)}/{self.expired}"
        if key not in self.requests:
            self._serial += 1
            metadata = {"name": f"csr-{self._serial}", "uid": f"uid-{self._serial}", "resourceVersion": "7"}
            self.requests[key] = {**_request(kind, each.host, each.address), "metadata": metadata, "status": {}}
        request = self.requests[key]
        if self.bootstrap_ready and self.libvirt.generation == etcd.number and not etcd.is_complete:
            request["status"] = {"conditions": [{"type": "Approved", "status": "True", "reason": "Bootstrap"}]}
        return bool(request["status"])

    def _serves(self, each: Node, system: System, etcd: Etcd) -> None:
        is_member = etcd.members.get(each.host) is system
        is_due = each.up_s > self.pace.join_s + self.pace.member_s and not system.taken_out
        if is_due and each.host not in etcd.members and self.has_quorum(etcd):
            etcd.members[each.host] = system
            self.told(f"{each.host} is a member of etcd")
        if is_member:
            each.api_runs = True
            each.serves_config = each.serves_config or each.up_s > self.pace.join_s + self.pace.config_s

    def _complete(self, etcd: Etcd) -> None:
        """OKD's bootstrap is complete some time after all of the control plane has joined."""
        if etcd.is_removed:
            etcd.ready_s += 1
            etcd.has_ended = etcd.ready_s > self.pace.ended_s
            return
        members = [each for each in self.control_plane if etcd.members.get(each.host)]
        if len(members) < self.replicas or not self.bootstrap_ready or not self.has_quorum(etcd):
            return
        etcd.ready_s += 1
        if etcd.ready_s > self.pace.complete_s and not etcd.is_complete:
            etcd.is_complete = True
            self.told("OKD: its bootstrap is complete")
        others = sum(self.is_alive(etcd, each.host) for each in members)
        if etcd.ready_s > self.pace.removed_s and etcd.is_complete and others > len(members) // 2:
            etcd.is_removed, etcd.ready_s = True, 0.0
            del etcd.members[BOOTSTRAP]
            self.told("OKD: the bootstrap VM is no member of etcd any more")

    def has_asked(self, host: str) -> bool:
        """Whether the kubelet of the system on a server's disk has asked for its certificate."""
        return any(key.startswith(f"client/{host}/{id(self.servers[host].system)}/") for key in self.requests)

    # By hand, as an administrator does.
    def take_out(self, host: str) -> bool:
        """Take a server out; return whether etcd lets it go (`strict-reconfig-check`)."""
        etcd = self.etcd_of(host) or self.etcd
        if etcd and host in etcd.members and not self.has_quorum(etcd, without=host):
            return False
        self.objects.pop(host, None)
        for each in self.etcds:
            each.members.pop(host, None)
        if system := self.servers[host].system:
            system.taken_out = True
        return True

    def forget_disk(self, host: str) -> None:
        """Remove etcd's member of a disk that is no more."""
        etcd, system = self.etcd, self.servers[host].system
        if etcd and etcd.members.get(host, system) is not system and self.has_quorum(etcd, without=host):
            del etcd.members[host]


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
            "cluster": self._operator,
        }
        answers |= {"cluster": self._infrastructure} if path == INFRASTRUCTURE else {}
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


def pace(rng: random.Random) -> Pace:
    """Return a pace of a world."""
    return Pace(
        join_s=rng.randint(5, 60),
        member_s=rng.randint(5, 60),
        config_s=rng.randint(5, 60),
        complete_s=rng.randint(10, 90),
        removed_s=rng.randint(10, 90),
        ended_s=rng.choice((30, 120, float("inf"))),
    )
