"""Makes nodes of installed servers: approves their certificate requests, and waits until their nodes are ready.

On platform none nobody else approves them: the bootstrap approves every request, but only until its work is complete.
The API is polled only while a server is awaited, and has everything that the next run needs to know.
"""

import math
import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from pydantic import Field

from base.clock import Clock
from base.errors import ProvisioningError, word
from base.progress import Say
from base.shown import short
from base.spec import Model
from providers.joining.certificates import (
    APPROVAL,
    APPROVED_HERE,
    BOOTSTRAPPER,
    CLIENT,
    NODE,
    REQUESTS,
    SERVING,
    Approval,
    Content,
    Request,
    UnreadableError,
    content_of,
    refusal,
)
from providers.patience import WITHIN_S
from wires.api.resources import (
    ALIVE,
    NODE_LIST,
    ChangedError,
    FailingError,
    KubernetesWriter,
    Metadata,
    Status,
    answer_first,
    unasked,
)
from wires.bmc.client import Identity
from wires.bmc.identity import is_shared, named

MOST_WARNINGS, LONGEST_WARNING = 20, 1000
GRANT_AGAIN_S = 60.0
"""Seconds after which a server that wakes may have a request of the same kind approved once more.

A kubelet that was started again has lost the key of its last request. One that has its certificate is ready soon.
"""
CORDONED = "okd-baremetal/cordoned"
"""The annotation of a node that this program has cordoned, before its cluster went to sleep."""
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
"""A kubelet that has its client certificate renews the lease of its node's name every 10 s."""
POLL_S = 2.0
"""Seconds for which all servers share one poll of the API."""
NEVER = "if the API will never answer, restore or destroy the cluster (docs/how-to/restore-a-control-plane.md)"
OF_WHICH = (
    "if that node is this machine, empty its virtual CD drive and switch it on; if it is another one, or is to be "
    "wiped, `oc delete node {}`; then run `pulumi up` again"
)


class Requests(Model):
    """All certificate requests."""

    items: tuple[Request, ...] = ()


class _NodeInfo(Model):
    system_uuid: str = Field("", alias="systemUUID")
    kubelet: str = Field("", alias="kubeletVersion")


class _NodeStatus(Status):
    node_info: _NodeInfo = Field(_NodeInfo(), alias="nodeInfo")


class _NodeMetadata(Metadata):
    annotations: dict[str, str] = {}


class _NodeSpec(Model):
    unschedulable: bool = False


class Node(Model):
    """A node, by what it reports."""

    metadata: _NodeMetadata
    spec: _NodeSpec = _NodeSpec()
    status: _NodeStatus = _NodeStatus()

    @property
    def problem(self) -> str | None:
        """Why it is not ready. None: it is."""
        ready = self.status.condition("Ready")
        if ready is None:
            return "has not reported its status yet"
        return None if ready.status == "True" else f"is not ready: {ready.message or ready.status}"


class Nodes(Model):
    """All nodes."""

    items: tuple[Node, ...] = ()


class _LeaseSpec(Model):
    renewed: str = Field("", alias="renewTime")


class _Lease(Model):
    metadata: Metadata
    spec: _LeaseSpec = _LeaseSpec()


class _Leases(Model):
    items: tuple[_Lease, ...] = ()


@dataclass
class Joining:
    """The hosts of one role that join the cluster. Threads share it."""

    api: KubernetesWriter
    vip: str
    """Address of the API."""
    hosts: Mapping[str, Collection[str]]
    """All addresses of each host, by name."""
    approves: bool
    """Whether requests are approved here; otherwise the operator does."""
    clock: Clock
    kubelet: Callable[[str], str | None]
    """Returns why the kubelet at an address shows no serving certificate; None if it does."""
    log: Say
    warn: Say
    now: Callable[[], str]
    """Returns the time, in UTC."""
    in_production: bool = False
    """Whether the cluster runs, so that its API has to answer; before, there may be none yet."""
    replaced: Collection[str] = ()
    """The hosts that are other machines now: a node of their name may be that of the former one."""
    together: Collection[str] = ()
    """The hosts that join only once all of them ask to: etcd with two members can lose none (ADR 82)."""
    woken: Mapping[str, Identity] = field(default_factory=dict)
    """The machines of the hosts that slept: until its node reports again, each may need a new client certificate."""
    approved: dict[str, list[Approval]] = field(default_factory=dict)
    """Our approvals so far, by host."""
    _leases: dict[str, str] = field(default_factory=dict)
    """When each node's lease was renewed, as first read: until it is renewed again, what a node says is of old."""
    _alive: set[str] = field(default_factory=set)
    """The woken hosts whose kubelets have renewed their leases."""
    _granted: dict[tuple[str, str], float] = field(default_factory=dict)
    """When a request of a woken host was approved last, by host and signer."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _awaited: set[str] = field(default_factory=set)
    _asked: dict[str, set[str]] = field(default_factory=dict)
    """By host for which a server has asked to become a node: the names of its requests."""
    _former: set[str] = field(default_factory=set)
    """The names of the requests of systems that are gone, which stay in the API for a day."""
    _refused: dict[str, str] = field(default_factory=dict)
    """Why each request was refused at the last poll."""
    _warned: Counter[str] = field(default_factory=Counter)
    """Number of warnings by the host that their request is for; empty for all other requests."""
    _nodes: dict[str, Node] = field(default_factory=dict)
    _silence: OSError | None = None
    """Why the last poll read nothing."""
    _silent_since: float = math.inf
    """The first poll of those in a row that read nothing."""
    _next_poll_at: float = 0.0

    def approve_requests(self, host: str) -> None:
        """Approve what a host that runs from its disk requests, if it requests anything now."""
        with self._lock:
            self._awaited.add(host)
            self._poll_if_due()

    def forget(self, host: str) -> None:
        """Take what a host has asked for so far as of a system that is gone: it is off, and wiped next."""
        with self._lock:
            self._poll()
            self._former |= self._asked.pop(host, set())

    def is_node(self, host: str, machine: Identity) -> bool | None:
        """Return whether a host's node is this machine, by its system UUID; False if there may be no API yet.

        None: the API does not answer, or fails; ask again, for at most `WITHIN_S`.

        Raises:
            ProvisioningError: The API does not say it; or node or machine has no UUID of its own.
        """
        with self._lock:
            self._poll_if_due()
        if self._is_machine(host, machine):
            return True
        if error := self._silence:
            return self._unsaid(host, error)
        uuid = None if host in self.replaced else self._uuid_of(host)
        if uuid is not None and (is_shared(uuid) or is_shared(machine.uuid)):
            what = f"node {host} exists, with UUID {uuid or 'unreported'}, and this machine is {named(machine)}"
            raise may_be_node(host, what, OF_WHICH.format(word(host)))
        return False

    def _unsaid(self, host: str, error: OSError) -> bool | None:
        is_final = isinstance(error, ALIVE)
        if not (is_final or isinstance(error, FailingError) or self.in_production):
            return False
        if not is_final and self.clock.now() - self._silent_since < WITHIN_S:
            return None
        fix = f"{answer_first(error)}, then run `pulumi up` again"
        raise may_be_node(host, unasked(self.vip, error), fix if is_final else f"{fix}; {NEVER}")

    def node(self, host: str) -> Node | None:
        """Return a host's node as last read. None: it has none, or the API has not answered yet."""
        return self._nodes.get(host)

    @property
    def is_answered(self) -> bool:
        """Whether the API answered when it was asked last."""
        return self._silence is None

    def _is_machine(self, host: str, machine: Identity) -> bool:
        uuid = self._uuid_of(host) or ""
        return not is_shared(uuid) and machine.answers_to(uuid)

    def _uuid_of(self, host: str) -> str | None:
        """Return the system UUID of a host's node, which may be empty. None: it has no node."""
        node = self._nodes.get(host)
        return node.status.node_info.system_uuid if node else None

    def _poll_if_due(self) -> None:
        if self.clock.now() >= self._next_poll_at:
            self._poll()
            self._next_poll_at = self.clock.now() + POLL_S

    def missing(self, host: str, address: str) -> str | None:
        """Approve a host's requests, and return what it lacks. None: its node is ready, and its kubelet serves."""
        self.approve_requests(host)
        if self._silence:
            return unasked(self.vip, self._silence)
        node = self._nodes.get(host)
        problem = f"node {host} {self._problem_of(host, node)}" if node and self._problem_of(host, node) else None
        if node is None:
            held = self._held(host)
            problem = f"joins once {' and '.join(held)} asks to, too" if held else f"there is no node {host} yet"
        elif not problem and (unserved := self.kubelet(address)):
            problem = f"the kubelet of {host} has no serving certificate ({unserved})"
        if problem is None:
            with self._lock:
                self._awaited.discard(host)
        return problem

    def _poll(self) -> None:
        # Requests before nodes: a request that was sent before its node joined is not one of a joined node.
        try:
            requests = self.api.get(self.vip, REQUESTS, Requests) or Requests()
            nodes = self.api.get(self.vip, NODE_LIST, Nodes) or Nodes()
            leases = (self.api.get(self.vip, LEASES, _Leases) if self.woken else None) or _Leases()
        except OSError as error:
            self._silence, self._silent_since = error, min(self._silent_since, self.clock.now())
            return
        self._silence, self._silent_since = None, math.inf
        self._nodes = {node.metadata.name: node for node in nodes.items}
        for lease in leases.items:
            host = lease.metadata.name
            if self._leases.setdefault(host, lease.spec.renewed) != lease.spec.renewed:
                self._alive.add(host)
        listed = {request.metadata.name for request in requests.items}
        self._refused = {name: why for name, why in self._refused.items() if name in listed}
        # The newest first: of a kubelet that was started again, it is the one whose key is still known.
        for request in sorted(requests.items, key=lambda it: it.metadata.created, reverse=True):
            if request.spec.signer in (CLIENT, SERVING):
                self._handle(request)

    def _handle(self, request: Request) -> None:
        name = request.metadata.name
        if name in self._former:
            return
        try:
            content = content_of(request)
        except UnreadableError as error:
            if request.is_pending and self.approves:
                self._refuse(request, str(error))
            return
        if (request.spec.signer, request.spec.username) == (CLIENT, BOOTSTRAPPER):
            self._asked.setdefault(content.host, set()).add(name)
        if not request.is_pending:
            self._recall(request, content)
        elif self.approves and self._concerns(request, content):
            self._decide(request, content)

    def _concerns(self, request: Request, content: Content) -> bool:
        """Whether a request is from or for an awaited host, or is the bootstrapper's for none of the hosts.

        Nodes renew their certificates all the time, which others approve. A host that is not awaited yet waits.
        """
        sender = request.spec.username
        if {content.host, sender.removeprefix(NODE)} & self._awaited:
            return True
        return sender == BOOTSTRAPPER and content.host not in self.hosts

    def _decide(self, request: Request, content: Content) -> None:
        host = content.host
        if host not in self._awaited:
            self._refuse(request, f"for node {host}, which is not awaited" if host else "for no node")
            return
        signer = request.spec.signer
        joined = host in self._nodes and not (signer == CLIENT and self._returns(host))
        if why := refusal(request, content, host, self.hosts[host], joined=joined):
            self._refuse(request, why, host)
        elif self._held(host):
            return  # a later poll finds it pending
        elif (
            host not in self.woken or self.clock.now() - self._granted.get((host, signer), -math.inf) > GRANT_AGAIN_S
        ):
            self._approve(request, host)

    def _held(self, host: str) -> list[str]:
        """Return the hosts without which a host does not join: they have to ask, too, and run from their disks."""
        if host not in self.together or host in self._nodes:
            return []
        return sorted(set(self.together) - self._nodes.keys() - (self._asked.keys() & self._awaited))

    def _returns(self, host: str) -> bool:
        """Return whether a node is that of a machine that slept, and has not reported as ready since."""
        machine = self.woken.get(host)
        is_it = machine is not None and self._is_machine(host, machine)
        return is_it and self._problem_of(host, self._nodes[host]) is not None

    def _problem_of(self, host: str, node: Node) -> str | None:
        """Return why a node is not ready. What a node of a host that slept says may be of the time before."""
        if host in self.woken and host not in self._alive:
            return "has not reported since it slept"
        return node.problem

    def _approve(self, request: Request, host: str) -> None:
        """Approve exactly the request that was checked: the API refuses the change if it is another one by now."""
        name, read = request.metadata.name, {"uid": request.metadata.uid, "resourceVersion": request.metadata.version}
        approval = {
            "type": "Approved",
            "status": "True",
            "reason": APPROVED_HERE,
            "message": f"{host} {'wakes' if host in self.woken else 'is being installed'}",
        }
        try:
            self.api.patch(self.vip, APPROVAL.format(name), {"metadata": read, "status": {"conditions": [approval]}})
        except ChangedError:
            return  # as if somebody else has approved it: the next poll reads it again
        except OSError as error:
            self._refuse(request, f"the API refuses its approval: {error}", host)
            return
        self._granted[host, request.spec.signer] = self.clock.now()
        self._record(host, Approval(request=name, signer=request.spec.signer, at=self.now()))
        self.log(f"{host}: approved {name} ({request.spec.signer})")

    def _recall(self, request: Request, content: Content) -> None:
        """Record an approval of an `up` that was interrupted."""
        if (condition := request.approved_here) and content.host in self._awaited:
            name = request.metadata.name
            self._record(content.host, Approval(request=name, signer=request.spec.signer, at=condition.at))

    def _record(self, host: str, approval: Approval) -> None:
        approvals = self.approved.setdefault(host, [])
        if approval.request not in (earlier.request for earlier in approvals):
            approvals.append(approval)

    def _refuse(self, request: Request, why: str, host: str = "") -> None:
        """Warn of a request that is not approved, once, and for each host up to `MOST_WARNINGS` times.

        Whoever may send requests sends as many, and as long ones, as he likes.
        """
        name = request.metadata.name
        if self._refused.get(name) == why:
            return
        self._refused[name] = why
        self._warned[host] += 1
        if self._warned[host] <= MOST_WARNINGS:
            self.warn(short(f"{name} of {request.spec.username} is not approved: {why}", LONGEST_WARNING))
        elif self._warned[host] == MOST_WARNINGS + 1:
            whose = f"for {host}" if host else "for none of the hosts"
            self.warn(f"further requests {whose} that are not approved are not mentioned: `oc get csr` lists them")


def may_be_node(host: str, why: str, fix: str) -> ProvisioningError:
    """Return the error of a host that is not wiped, since nobody says that it is no node."""
    return ProvisioningError(f"it may be a node, so it was not wiped: {why}", where=host, fix=fix)
