"""What OKD reports of its own bootstrap: both things that `openshift-install wait-for bootstrap-complete` awaits."""

from dataclasses import dataclass
from typing import Protocol, TypeVar

from providers.base.spec import Model

CONFIG_MAP = "/api/v1/namespaces/kube-system/configmaps/bootstrap"
ETCD = "/apis/operator.openshift.io/v1/etcds/cluster"
REMOVED = "EtcdBootstrapMemberRemoved"


R = TypeVar("R", bound=Model)


class KubernetesReader(Protocol):
    """An API that is asked at an address, see `wires.api.kubernetes.KubeApi`."""

    def get(self, address: str, path: str, model: type[R]) -> R | None:
        """One resource; None: there is none.

        Raises:
            OSError: It cannot be asked.
        """
        ...


class _ConfigMap(Model):
    data: dict[str, str] = {}


class _Condition(Model):
    type: str
    status: str


class _Status(Model):
    conditions: tuple[_Condition, ...] = ()


class _Etcd(Model):
    status: _Status = _Status()


@dataclass(frozen=True)
class Okd:
    """Asked at an address, by the kubeconfig's client certificate."""

    api: KubernetesReader

    def missing(self, address: str) -> str | None:
        """A `Signal`: the bootstrap's work is done, and etcd's quorum does without its member."""
        try:
            return self._works(address) or self._is_member(address)
        except OSError as error:
            return f"OKD cannot be asked through {address}: {type(error).__name__}: {error}"

    def _works(self, address: str) -> str | None:
        """The bootstrap writes the ConfigMap last of all."""
        found = self.api.get(address, CONFIG_MAP, _ConfigMap)
        seen = "not there" if found is None else f"status {found.data.get('status')!r}"
        wanted = found is not None and found.data.get("status") == "complete"
        return None if wanted else f"ConfigMap kube-system/bootstrap: {seen}, wanted status 'complete'"

    def _is_member(self, address: str) -> str | None:
        found = self.api.get(address, ETCD, _Etcd)
        conditions = {each.type: each.status for each in found.status.conditions} if found else {}
        seen = conditions.get(REMOVED, "not there")
        return None if seen == "True" else f"etcd's condition {REMOVED}: {seen}, wanted True"
