"""Asks OKD for both conditions that `openshift-install wait-for bootstrap-complete` waits for."""

from dataclasses import dataclass

from wires.api.resources import ETCD, ConfigMap, KubernetesReader, Reporting

CONFIG_MAP = "/api/v1/namespaces/kube-system/configmaps/bootstrap"
REMOVED = "EtcdBootstrapMemberRemoved"


@dataclass(frozen=True)
class Okd:
    """OKD's own report on its bootstrap."""

    api: KubernetesReader

    def missing(self, address: str) -> str | None:
        """Return what the bootstrap still lacks: it completes its work, then etcd removes its member. A `Signal`."""
        try:
            return self._works(address) or self._is_member(address)
        except OSError as error:
            return f"OKD cannot be asked through {address}: {type(error).__name__}: {error}"

    def _works(self, address: str) -> str | None:
        """Read the ConfigMap that the bootstrap writes last of all."""
        config_map = self.api.get(address, CONFIG_MAP, ConfigMap)
        status = "missing" if config_map is None else f"status {config_map.data.get('status')!r}"
        wanted = config_map is not None and config_map.data.get("status") == "complete"
        return None if wanted else f"ConfigMap kube-system/bootstrap: {status}, wanted status 'complete'"

    def _is_member(self, address: str) -> str | None:
        etcd = self.api.get(address, ETCD, Reporting)
        removed = etcd.status.condition(REMOVED) if etcd else None
        status = removed.status if removed else "missing"
        return None if status == "True" else f"etcd's condition {REMOVED}: {status}, wanted True"
