"""Asks OKD what `openshift-install wait-for bootstrap-complete` waits for, and whether two nodes fence each other."""

from collections.abc import Callable
from dataclasses import dataclass

from wires.api.resources import ETCD, ConfigMap, KubernetesReader, Reporting, unasked

CONFIG_MAP = "/api/v1/namespaces/kube-system/configmaps/bootstrap"
REMOVED = "EtcdBootstrapMemberRemoved"
HANDED_OVER = "ExternalEtcdHasCompletedTransition"
"""Two servers that fence each other: Pacemaker runs etcd on both; until then it stops and starts again.

Source: pkg/operator/ceohelpers/external_etcd_status.go of openshift/cluster-etcd-operator, b4786ae33.
"""


@dataclass(frozen=True)
class Okd:
    """OKD's own report on its bootstrap."""

    api: KubernetesReader

    def missing(self, address: str) -> str | None:
        """Return what the bootstrap still lacks: it completes its work, then etcd removes its member. A `Signal`."""
        return _asked(address, lambda: self._works(address) or self._etcd_lacks(address, REMOVED))

    def not_handed_over(self, address: str) -> str | None:
        """Return what etcd lacks to be in Pacemaker's hands. A `Signal`."""
        return _asked(address, lambda: self._etcd_lacks(address, HANDED_OVER))

    def _works(self, address: str) -> str | None:
        """Read the ConfigMap that the bootstrap writes last of all."""
        config_map = self.api.get(address, CONFIG_MAP, ConfigMap)
        status = "missing" if config_map is None else f"status {config_map.data.get('status')!r}"
        wanted = config_map is not None and config_map.data.get("status") == "complete"
        return None if wanted else f"ConfigMap kube-system/bootstrap: {status}, wanted status 'complete'"

    def _etcd_lacks(self, address: str, name: str) -> str | None:
        etcd = self.api.get(address, ETCD, Reporting)
        condition = etcd.status.condition(name) if etcd else None
        status = condition.status if condition else "missing"
        return None if status == "True" else f"etcd's condition {name}: {status}, wanted True"


def _asked(address: str, ask: Callable[[], str | None]) -> str | None:
    try:
        return ask()
    except OSError as error:
        return unasked(address, error, who="OKD")
