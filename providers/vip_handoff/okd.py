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
        found = self.api.get(address, CONFIG_MAP, ConfigMap)
        seen = "missing" if found is None else f"status {found.data.get('status')!r}"
        wanted = found is not None and found.data.get("status") == "complete"
        return None if wanted else f"ConfigMap kube-system/bootstrap: {seen}, wanted status 'complete'"

    def _is_member(self, address: str) -> str | None:
        found = self.api.get(address, ETCD, Reporting)
        removed = found.status.condition(REMOVED) if found else None
        seen = removed.status if removed else "missing"
        return None if seen == "True" else f"etcd's condition {REMOVED}: {seen}, wanted True"
