"""What runs on the machines once they are up: etcd, the API, nodes, certificate requests, OKD's own bootstrap."""

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from testing.certificate_requests import client_request, serving_request
from tests.simulation.servers import Server, System
from tests.simulation.vm import Libvirt

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
