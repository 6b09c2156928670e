"""What expires when: the certificates that the cluster's machines show, and those in the stack's files."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from assets.contract import API_PORT, CONFIG_PORT, ETCD_PORT, INGRESS_PORT, KUBELET_PORT
from cli.status.answers import Level, Question, Row
from cli.status.cluster import Cluster
from cli.status.servers import expiry
from payload.checks import first_to_expire
from payload.kubeconfig import kubeconfig_path
from payload.pem import certificates_of
from wires.certificates import Life
from wires.shown_certificate import shown_certificate


class Shown(NamedTuple):
    """A certificate that a machine shows to everybody."""

    name: str
    address: str
    port: int
    server_name: str = ""


def certificates(cluster: Cluster) -> Iterator[Question]:
    """Ask for each certificate; what is not shown is a warning, since other rows say whether the machine serves."""
    for shown in _shown(cluster):
        yield Question("certificate", shown.name, partial(_of_machine, cluster, shown), Level.WARNING)
    yield Question("certificate", "kubeconfig", partial(_of_kubeconfig, cluster))
    if not cluster.is_in_production:  # which does not read it
        yield Question("payload", "bootstrap.ign", partial(_of_payload, cluster), Level.WARNING)


def _shown(cluster: Cluster) -> Iterator[Shown]:
    plan, domain = cluster.plan, cluster.plan.domain
    yield Shown("API", cluster.vip, API_PORT, f"api.{domain}")
    yield Shown("config server", cluster.vip, CONFIG_PORT, f"api-int.{domain}")
    if cluster.is_in_production:
        yield Shown("router", str(plan.ingress.address), INGRESS_PORT, f"console-openshift-console.apps.{domain}")
    yield from (Shown(f"kubelet of {it.name}", str(it.address), KUBELET_PORT) for it in cluster.running)
    yield from (Shown(f"etcd of {it.name}", str(it.address), ETCD_PORT) for it in plan.holders_of_etcd)


def _of_machine(cluster: Cluster, shown: Shown) -> Iterator[Row]:
    certificate = shown_certificate(shown.address, shown.port, server_name=shown.server_name)
    if certificate is None:
        yield Row("certificate", shown.name, Level.WARNING, f"none is shown on {shown.port}")
    else:
        yield _row("certificate", shown.name, certificate.life, cluster)


def _of_kubeconfig(cluster: Cluster) -> Sequence[Row]:
    """Return the row of what expires first: the client's own certificate, or that of a CA of the API."""
    kubeconfig = cluster.kubeconfig
    if kubeconfig is None:
        return [Row("certificate", "kubeconfig", Level.WARNING, f"{kubeconfig_path(cluster.stack)} is missing")]
    own = [*certificates_of(kubeconfig.client_pem)]
    if kubeconfig.has_own_ca:
        own += certificates_of(kubeconfig.ca_pem.encode())
    first = min(own, key=lambda certificate: certificate.not_valid_after_utc)
    return [_row("certificate", "kubeconfig", Life.of(first), cluster)]


def _of_payload(cluster: Cluster) -> Iterator[Row]:
    """Yield the row of the payload: its certificates are valid for a day, and only a bootstrap needs them."""
    first = first_to_expire(cluster.stack, cluster.plan.options.payload.bootstrap)
    row = _row("payload", "bootstrap.ign", Life.of(first), cluster)
    yield Row(row.kind, row.name, min(row.level, Level.WARNING), row.says, row.ends)


def _row(kind: str, name: str, life: Life | None, cluster: Cluster) -> Row:
    level, says = expiry(life, cluster)
    return Row(kind, name, level, says, life.ends if life else None)
