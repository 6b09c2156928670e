"""The protocol of a Kubernetes API, which engines ask; `wires.api.kubernetes.KubeApi` implements it.

Also the parts that all its resources share.
"""

from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

from base.errors import one_line, words_of
from base.spec import Model
from wires.certificates import CertificateTimeError

R = TypeVar("R", bound=BaseModel)
NODE_LIST = "/api/v1/nodes"
INFRASTRUCTURE = "/apis/config.openshift.io/v1/infrastructures/cluster"
VERSION = "/apis/config.openshift.io/v1/clusterversions/version"
"""The version of OKD's release, which the cluster-version operator applies."""
OPERATORS = "/apis/config.openshift.io/v1/clusteroperators"
ETCD = "/apis/operator.openshift.io/v1/etcds/cluster"
"""The etcd operator's resource, a `Reporting` one."""
PODS_OF = "/api/v1/pods?fieldSelector=spec.nodeName%3D{}"
"""The pods of a node, of all namespaces."""
POD = "/api/v1/namespaces/{}/pods/{}"
EVICTION = "/eviction"
"""The part of a pod by which it is evicted."""
ETCD_MEMBERS = "/api/v1/namespaces/openshift-etcd/configmaps/etcd-endpoints"
"""The `ConfigMap` in which the etcd operator keeps the addresses of etcd's members, by id."""


class Metadata(Model):
    """The name of a resource."""

    name: str


class Condition(Model):
    """What a resource reports of one trait of its own."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


class Status(Model):
    """All that a resource reports."""

    conditions: tuple[Condition, ...] = ()

    def condition(self, name: str) -> Condition | None:
        """Return the condition of a type, or None: it is not reported."""
        return next((condition for condition in self.conditions if condition.type == name), None)

    def problem(self, wanted: Mapping[str, str]) -> str | None:
        """Return the first condition that is not as wanted, with its message. None: all are.

        Args:
            wanted: The wanted status of each condition, by type.
        """
        for kind, status in wanted.items():
            condition = self.condition(kind)
            if condition is None:
                return f"not {kind} yet" if status == "True" else f"yet to report {kind}"
            if condition.status != status:
                what = f"not {kind}" if status == "True" else kind
                return one_line(f"{what}: {condition.message}" if condition.message else what)
        return None


class Reporting(Model):
    """A resource, by what it reports."""

    status: Status = Status()


class ConfigMap(Model):
    """Texts by name."""

    data: dict[str, str] = {}


class Objects(Model):
    """The resources of one collection, with all their fields."""

    items: tuple[dict[str, Any], ...] = ()


class KubernetesReader(Protocol):
    """Reads the resources of a Kubernetes API through an address."""

    def get(self, address: str, path: str, model: type[R]) -> R | None:
        """Return one resource, or None if it is missing.

        Raises:
            CredentialError: See there.
            FailingError: See there.
            OSError: The API is unreachable.
        """
        ...


def unasked(address: str, error: OSError, *, who: str = "the API") -> str:
    """Return the words for an API, or one behind it, that does not answer through an address."""
    return f"{who} cannot be asked through {address}: {words_of(error)}"


class AnsweredError(ConnectionError):
    """The API has answered, and will not do it if it is asked the same again."""


class ChangedError(AnsweredError):
    """The resource has changed since it was read, so the API did not change it: read it again."""


class RefusedError(AnsweredError):
    """The API refuses the change for good: a rule or a web hook of the cluster forbids it."""


class CredentialError(AnsweredError):
    """The API does not let the client of auth/kubeconfig in, or not to this: it takes another credential."""


class FailingError(ConnectionError):
    """The API has answered, but with a failure of its own or no resource: it may say more if it is asked again."""


ALIVE = AnsweredError, CertificateTimeError
"""The errors of an API that is there, and will say no more if it is asked again."""


class HeldError(ConnectionError):
    """Nothing was changed for now; ask again later.

    The API has too many requests; or a pod stays, since a PodDisruptionBudget needs it, or a web hook that is asked
    does not answer.
    """


def answer_first(error: OSError) -> str:
    """Return what a person has to do before the API is asked again: how a `Fix:` begins."""
    match error:
        case CredentialError():
            return "first get an auth/kubeconfig that is allowed to do this"
        case CertificateTimeError():
            return "first correct the clock of this machine, or renew the API's certificate"
        case RefusedError():
            return "change first what its reason names"
        case _:
            return "have the API answer first"


def polled_fix(error: Exception | None, fix: str) -> str:
    """Return the fix of a poll that was late: `fix`, unless its last error is one that no wait ends."""
    if isinstance(error, CredentialError | CertificateTimeError):
        return f"{answer_first(error)}, then run `pulumi up` again"
    return fix


class KubernetesWriter(KubernetesReader, Protocol):
    """Changes them too."""

    def patch(self, address: str, path: str, change: dict[str, Any]) -> None:
        """Merge a change into one resource.

        Raises:
            ChangedError: It has changed since it was read.
            HeldError: See there.
            OSError: The API is unreachable, or refuses: the resource is gone, or is another one of that name.
        """
        ...


class KubernetesKeeper(KubernetesWriter, Protocol):
    """Makes and deletes them too."""

    def create(self, address: str, path: str, content: dict[str, Any]) -> None:
        """Make one resource; `path` is its own, and ends with its name.

        Raises:
            ChangedError: There is one of that name.
            HeldError: See there.
            RefusedError: See there.
            OSError: The API is unreachable.
        """
        ...

    def delete(self, address: str, path: str) -> None:
        """Have one resource deleted; one that is missing is a success. It may be there until others let it go.

        Raises:
            HeldError: See there.
            RefusedError: See there.
            OSError: The API is unreachable.
        """
        ...


class KubernetesDrainer(KubernetesKeeper, Protocol):
    """Evicts pods too."""

    def evict(self, address: str, pod: str, uid: str) -> None:
        """Have one pod end, if its budget allows that; it may be there until its kubelet has ended it.

        Args:
            address: Of the API.
            pod: Its path. One that is missing is a success.
            uid: Of the pod: another one of its name stays.

        Raises:
            HeldError: See there; the text names the budget.
            ChangedError: The pod of this name is another one.
            RefusedError: See there.
            OSError: The API is unreachable.
        """
        ...
