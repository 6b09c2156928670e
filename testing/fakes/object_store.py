"""A Kubernetes API in memory with the objects of servers: what a client does, and what controllers do."""

import copy
from dataclasses import dataclass, field
from typing import Any

from base.clock import Clock
from testing.fakes.metal3 import HOSTS, Metal3, Object
from wires.api.resources import ChangedError, R, RefusedError
from wires.api.writes import to_api


@dataclass
class ObjectStore:
    """Implements `KubernetesKeeper` and the `Store` of `Metal3`."""

    resources: dict[str, Object] = field(default_factory=dict)
    """By path."""
    calls: list[tuple[str, str]] = field(default_factory=list)
    """Method and path of each change that a client made."""
    sent: list[Object] = field(default_factory=list)
    writes: set[str] = field(default_factory=set)
    """The changes in the words of the wire."""
    down: OSError | None = None
    lists: frozenset[str] = frozenset({"baremetalhosts", "machines", "provisionings"})
    """The kinds that the API has."""
    _version: int = 0

    def get(self, _address: str, path: str, model: type[R]) -> R | None:
        """Return one resource, or all of a collection."""
        if self.down:
            raise self.down
        kind = path.rpartition("/")[2]
        if kind in self.lists:
            return model.model_validate({"items": self.list(kind)})
        found = self.resources.get(path)
        return None if found is None else model.model_validate(copy.deepcopy(found))

    def create(self, _address: str, path: str, content: dict[str, Any]) -> None:
        """Make a resource, if the web hook admits it."""
        self._note("create", path, content)
        if path in self.resources:
            raise ChangedError("status 409")
        annotations = content["metadata"].get("annotations", {})
        if "inspect.metal3.io/hardwaredetails" in annotations and annotations.get("inspect.metal3.io") != "disabled":
            raise RefusedError("status 403: when hardware details are provided, the inspection must be disabled")
        self.store_at(path, copy.deepcopy(content), f"uid-{self._version}")

    def patch(self, _address: str, path: str, change: dict[str, Any]) -> None:
        """Merge a change (RFC 7396), if the web hook admits it, and if the resource is the one that was read."""
        self._note("patch", path, change)
        found = self.resources[path]
        if {**found["metadata"], **change["metadata"]}["resourceVersion"] != found["metadata"]["resourceVersion"]:
            raise ChangedError("status 409")
        changed = merged(found, change)
        fixed = ("externallyProvisioned", "bootMACAddress")
        if any(found["spec"].get(key) != changed["spec"].get(key) for key in fixed):
            raise RefusedError(f"status 403: {' and '.join(fixed)} can not be changed")
        self.store_at(path, changed, found["metadata"]["uid"])

    def delete(self, _address: str, path: str) -> None:
        """Delete a resource; one with finalizers waits for its controller."""
        self._note("delete", path, {})
        if found := self.resources.get(path):
            found["metadata"]["deletionTimestamp"] = "now"
            if not found["metadata"].get("finalizers"):
                del self.resources[path]

    def list(self, kind: str) -> list[Object]:
        """See `Store`."""
        return [copy.deepcopy(own) for path, own in self.resources.items() if path.split("/")[-2] == kind]

    def put(self, kind: str, changed: Object) -> None:
        """See `Store`."""
        self.store_at(self._path(kind, changed["metadata"]["name"]), changed, changed["metadata"]["uid"])

    def remove(self, kind: str, name: str) -> None:
        """See `Store`."""
        del self.resources[self._path(kind, name)]

    def store_at(self, path: str, content: Object, uid: str) -> None:
        """Store a resource as its newest version."""
        self._version += 1
        content["metadata"] |= {"uid": uid, "resourceVersion": str(self._version)}
        self.resources[path] = content

    def host(self, name: str) -> Object:
        """Return a BareMetalHost, to be changed in place."""
        return self.resources[self._path(HOSTS, name)]

    def _path(self, kind: str, name: str) -> str:
        return next(path for path in self.resources if path.endswith(f"/{kind}/{name}"))

    def _note(self, method: str, path: str, content: Object) -> None:
        if self.down:
            raise self.down
        self.calls.append((method, path.partition("openshift-machine-api/")[2] or path.rpartition("v1alpha1/")[2]))
        self.sent.append(content)
        verb = "change" if method == "patch" else method
        self.writes.add(str(to_api("api.okd.lab.test", path, verb)))


@dataclass
class ControllersClock:
    """A clock on which the controllers work while others wait."""

    clock: Clock
    metal3: Metal3

    def now(self) -> float:
        """Return the seconds."""
        return self.clock.now()

    def sleep(self, seconds: float) -> None:
        """Have the controllers look at everything, some times."""
        for _ in range(3):
            self.metal3.step()
        self.clock.sleep(seconds)


def merged(found: Any, change: Any) -> Any:
    """Return a resource with a change, by RFC 7396."""
    if not isinstance(change, dict):
        return change
    base = found if isinstance(found, dict) else {}
    kept = {key: copy.deepcopy(value) for key, value in base.items() if change.get(key, "") is not None}
    return kept | {key: merged(base.get(key), value) for key, value in change.items() if value is not None}
