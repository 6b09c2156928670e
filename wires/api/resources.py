"""The protocol of a Kubernetes API, which engines ask; `wires.api.kubernetes.KubeApi` implements it."""

from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

R = TypeVar("R", bound=BaseModel)


class KubernetesReader(Protocol):
    """Reads the resources of a Kubernetes API through an address."""

    def get(self, address: str, path: str, model: type[R]) -> R | None:
        """Return one resource, or None if it is missing.

        Raises:
            OSError: The API is unreachable, or refuses.
        """
        ...


class KubernetesWriter(KubernetesReader, Protocol):
    """Changes them too."""

    def patch(self, address: str, path: str, change: dict[str, Any]) -> None:
        """Merge a change into one resource.

        Raises:
            OSError: The API is unreachable, or refuses: the resource is gone, or is no longer the one that was read.
        """
        ...
