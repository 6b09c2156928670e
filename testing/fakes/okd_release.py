"""A stand-in for the API of an OKD whose cluster-version operator applies releases, by a fake clock.

Its traits are of openshift/cluster-version-operator 6e719331f (files of pkg/cvo) and openshift/api 2a3d73913. That
operator did the same on a real kube-apiserver, with stand-ins of kubelet and operators (2026-11):

- A merge of the spec gives it another generation, and the status is that of the former one until the operator has
  begun with the release (`status.observedGeneration`; `sync_worker.go`, Update and apply). Of what it refuses, it
  tells that generation only with its next pass over the release that it has, 2 to 4 minutes later (pkg/start,
  resyncPeriod).
- `architecture` beside `image` is refused by the schema (`types_cluster_version.go`, Update). A version without an
  image has to be one of `availableUpdates` or of the history, else it is `Invalid` (lib/validation); only one of
  `availableUpdates` is begun (`updatepayload.go`, findUpdateFromConfigVersion).
- A conditional update is told as one, and taken like any other (`availableupdates.go`, evaluateConditionalUpdate;
  pkg/payload/precondition/clusterversion, recommendedupdate.go).
- While a release is loaded, nothing is reported: the same worker loads and reports (`cvo.go`, sync). One that is
  refused makes `ReleaseAccepted` False, and is tried again with each pass (`status.go`, setReleaseAcceptedCondition).
  Refused are a version that is not the image's, a lower one that is not the release before of the same minor one, one
  more than a minor release or a major one ahead (from 4.22 on but 5.0), and a minor one while the cluster is not
  Upgradeable; unless forced (pkg/payload/precondition/clusterversion).
- An accepted release is the first entry of the history, Partial, and Completed once every part of it is applied; the
  entry before gets no other state (`status.go`, mergeOperatorHistory).
- `Progressing` counts the parts. `Failing` is True for an operator that is not Available, and for one that is
  Degraded only after 40 minutes of an upgrade; when there is none, for both from the next pass on (`status.go`,
  updateClusterVersionStatus and convertErrorToProgressing).
- Operators report their version one after the other, as `operator`; earlier, what they are themselves, as
  `raw-internal`; nodes of compute restart after the release is Completed, while their pool is not Updated: the
  machine-config operator itself awaits only the control plane's.
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
from testing.fakes.okd_kinds import SINCE, history_entry
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
CLUSTER_ID = "6b1f0d8e-5a1c-4f43-9d0c-6b7a0f1e2d3c"
POOLS = "/apis/machineconfiguration.openshift.io/v1/machineconfigpools"
PARTS, LOAD_S, PART_S, WORKERS_S = 959, 60.0, 2.0, 600.0
PASS_S = 180.0
"""Between two passes over a release that is applied."""
NAMES = ("etcd", "ingress", "machine-config")
DEGRADED_S = 40 * 60.0
NOT_UPGRADEABLE = "Kubernetes 1.34 removes APIs; acknowledge that first"
Object = dict[str, Any]


def image_of(version: str) -> str:
    """Return an image for a version."""
    return f"quay.io/okd/scos-release@sha256:{version.encode().hex():0>64}"


def version_in(image: str) -> str:
    """Return the version that the release of an image is of."""
    return bytes.fromhex(image.rpartition(":")[2]).lstrip(b"\0").decode()


def conditions(**statuses: str) -> list[Object]:
    """Return conditions by type."""
    return [_condition(kind, status, f"{kind}'s message") for kind, status in statuses.items()]


def _condition(kind: str, status: str, message: str) -> Object:
    return {"type": kind, "status": status, "message": message, "lastTransitionTime": SINCE}


def _release(version: str) -> Object:
    return {"version": version, "image": image_of(version)}


def _conditional(version: str, says: tuple[str, str, str] | None) -> Object:
    status, reason, message = says or ("", "Unnamed", "")
    rules = [{"type": "Always"}]
    risk = {"name": reason, "message": message, "url": "https://kcs.lab.test/1", "matchingRules": rules}
    recommended = {**_condition("Recommended", status, message), "reason": reason}
    return {"release": _release(version), "risks": [risk], "conditions": [recommended] if says else []}


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
    unavailable: dict[str, float] = field(default_factory=dict)
    """The operators that are not Available, and since when."""
    unready: set[str] = field(default_factory=set)
    """The nodes that are not Ready."""
    paused: set[str] = field(default_factory=set)
    """The machine config pools that a person has paused: their nodes get nothing new (their `spec.paused`)."""
    down: frozenset[int] = frozenset()
    """Numbers of the requests that get no answer, from 1."""
    available: tuple[str, ...] = ()
    """The versions of `availableUpdates`."""
    conditional: dict[str, tuple[str, str, str] | None] = field(default_factory=dict)
    """Status, reason and message of `Recommended`, by the version of a conditional update; None until evaluated."""
    refuses: str = ""
    """Why the release is not accepted, while it is not empty: an image that cannot be fetched, or is not signed."""
    others: int = 0
    """How often another client changes the ClusterVersion right before a change."""
    writes: list[str] = field(default_factory=list)
    """In the words of the wire."""
    requests: int = 0
    _tries_at: float = float("inf")
    """When the release that it is told is loaded, and taken or refused."""
    _tried: int = 1
    """The newest generation of which that was tried."""
    _refused: str = ""
    _generation: int = 1
    _resource: int = 1
    _desired: Object | None = None
    _history: list[Object] = field(default_factory=list)
    _done: int = PARTS
    _since: float = 0.0
    _completed_at: float = float("-inf")
    _observed: int = 1

    def __post_init__(self) -> None:
        self._history = [history_entry(self.version, image_of(self.version), "Completed")]

    def tell(self, **desired: Any) -> None:
        """Set the desired update, as a person does."""
        self._desired = dict(desired)
        self._generation += 1
        self._resource += 1
        self._tries_at = self.clock.now() + LOAD_S

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
        while now >= self._tries_at:
            self._try()
        if self._history[0]["state"] == "Partial" and not self._unwell:
            self._done = min(PARTS, int((now - self._since) / PART_S))
            if self._done == PARTS:
                self._history[0] |= {"state": "Completed", "completionTime": SINCE}
                self._completed_at = now

    def _try(self) -> None:
        """Take the release that it is told, or refuse it until the next pass, in which it sees the spec."""
        if self._tried == self._generation:
            self._observed = self._generation
        at, self._tried, self._tries_at = self._tries_at, self._generation, self._tries_at + PASS_S
        self._refused = "" if self._invalid else self._refusal()
        self._resource += 1
        if self._refused or self._invalid:
            return
        self._observed, self._tries_at = self._generation, float("inf")
        version, image = self._wanted
        if image != self._history[0]["image"]:
            self._history.insert(0, history_entry(version, image, "Partial"))
            self._done, self._since = 0, at

    @property
    def _wanted(self) -> tuple[str, str]:
        """Version and image of the release that it goes by."""
        assert self._desired
        version, newest = str(self._desired.get("version", "")), self._history[0]
        if image := self._desired.get("image"):
            return version, str(image)
        return (version, image_of(version)) if version in self.available else (newest["version"], newest["image"])

    @property
    def _invalid(self) -> str:
        if self._desired is None or self._desired.get("image"):
            return ""
        if self._desired["version"] in {*self.available, *(entry["version"] for entry in self._history)}:
            return ""
        what = f'spec.desiredUpdate.version: Invalid value: "{self._desired["version"]}"'
        why = "when image is empty the update must be an available update"
        return f"The cluster version is invalid: {what}: {why}"

    def _refusal(self) -> str:
        assert self._desired
        version, image = self._wanted
        of, has = f'version="{version}" image="{image}"', version_in(image)
        if self.refuses:
            return f"Retrieving payload failed {of} failure={self.refuses}"
        if has != version:
            what = f"release image version {has} does not match the expected upstream version {version}"
            return f"Verifying payload failed {of} failure={what}"
        if self._desired.get("force") or not (why := self._precondition(version)):
            return ""
        return f"Preconditions failed for payload loaded {of}: Precondition {why}"

    def _precondition(self, version: str) -> str:
        before = str(self._history[0]["version"])
        now, then = Version.of(before), Version.of(version)
        assert now
        assert then
        is_minor = then[:2] != now[:2]
        if then < now and (is_minor or version not in [entry["version"] for entry in self._history[1:2]]):
            return f'"ClusterVersionRollback" failed because of "LowDesiredVersion": {version} is less than {before}'
        if then.major > now.major and then[:2] != (5, 0):
            return '"ClusterVersionGiantHop" failed because of "MajorVersionUpdate": a larger major version'
        if then.major == now.major and then.minor > now.minor + 1:
            return '"ClusterVersionGiantHop" failed because of "MultipleMinorVersionsUpdate": more than one'
        if not self.upgradeable and is_minor:
            return f'"ClusterVersionUpgradeable" failed because of "AdminAckRequired": {NOT_UPGRADEABLE}'
        return ""

    @property
    def _unwell(self) -> list[str]:
        return sorted({*self.degraded, *self.unavailable})

    def _reports(self) -> dict[str, tuple[str, str]]:
        """Return status and message of each condition of the ClusterVersion."""
        version, now = self._history[0]["version"], self.clock.now()
        works = self._history[0]["state"] == "Partial"
        patience = (0.0, DEGRADED_S) if works else (PASS_S, PASS_S)
        kinds = ((self.unavailable, "not available"), (self.degraded, "degraded"))
        failing = [
            f"{name} is {what}"
            for (names, what), limit_s in zip(kinds, patience, strict=True)
            for name, since in sorted(names.items())
            if now - max(since, self._since) >= limit_s
        ]
        done = f": {self._done} of {PARTS} done ({100 * self._done // PARTS}% complete)" if self._done else ""
        waits = f", waiting up to 40 minutes on {', '.join(self.degraded)}" if self.degraded else ""
        why = f"the cluster operator {', '.join(failing)}"
        if works:
            says = f"Unable to apply {version}: {why}" if failing else f"Working towards {version}{done}{waits}"
        else:
            says = f"Error while reconciling {version}: {why}" if failing else f"Cluster version is {version}"
        accepted = ("True", f'Payload loaded version="{version}"')
        return {
            "Available": ("True", f"Done applying {self.running}"),
            "Failing": ("True", f"Cluster operator {', '.join(failing)}") if failing else ("False", ""),
            "Progressing": (str(works), says),
            "RetrievedUpdates": ("False", "Unable to retrieve available updates"),
            "ReleaseAccepted": ("False", self._refused) if self._refused else accepted,
            **({"Invalid": ("True", self._invalid)} if self._invalid else {}),
            **({} if self.upgradeable else {"Upgradeable": ("False", NOT_UPGRADEABLE)}),
        }

    def _version(self) -> Object:
        newest = self._history[0]
        reports = self._reports().items()
        listed = [_condition(kind, status, text) for kind, (status, text) in reports]
        return {
            "metadata": {"resourceVersion": str(self._resource), "generation": self._generation},
            "spec": {"clusterID": CLUSTER_ID, **({"desiredUpdate": self._desired} if self._desired else {})},
            "status": {
                "desired": {name: newest[name] for name in ("version", "image")},
                "history": self._history,
                "observedGeneration": self._observed,
                "versionHash": "",
                "conditions": listed,
                "availableUpdates": [_release(version) for version in self.available] or None,
                "conditionalUpdates": [_conditional(version, says) for version, says in self.conditional.items()],
            },
        }

    def _operators(self) -> list[Object]:
        there = len(NAMES) * self._done // PARTS
        return [
            {
                "metadata": {"name": name},
                "spec": {},
                "status": {
                    "conditions": conditions(
                        Available=str(name not in self.unavailable), Degraded=str(name in self.degraded)
                    ),
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
