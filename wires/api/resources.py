"""The protocol of a Kubernetes API, which engines ask; `wires.api.kubernetes.KubeApi` implements it.

Also the parts that all its resources share.
"""

from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

from base.spec import Model

R = TypeVar("R", bound=BaseModel)
ETCD = "/apis/operator.openshift.io/v1/etcds/cluster"
"""The etcd operator's resource, a `Reporting` one."""


class Metadata(Model):
    """The name of a resource."""

    name: str


class Condition(Model):
    """What a resource reports of one trait of its own."""

    type: str
    status: str
    message: str = ""


class Status(Model):
    """All that a resource reports."""

    conditions: tuple[Condition, ...] = ()

    def condition(self, name: str) -> Condition | None:
        """Return the condition of a type, or None: it is not reported."""
        return next((condition for condition in self.conditions if condition.type == name), None)


class Reporting(Model):
    """A resource, by what it reports."""

    status: Status = Status()


class ConfigMap(Model):
    """Texts by name."""

    data: dict[str, str] = {}


class KubernetesReader(Protocol):
    """Reads the resources of a Kubernetes API through an address."""

    def get(self, address: str, path: str, model: type[R]) -> R | None:
        """Return one resource, or None if it is missing.

        Raises:
            OSError: The API is unreachable, or refuses.
        """
        ...


class ChangedError(ConnectionError):
    """The resource has changed since it was read, so the API did not change it: read it again."""


class KubernetesWriter(KubernetesReader, Protocol):
    """Changes them too."""

    def patch(self, address: str, path: str, change: dict[str, Any]) -> None:
        """Merge a change into one resource.

        Raises:
            ChangedError: It has changed since it was read.
            OSError: The API is unreachable, or refuses: the resource is gone, or is another one of that name.
        """
        ...
