"""What the API shows of nodes, and whether a machine is one of them."""

import math
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, field

from pydantic import Field

from base.clock import Clock
from base.errors import ProvisioningError, word
from base.spec import Model
from providers.joining.certificates import REQUESTS, Requests
from providers.patience import WITHIN_S
from wires.api.resources import (
    ALIVE,
    NODE_LIST,
    FailingError,
    KubernetesReader,
    Metadata,
    Status,
    answer_first,
    unasked,
)
from wires.bmc.client import Identity
from wires.bmc.identity import is_shared, named

CORDONED = "okd-baremetal/cordoned"
"""The annotation of a node that this program has cordoned, before its cluster went to sleep."""
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
"""A kubelet that has its client certificate renews the lease of its node's name every 10 s."""
NEVER = "if the API will never answer, restore or destroy the cluster (docs/how-to/restore-a-control-plane.md)"
OF_WHICH = (
    "if that node is this machine, empty its virtual CD drive and switch it on; if it is another one, or is to be "
    "wiped, `oc delete node {}`; then run `pulumi up` again"
)


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

    @property
    def uuid(self) -> str:
        """The system UUID of its machine; empty if its kubelet reports none."""
        return self.status.node_info.system_uuid

    def runs_on(self, machine: Identity) -> bool:
        """Return whether it is a machine, by a UUID that no other one has."""
        return not is_shared(self.uuid) and machine.answers_to(self.uuid)

    def untold(self, machine: Identity) -> str | None:
        """Return why it does not tell whether it is a machine. None: both have a UUID that no other one has."""
        if is_shared(self.uuid) or is_shared(machine.uuid):
            own = self.uuid or "unreported"
            return f"node {self.metadata.name} exists, with UUID {own}, and this machine is {named(machine)}"
        return None


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
class SeenNodes:
    """The nodes of a cluster, as the API showed them last."""

    api: KubernetesReader
    vip: str
    """Address of the API."""
    clock: Clock
    in_production: bool = False
    """Whether the cluster runs, so that its API has to answer; before, there may be none yet."""
    replaced: Collection[str] = ()
    """The hosts that are other machines now: a node of their name may be that of the former one."""
    woken: Mapping[str, Identity] = field(default_factory=dict)
    """The machines of the hosts that slept: until its node reports again, each may need a new client certificate."""
    silence: OSError | None = None
    """Why nothing was read when the API was asked last."""
    _silent_since: float = math.inf
    """The first time of those in a row at which an API that is there was not read; see `_is_there`."""
    _nodes: dict[str, Node] = field(default_factory=dict)
    _leases: dict[str, str] = field(default_factory=dict)
    """When each node's lease was renewed, as first read: until it is renewed again, what a node says is of old."""
    _alive: set[str] = field(default_factory=set)
    """The woken hosts whose kubelets have renewed their leases."""

    def read(self) -> Requests | None:
        """Read the nodes again, and return the certificate requests. None: the API shows neither; see `silence`."""
        # Requests before nodes: a request that was sent before its node joined is not one of a joined node.
        try:
            requests = self.api.get(self.vip, REQUESTS, Requests) or Requests()
            nodes = self.api.get(self.vip, NODE_LIST, Nodes) or Nodes()
            leases = (self.api.get(self.vip, LEASES, _Leases) if self.woken else None) or _Leases()
        except OSError as error:
            self.silence = error
            self._silent_since = min(self._silent_since, self.clock.now()) if self._is_there(error) else math.inf
            return None
        self.silence, self._silent_since = None, math.inf
        self._nodes = {node.metadata.name: node for node in nodes.items}
        for lease in leases.items:
            host = lease.metadata.name
            if self._leases.setdefault(host, lease.spec.renewed) != lease.spec.renewed:
                self._alive.add(host)
        return requests

    @property
    def hosts(self) -> Set[str]:
        """The hosts that have a node."""
        return self._nodes.keys()

    def of(self, host: str) -> Node | None:
        """Return a host's node. None: it has none, or the API has not answered yet."""
        return self._nodes.get(host)

    def problem_of(self, node: Node) -> str | None:
        """Return why a node is not ready. What a node of a host that slept says may be of the time before."""
        host = node.metadata.name
        if host in self.woken and host not in self._alive:
            return "has not reported since it slept"
        return node.problem

    def returns(self, host: str) -> bool:
        """Return whether a node is that of a machine that slept, and has not reported as ready since."""
        node, machine = self.of(host), self.woken.get(host)
        if node is None or machine is None or not node.runs_on(machine):
            return False
        return self.problem_of(node) is not None

    def is_node(self, host: str, machine: Identity) -> bool | None:
        """Return whether a host's node is this machine, by its system UUID; False if there may be no API yet.

        None: the API does not answer, or fails; ask again, for at most `WITHIN_S`.

        Raises:
            ProvisioningError: The API does not say it; or node or machine has no UUID of its own.
        """
        node = self.of(host)
        if node and node.runs_on(machine):
            return True
        if error := self.silence:
            return self._unsaid(host, error)
        if node and host not in self.replaced and (what := node.untold(machine)):
            raise may_be_node(host, what, OF_WHICH.format(word(host)))
        return False

    def _unsaid(self, host: str, error: OSError) -> bool | None:
        is_final = isinstance(error, ALIVE)
        if not (is_final or self._is_there(error)):
            return False
        if not is_final and self.clock.now() - self._silent_since < WITHIN_S:
            return None
        fix = f"{answer_first(error)}, then run `pulumi up` again"
        raise may_be_node(host, unasked(self.vip, error), fix if is_final else f"{fix}; {NEVER}")

    def _is_there(self, error: OSError) -> bool:
        """Whether there is an API, though it does not answer; before production, only its own failure shows that."""
        return isinstance(error, FailingError) or self.in_production


def may_be_node(host: str, why: str, fix: str) -> ProvisioningError:
    """Return the error of a host that is not wiped, since nobody says that it is no node."""
    return ProvisioningError(f"it may be a node, so it was not wiped: {why}", where=host, fix=fix)
