"""Makes nodes of installed servers: approves their certificate requests, and waits until their nodes are ready.

On platform none nobody else approves them: the bootstrap approves every request, but only until its work is complete.
The API is polled only while a server is awaited, and has everything that the next run needs to know.
"""

import math
import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from base.progress import Say
from base.shown import short
from providers.joining.certificates import (
    APPROVAL,
    APPROVED_HERE,
    BOOTSTRAPPER,
    CLIENT,
    NODE,
    SERVING,
    Approval,
    Content,
    Request,
    UnreadableError,
    content_of,
    refusal,
)
from providers.joining.nodes import SeenNodes
from wires.api.resources import ChangedError, KubernetesWriter, unasked
from wires.bmc.client import Identity

MOST_WARNINGS, LONGEST_WARNING = 20, 1000
GRANT_AGAIN_S = 60.0
"""Seconds after which a server that wakes may have a request of the same kind approved once more.

A kubelet that was started again has lost the key of its last request. One that has its certificate is ready soon.
"""
POLL_S = 2.0
"""Seconds for which all servers share one poll of the API."""


@dataclass
class Joining:
    """The hosts of one role that join the cluster. Threads share it."""

    api: KubernetesWriter
    nodes: SeenNodes
    hosts: Mapping[str, Collection[str]]
    """All addresses of each host, by name."""
    approves: bool
    """Whether requests are approved here; otherwise the operator does."""
    kubelet: Callable[[str], str | None]
    """Returns why the kubelet at an address shows no serving certificate; None if it does."""
    log: Say
    warn: Say
    now: Callable[[], str]
    """Returns the time, in UTC."""
    together: Collection[str] = ()
    """The hosts that join only once all of them ask to: etcd with two members can lose none (ADR 82)."""
    approved: dict[str, list[Approval]] = field(default_factory=dict)
    """Our approvals so far, by host."""
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

    def _poll_if_due(self) -> None:
        if self.nodes.clock.now() >= self._next_poll_at:
            self._poll()
            self._next_poll_at = self.nodes.clock.now() + POLL_S

    def is_node(self, host: str, machine: Identity) -> bool | None:
        """Return what `SeenNodes.is_node` does, by what the API shows now."""
        with self._lock:
            self._poll_if_due()
        return self.nodes.is_node(host, machine)

    def missing(self, host: str, address: str) -> str | None:
        """Approve a host's requests, and return what it lacks. None: its node is ready, and its kubelet serves."""
        self.approve_requests(host)
        if error := self.nodes.silence:
            return unasked(self.nodes.vip, error)
        node = self.nodes.of(host)
        if node is None:
            held = self._held(host)
            return f"joins once {' and '.join(held)} asks to, too" if held else f"there is no node {host} yet"
        if problem := self.nodes.problem_of(node):
            return f"node {host} {problem}"
        if unserved := self.kubelet(address):
            return f"the kubelet of {host} has no serving certificate ({unserved})"
        with self._lock:
            self._awaited.discard(host)
        return None

    def _poll(self) -> None:
        if (requests := self.nodes.read()) is None:
            return
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
        joined = host in self.nodes.hosts and not (signer == CLIENT and self.nodes.returns(host))
        if why := refusal(request, content, host, self.hosts[host], joined=joined):
            self._refuse(request, why, host)
        elif self._held(host):
            return  # a later poll finds it pending
        elif host not in self.nodes.woken or self._since_granted(host, signer) > GRANT_AGAIN_S:
            self._approve(request, host)

    def _since_granted(self, host: str, signer: str) -> float:
        """Return the seconds since a request of a host for a signer was approved."""
        return self.nodes.clock.now() - self._granted.get((host, signer), -math.inf)

    def _held(self, host: str) -> list[str]:
        """Return the hosts without which a host does not join: they have to ask, too, and run from their disks."""
        if host not in self.together or host in self.nodes.hosts:
            return []
        return sorted(set(self.together) - self.nodes.hosts - (self._asked.keys() & self._awaited))

    def _approve(self, request: Request, host: str) -> None:
        """Approve exactly the request that was checked: the API refuses the change if it is another one by now."""
        name, read = request.metadata.name, {"uid": request.metadata.uid, "resourceVersion": request.metadata.version}
        condition = {
            "type": "Approved",
            "status": "True",
            "reason": APPROVED_HERE,
            "message": f"{host} {'wakes' if host in self.nodes.woken else 'is being installed'}",
        }
        try:
            change = {"metadata": read, "status": {"conditions": [condition]}}
            self.api.patch(self.nodes.vip, APPROVAL.format(name), change)
        except ChangedError:
            return  # as if somebody else has approved it: the next poll reads it again
        except OSError as error:
            self._refuse(request, f"the API refuses its approval: {error}", host)
            return
        self._granted[host, request.spec.signer] = self.nodes.clock.now()
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
