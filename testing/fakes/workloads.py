"""A cluster with pods, as its API tells of it: scheduler, ReplicaSets, kubelets and budgets, in part.

Sources: pkg/registry/core/pod/storage/eviction.go of kubernetes 01aa0f3f6 (what an eviction answers, and when it
needs no budget); docs/concepts/scheduling-eviction/api-eviction and disruptions of kubernetes/website (a node that is
not ready ends no pod; its pods count as unhealthy).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from testing.certificate_requests import node
from wires.api.resources import NODE_LIST, ChangedError, HeldError, R

ENDS_S = 30.0
"""The grace period of a pod by default (core/v1, PodSpec.terminationGracePeriodSeconds)."""


@dataclass
class Pod:
    """A pod; with `app`, a ReplicaSet makes another one for it elsewhere."""

    name: str
    node: str
    app: str = ""
    namespace: str = "shop"
    owner: str = "ReplicaSet"
    annotations: dict[str, str] = field(default_factory=dict)
    phase: str = "Running"
    uid: str = ""
    ends_at: float | None = None
    """Time of the clock at which its kubelet has ended it; None: it is not to end."""

    def shown(self) -> dict[str, Any]:
        """Return it as the API shows it."""
        metadata: dict[str, Any] = {"name": self.name, "namespace": self.namespace, "uid": self.uid or self.name}
        metadata["annotations"] = self.annotations
        if self.owner:
            metadata["ownerReferences"] = [{"kind": self.owner, "controller": True, "name": self.app}]
        if self.ends_at is not None:
            metadata["deletionTimestamp"] = "2026-11-27T12:00:00Z"
        return {"metadata": metadata, "status": {"phase": self.phase}}


@dataclass
class Workloads:
    """Implements `wires.api.resources.KubernetesDrainer` for nodes and their pods."""

    now: Callable[[], float]
    pods: list[Pod] = field(default_factory=list)
    nodes: dict[str, bool] = field(default_factory=dict)
    """Whether each node is ready."""
    cordoned: set[str] = field(default_factory=set)
    budgets: dict[str, int] = field(default_factory=dict)
    """By app: how many of its pods have to be healthy."""
    several_budgets: bool = False
    """Whether each pod has two budgets: it stays."""
    hooked: dict[str, OSError] = field(default_factory=dict)
    """By the name of a pod: the answer while a web hook that is asked about its eviction does not answer."""
    ends_s: float = ENDS_S
    down: OSError | None = None
    """The error of every request."""
    calls: list[str] = field(default_factory=list)
    """What was changed, in order."""

    def get(self, _address: str, path: str, model: type[R]) -> R | None:
        """Return a node, or the pods of one. As with a real API, those of all nodes if the query names none."""
        self._reached()
        if path.startswith(f"{NODE_LIST}/"):
            name = path.removeprefix(f"{NODE_LIST}/")
            return model.model_validate(self._node(name)) if name in self.nodes else None
        asked = urlsplit(path)
        assert asked.path == "/api/v1/pods"
        selected = parse_qs(asked.query).get("fieldSelector")
        shown = [pod.shown() for pod in self.pods if selected in (None, [f"spec.nodeName={pod.node}"])]
        return model.model_validate({"items": shown})

    def patch(self, _address: str, path: str, change: dict[str, Any]) -> None:
        """Cordon a node, or have it take pods again."""
        self._reached()
        name, is_on = path.removeprefix(f"{NODE_LIST}/"), change["spec"]["unschedulable"]
        (self.cordoned.add if is_on else self.cordoned.discard)(name)
        self.calls.append(f"{'cordon' if is_on else 'uncordon'} {name}")

    def delete(self, _address: str, path: str) -> None:
        """Delete a node; the garbage collector then deletes its pods."""
        self._reached()
        name = path.removeprefix(f"{NODE_LIST}/")
        self.nodes.pop(name, None)
        self.pods = [pod for pod in self.pods if pod.node != name]
        self.calls.append(f"delete {name}")

    def create(self, address: str, path: str, content: dict[str, Any]) -> None:
        """See `KubernetesKeeper`."""
        raise NotImplementedError

    def evict(self, _address: str, pod: str, uid: str) -> None:
        """Have a pod end, and its ReplicaSet make another one."""
        self._reached()
        found = next((own for own in self.pods if pod.endswith(f"/{own.namespace}/pods/{own.name}")), None)
        if found is None:
            return
        if uid != (found.uid or found.name):
            raise ChangedError("status 409")
        if found.name in self.hooked:
            raise self.hooked[found.name]
        needs_none = found.phase != "Running" or found.ends_at is not None
        if not needs_none and self.several_budgets:
            raise HeldError("This pod has more than one PodDisruptionBudget, which the eviction subresource does not")
        healthy, wanted = len(self._healthy(found.app)), self.budgets.get(found.app, 0)
        if not needs_none and found.app in self.budgets and healthy <= wanted:
            what = f"needs {wanted} healthy pods and has {healthy} currently"
            raise HeldError(f"The disruption budget {found.app} {what}")
        self.calls.append(f"evict {found.name}")
        if found.ends_at is None:
            found.ends_at = self.now() + self.ends_s
            self._replace(found)

    def _reached(self) -> None:
        if self.down:
            raise self.down
        ended = [p for p in self.pods if p.ends_at is not None and p.ends_at <= self.now() and self.nodes.get(p.node)]
        self.pods = [pod for pod in self.pods if pod not in ended]
        for pod in self.pods:
            if pod.phase == "Pending":
                self._place(pod)

    def _node(self, name: str) -> dict[str, Any]:
        return {**node(name, ready=str(self.nodes[name])), "spec": {"unschedulable": name in self.cordoned}}

    def _healthy(self, app: str) -> list[Pod]:
        return [
            p for p in self.pods if p.app == app and p.ends_at is None and p.phase == "Running" and self.nodes[p.node]
        ]

    def _replace(self, pod: Pod) -> None:
        if pod.app and pod.owner == "ReplicaSet":
            self.pods.append(Pod(f"{pod.name}-again", "", pod.app, pod.namespace, phase="Pending"))

    def _place(self, pod: Pod) -> None:
        """It runs on another node at the next request, if one takes pods."""
        free = sorted(name for name, ready in self.nodes.items() if ready and name not in self.cordoned)
        if free:
            pod.node, pod.phase = free[0], "Running"
