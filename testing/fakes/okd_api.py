"""The stand-in of an OKD that is upgraded, behind a Kubernetes API over TLS: each request is a step of its time.

What refuses a change answers as a kube-apiserver does, with a Status: 409 for a resource that has changed meanwhile
(registry/generic/registry/store.go of k8s.io/apiserver), 422 for what the schema does not take.
"""

import threading
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from pydantic import RootModel

from testing.fakes.clock import FakeClock
from testing.fakes.kube_api import Answer
from testing.fakes.okd_release import LOAD_S, PART_S, PARTS, FakeOkd
from wires.api.resources import VERSION, ChangedError, RefusedError

STEP_S = 30.0
"""Of the cluster's time, per request."""


@dataclass
class OkdApi:
    """Implements `testing.fakes.kube_api.Served`."""

    clock: FakeClock = field(default_factory=FakeClock)
    _until_s: float = float("inf")
    """When its time stands still."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.okd = FakeOkd(self.clock)

    def stand_half_way(self) -> None:
        """Have its time stand still once half of the next release is applied, if that is told now."""
        self._until_s = self.clock.now() + 3 * LOAD_S + PARTS * PART_S / 2

    def go_on(self) -> None:
        """Have its time go on."""
        self._until_s = float("inf")

    def get(self, path: str) -> Answer:
        """Return one resource, or those of a collection."""
        with self._lock:
            self.clock.seconds = min(self.clock.seconds + STEP_S, max(self._until_s, self.clock.seconds))
            found = self.okd.get("", path, RootModel[dict[str, Any]])
        return (HTTPStatus.OK, found.root) if found else (HTTPStatus.NOT_FOUND, {})

    def patch(self, path: str, change: dict[str, Any]) -> Answer:
        """Merge a change into the ClusterVersion."""
        with self._lock:
            try:
                self.okd.patch("", path, change)
            except ChangedError:
                return HTTPStatus.CONFLICT, {"kind": "Status", "status": "Failure", "code": 409}
            except RefusedError as error:
                return HTTPStatus.UNPROCESSABLE_ENTITY, {"kind": "Status", "status": "Failure", "message": str(error)}
        return self.get(VERSION)

    def create(self, path: str, sent: dict[str, Any], user: str, groups: list[str]) -> Answer:
        """Refuse: an upgrade makes nothing."""
        return HTTPStatus.FORBIDDEN, {}

    def delete(self, path: str) -> Answer:
        """Refuse: an upgrade deletes nothing."""
        return HTTPStatus.FORBIDDEN, {}
