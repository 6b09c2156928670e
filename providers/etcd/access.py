"""Reaches the members of etcd over their own port, with the certificate that its operator keeps for its clients."""

from collections.abc import Callable
from dataclasses import dataclass

from pydantic import Base64Bytes, Field

from base.spec import Model
from wires.api.resources import ETCD_MEMBERS, ConfigMap, KubernetesReader
from wires.etcd.member import EtcdMember

ETCD_CA = "/api/v1/namespaces/openshift-etcd/configmaps/etcd-ca-bundle"
ETCD_CLIENT = "/api/v1/namespaces/openshift-etcd/secrets/etcd-client"
"""Source of both: pkg/tlshelpers/tlshelpers.go of openshift/cluster-etcd-operator, b4786ae33."""
CA, CERTIFICATE, KEY = "ca-bundle.crt", "tls.crt", "tls.key"

Connect = Callable[[bytes, bytes, bytes], EtcdMember]
"""Makes a client of PEMs: the CA's certificates, its own certificate, and its key."""


class IncompleteEtcdError(Exception):
    """The API lacks what a client of etcd needs; the text says which part."""


class _Secret(Model):
    data: dict[str, Base64Bytes] = Field({}, repr=False)


@dataclass(frozen=True)
class EtcdAccess:
    """The way to the members of one cluster."""

    api: KubernetesReader
    vip: str
    """Address of the API."""
    connect: Connect

    def reach(self) -> tuple[EtcdMember, list[str]]:
        """Return a client of the members, and their addresses.

        Raises:
            OSError: The API cannot be asked.
            IncompleteEtcdError: See there.
        """
        members = self.api.get(self.vip, ETCD_MEMBERS, ConfigMap)
        ca = self.api.get(self.vip, ETCD_CA, ConfigMap)
        client = self.api.get(self.vip, ETCD_CLIENT, _Secret)
        addresses = sorted(members.data.values()) if members else []
        authorities = ca.data.get(CA, "") if ca else ""
        held = client.data if client else {}
        parts = {
            "ConfigMap etcd-endpoints": bool(addresses),
            "ConfigMap etcd-ca-bundle": bool(authorities),
            "Secret etcd-client": {CERTIFICATE, KEY} <= held.keys(),
        }
        if missing := [name for name, is_there in parts.items() if not is_there]:
            raise IncompleteEtcdError(f"in namespace openshift-etcd, {' and '.join(missing)} is missing or empty")
        return self.connect(authorities.encode(), held[CERTIFICATE], held[KEY]), addresses
