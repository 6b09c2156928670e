"""A stand-in for the API of an OKD whose cluster-version operator applies releases, by a fake clock.

Its traits are of openshift/cluster-version-operator 6e719331f (files of pkg/cvo) and openshift/api 2a3d73913:

- A merge of the spec gives it another generation, and the status is that of the former one until the operator has
  seen it: `status.observedGeneration` (`sync_worker.go`, Update; `types_cluster_version.go`).
- `architecture` beside `image` is refused by the schema (`types_cluster_version.go`, Update).
- While a release is loaded, `ReleaseAccepted` is Unknown; one that is refused makes it False, and is tried again
  (`status.go`, setReleaseAcceptedCondition). A release of a lower version, one more than a minor release ahead, and a
  minor one while the cluster is not Upgradeable are refused, unless forced (pkg/payload/precondition/clusterversion).
- An accepted release is the first entry of the history, Partial, and Completed once every part of it is applied; the
  entry before gets no other state (`status.go`, mergeOperatorHistory).
- `Progressing` counts the parts; `Failing` is True for an operator that is Degraded only after 40 minutes
  (`status.go`, updateClusterVersionStatus and convertErrorToProgressing).
- Operators report their version one after the other, as `operator`; earlier, what they are themselves, as
  `raw-internal`; nodes of compute restart after the release is Completed, while
  their pool is not Updated: the machine-config operator itself awaits only the control plane's.
- The API does not answer for moments, while the servers that have it restart.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from base.clock import Clock
from cluster.values.semver import Version
from testing.fakes.etcd import told_of_members
from testing.fakes.object_store import merged
from wires.api.resources import (
    ETCD,
    ETCD_MEMBERS,
    NODE_LIST,
    OPERATORS,
    VERSION,
    ChangedError,
    R,
    RefusedError,
)
from wires.api.writes import release_of, to_api

API_NAME = "api.okd.lab.test"
POOLS = "/apis/machineconfiguration.openshift.io/v1/machineconfigpools"
PARTS, LOAD_S, PART_S, WORKERS_S = 959, 60.0, 2.0, 600.0
NAMES = ("etcd", "ingress", "machine-config")
DEGRADED_S = 40 * 60.0
Object = dict[str, Any]


def image_of(version: str) -> str:
    """Return an image for a version."""
    return f"quay.io/okd/scos-release@sha256:{version.encode().hex():0>64}"


def conditions(**statuses: str) -> list[Object]:
    """Return conditions by type."""
    return [{"type": kind, "status": status, "message": f"{kind}'s message"} for kind, status in statuses.items()]


@dataclass
class FakeOkd:
    """Implements `KubernetesWriter`."""

    clock: Clock
    version: str = "4.21.2"
    upgradeable: bool = True
    members: dict[int, str] = field(default_factory=dict)
    """The addresses of etcd's members, by id."""
    degraded: dict[str, float] = field(default_factory=dict)
    """The operators that are Degraded, and since when."""
    unready: set[str] = field(default_factory=set)
    """The nodes that are not Ready."""
    paused: set[str] = field(default_factory=set)
    """The machine config pools that a person has paused: their nodes get nothing new (their `spec.paused`)."""
    down: frozenset[int] = frozenset()
    """Numbers of the requests that get no answer, from 1."""
    refuses: str = ""
    """Why the release is not accepted, while it is not empty: an image that cannot be fetched, or is not signed."""
    others: int = 0
    """How often another client changes the ClusterVersion right before a change."""
    writes: list[str] = field(default_factory=list)
    """In the words of the wire."""
    requests: int = 0
    _told_at: float = 0.0
    _generation: int = 1
    _resource: int = 1
    _desired: Object | None = None
    _history: list[Object] = field(default_factory=list)
    _done: int = PARTS
    _since: float = 0.0
    _completed_at: float = float("-inf")
    _observed: int = 1

    def __post_init__(self) -> None:
        self._history = [{"state": "Completed", "version": self.version, "image": image_of(self.version)}]

    def tell(self, **desired: Any) -> None:
        """Set the desired update, as a person does."""
        self._desired = dict(desired)
        self._generation += 1
        self._resource += 1
        self._told_at = self.clock.now()

    def get(self, _address: str, path: str, model: type[R]) -> R | None:
        """Return one resource, or all of a collection."""
        self._answer()
        answers: dict[str, Object] = {
            VERSION: self._version(),
            OPERATORS: {"items": self._operators()},
            NODE_LIST: {"items": self._nodes()},
            POOLS: {"items": self._pools()},
            ETCD: {"status": {"conditions": conditions(EtcdMembersDegraded="False")}},
            ETCD_MEMBERS: told_of_members(self.members),
        }
        found = answers.get(path)
        return None if found is None else model.model_validate(copy.deepcopy(found))

    def patch(self, _address: str, path: str, change: Object) -> None:
        """Merge a change into the ClusterVersion."""
        self._answer()
        assert path == VERSION
        self.writes.append(str(to_api(API_NAME, path, release=release_of(change))))
        if self.others:
            self.others -= 1
            self._resource += 1
        if change["metadata"]["resourceVersion"] != str(self._resource):
            raise ChangedError("status 409")
        desired = merged(self._desired or {}, change["spec"]["desiredUpdate"])
        if desired.get("architecture") and desired.get("image"):
            raise RefusedError("status 422: cannot set both Architecture and Image")
        self.tell(**desired)

    @property
    def desired(self) -> Object | None:
        """The desired update."""
        return self._desired

    @property
    def running(self) -> str:
        """The version that is completely applied."""
        self._work()
        return next(str(entry["version"]) for entry in self._history if entry["state"] == "Completed")

    def _answer(self) -> None:
        self.requests += 1
        if self.requests in self.down:
            raise ConnectionRefusedError("connection refused")
        self._work()

    def _work(self) -> None:
        """Do what the operator has done by now."""
        now = self.clock.now()
        if self._observed < self._generation and now >= self._told_at + LOAD_S and not self._refusal():
            self._observed = self._generation
            assert self._desired
            self._resource += 1
            if self._desired["image"] != self._history[0]["image"]:
                entry = {name: self._desired[name] for name in ("version", "image")}
                self._history.insert(0, {"state": "Partial", **entry})
                self._done, self._since = 0, now
        if self._history[0]["state"] == "Partial" and not self.degraded:
            self._done = min(PARTS, int((now - self._since) / PART_S))
            if self._done == PARTS:
                self._history[0]["state"] = "Completed"
                self._completed_at = now

    def _refusal(self) -> str:
        if self._observed == self._generation or self.refuses:
            return self.refuses if self._observed < self._generation else ""
        assert self._desired
        now, then = (Version.of(str(each["version"])) for each in (self._history[0], self._desired))
        assert now
        assert then
        if then < now:
            return f"Precondition ClusterVersionRollback failed: {self._desired['version']} is less than the current"
        if then.minor > now.minor + 1:
            return "Precondition ClusterVersionGiantHop failed: more than one minor version beyond"
        return "" if self.upgradeable or then.minor == now.minor else "Precondition ClusterVersionUpgradeable failed"

    def _version(self) -> Object:
        newest, now = self._history[0], self.clock.now()
        works = newest["state"] == "Partial"
        slow = [name for name, since in self.degraded.items() if now - since >= DEGRADED_S]
        done = f"{self._done} of {PARTS} done ({100 * self._done // PARTS}% complete)"
        says = f"Working towards {newest['version']}: {done}"
        reported = {
            "Available": ("True", f"Done applying {self.version}"),
            "Failing": (
                "True" if slow else "False",
                f"Cluster operator {', '.join(slow)} is degraded" if slow else "",
            ),
            "Progressing": ("True", says) if works else ("False", f"Cluster version is {newest['version']}"),
            "RetrievedUpdates": ("False", "Unable to retrieve available updates"),
        }
        loading = self._observed < self._generation
        if loading and (refusal := self._refusal()) and now >= self._told_at + LOAD_S:
            reported["ReleaseAccepted"] = "False", refusal
            observed = self._generation
        else:
            reported["ReleaseAccepted"] = "Unknown" if loading else "True", ""
            observed = self._observed
        if not self.upgradeable:
            reported["Upgradeable"] = "False", "Kubernetes 1.34 removes APIs; acknowledge that first"
        listed = [{"type": kind, "status": status, "message": text} for kind, (status, text) in reported.items()]
        return {
            "metadata": {"resourceVersion": str(self._resource), "generation": self._generation},
            "spec": {"desiredUpdate": self._desired} if self._desired else {},
            "status": {
                "desired": {name: newest[name] for name in ("version", "image")},
                "history": self._history,
                "observedGeneration": observed,
                "conditions": listed,
            },
        }

    def _operators(self) -> list[Object]:
        there = len(NAMES) * self._done // PARTS
        return [
            {
                "metadata": {"name": name},
                "status": {
                    "conditions": conditions(Available="True", Degraded=str(name in self.degraded)),
                    "versions": [
                        {"name": "raw-internal", "version": self._history[0]["version"]},
                        {"name": "operator", "version": self._history[0 if number < there else -1]["version"]},
                    ],
                },
            }
            for number, name in enumerate(NAMES)
        ]

    def _nodes(self) -> list[Object]:
        names: Sequence[str] = ("okd-master-0", "okd-worker-0")
        return [
            {"metadata": {"name": name}, "status": {"conditions": conditions(Ready=str(name not in self.unready))}}
            for name in names
        ]

    def _pools(self) -> list[Object]:
        restarts = self.clock.now() < self._completed_at + WORKERS_S
        return [
            {
                "metadata": {"name": name},
                "spec": {"paused": name in self.paused},
                "status": {"conditions": conditions(Updated=str(name == "master" or not restarts), Degraded="False")},
            }
            for name in ("master", "worker")
        ]
