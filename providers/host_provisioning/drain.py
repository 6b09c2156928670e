"""Drains a node by the cluster's API: cordons it, and evicts its pods, as long as their budgets allow that.

What goes and what stays is as with OKD, which drains each node that it updates: pods without a controller and those
with an emptyDir go, those of DaemonSets and mirror pods stay (`syncNode` in pkg/controller/drain/drain_controller.go
of machine-config-operator 04cb1e174).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from pydantic import Field

from base.clock import Clock, Wait
from base.progress import Report, with_time_left
from base.shown import few
from base.spec import Model
from providers.joining.nodes import Node
from wires.api.resources import (
    NODE_LIST,
    POD,
    PODS_OF,
    ChangedError,
    HeldError,
    KubernetesDrainer,
    Metadata,
    RefusedError,
    unasked,
)

DRAINING = "draining"
POLL_S = 5.0
"""The delay after which OKD asks again to evict a pod that its budget holds (EvictErrorRetryDelay, same source)."""
LOST_S = 300.0
"""Seconds after which Kubernetes itself gives up the pods of a node that is not ready.

Until then, they may run: a kubelet that is only late, or was started again, ends none of them. Source:
plugin/pkg/admission/defaulttolerationseconds of kubernetes 01aa0f3f6.
"""
MIRROR = "kubernetes.io/config.mirror"
"""Annotation of a pod that the API only shows: its kubelet runs it from a file."""


class _Owner(Model):
    kind: str
    controller: bool = False


class _PodMetadata(Metadata):
    namespace: str
    uid: str
    annotations: dict[str, str] = {}
    owners: tuple[_Owner, ...] = Field((), alias="ownerReferences")
    ends_at: str = Field("", alias="deletionTimestamp")


class _PodStatus(Model):
    phase: str = ""


class Pod(Model):
    """A pod, as far as a drain needs to know it."""

    metadata: _PodMetadata
    status: _PodStatus = _PodStatus()

    @property
    def stays(self) -> bool:
        """Whether it belongs to this node, or has ended."""
        of_node = any(owner.controller and owner.kind == "DaemonSet" for owner in self.metadata.owners)
        return of_node or MIRROR in self.metadata.annotations or self.status.phase in ("Succeeded", "Failed")

    @property
    def name(self) -> str:
        """Its namespace and name."""
        return f"{self.metadata.namespace}/{self.metadata.name}"


class _Pods(Model):
    items: tuple[Pod, ...] = ()


@dataclass(frozen=True)
class Drain:
    """The drain of one node."""

    name: str
    vip: str
    """Address of the API."""
    api: KubernetesDrainer
    clock: Clock
    report: Report
    _late: set[str] = field(default_factory=set)
    """UIDs of the pods about whose eviction the API has not answered: they come last."""

    def node(self) -> Node | None:
        """Return the node. None: it does not exist.

        Raises:
            OSError: The API cannot be asked.
        """
        return self.api.get(self.vip, self._path, Node)

    def cordon(self, *, on: bool) -> None:
        """Have the cluster place no new pod on the node, or place some again.

        Raises:
            OSError: The API cannot be asked, or refuses.
        """
        self.api.patch(self.vip, self._path, {"spec": {"unschedulable": on}})

    def run(self, deadline_s: float) -> str | None:
        """Keep it cordoned, and evict its pods until none is left; or it is not ready for `LOST_S`, so none can end.

        Returns:
            None; or, once the deadline has passed, which pods are left and what holds them.
        """
        lost_since: float | None = None

        def left() -> str | None:
            nonlocal lost_since
            since, lost_since = lost_since, None
            try:
                node = self.node()
                if node and not node.spec.unschedulable:  # also if OKD, which has just updated it, has it take pods
                    self.cordon(on=True)
                if node and node.problem:
                    lost_since = self.clock.now() if since is None else since
                    return f"node {self.name} {node.problem}" if self.clock.now() - lost_since < LOST_S else None
                return self._left() if node else None
            except OSError as error:
                return unasked(self.vip, error)

        return Wait(self.clock, deadline_s, poll_s=POLL_S).until(left, with_time_left(self.report, DRAINING))

    @property
    def _path(self) -> str:
        return f"{NODE_LIST}/{self.name}"

    def _left(self) -> str | None:
        """Evict what is left, and return it. None: nothing is.

        Raises:
            OSError: The API cannot be asked.
        """
        listed = self.api.get(self.vip, PODS_OF.format(self.name), _Pods) or _Pods()
        pods = [*self._evicted(listed.items)]
        return f"{len(pods)} left: {', '.join(few(pods))}" if pods else None

    def _evicted(self, pods: tuple[Pod, ...]) -> Iterator[str]:
        """Yield each pod that is left, with what holds it.

        Raises:
            OSError: The API cannot be asked.
        """
        for pod in sorted(pods, key=lambda pod: pod.metadata.uid in self._late):
            if pod.stays:
                continue
            try:
                if not pod.metadata.ends_at:
                    path = POD.format(pod.metadata.namespace, pod.metadata.name)
                    self.api.evict(self.vip, path, pod.metadata.uid)
                yield f"{pod.name} (ends)"
            except (HeldError, RefusedError) as error:
                yield f"{pod.name} ({error})"
            except ChangedError:
                yield f"{pod.name} (is another pod now)"
            except TimeoutError as error:  # a web hook that hangs, by default for as long as we wait
                self._late.add(pod.metadata.uid)
                raise TimeoutError(f"eviction of {pod.name}: {error}") from None
