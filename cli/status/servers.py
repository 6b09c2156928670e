"""What the BMCs say of their servers."""

from collections.abc import Iterator
from functools import partial

from base.errors import BmcError
from base.shown import short
from cli.status.answers import Level, Question, Row
from cli.status.cluster import Cluster
from cluster.plan.model import PlannedHost
from providers.consent import consent_fault
from wires.bmc.access import BmcAccess, Limits
from wires.bmc.client import Power, ProbedBmc
from wires.bmc.identity import named
from wires.bmc_clients import probe_of
from wires.certificates import Life

LIMITS = Limits(connect_s=5, answer_s=10, whole_s=15)
"""For one BMC: half of them answer a request within a second, and it gets five."""
HEALTH = {"OK": Level.GOOD, "": Level.GOOD, "Warning": Level.WARNING, "Critical": Level.WRONG}
"""By Redfish's word. A BMC that tells nothing is no warning for ever; any other word is one."""


def bmcs(cluster: Cluster) -> Iterator[Question]:
    """Ask the BMC of each host, a spare's too, for its machine, power and health."""
    for host in cluster.plan.hosts:
        yield Question("bmc", host.name, partial(_rows, cluster, host))


def _rows(cluster: Cluster, host: PlannedHost) -> Iterator[Row]:
    plan = cluster.plan
    bmc = probe_of(BmcAccess.of(plan.options, host, ca=plan.bmc_ca), host.bmc.password, LIMITS)
    try:
        row = _row(cluster, host, bmc)
    except BmcError as error:
        row = Row("bmc", host.name, Level.WRONG, str(error))
    finally:
        bmc.close()
    yield Row(row.kind, row.name, row.level, short(bmc.masked(row.says)), row.ends)


def _row(cluster: Cluster, host: PlannedHost, bmc: ProbedBmc) -> Row:
    certificate = bmc.certificate()
    machine, power, health = bmc.identity(), bmc.power(), bmc.health()
    wants_on = host in cluster.running
    seen = [
        (Level.GOOD, f"power {power.value}"),
        (HEALTH.get(health, Level.WARNING), f"health {health or 'not told'}"),
    ]
    if wants_on and power is not Power.ON:
        seen[0] = cluster.unfinished, f"power {power.value}, wanted On"
    if cluster.is_asleep and host.role and power is not Power.OFF:
        seen[0] = Level.WARNING, f"power {power.value}, wanted Off"
    consent = cluster.plan.options.consent.get(host.name, "")
    if consent and consent_fault(host.name, consent, machine):
        seen.append((Level.WRONG, f"the BMC is that of {named(machine)}, the consent names {consent}"))
    life = certificate.life if certificate else None
    if certificate:
        seen.append(expiry(life, cluster))
    says = "; ".join(says for _, says in seen)
    return Row("bmc", host.name, max(level for level, _ in seen), says, life.ends if life else None)


def expiry(life: Life | None, cluster: Cluster) -> tuple[Level, str]:
    """Return how bad the age of a certificate is, and when it expires."""
    if life is None:
        return Level.WARNING, "certificate unreadable"
    if warning := life.warning(cluster.now):
        return (Level.WRONG if life.is_over(cluster.now) else Level.WARNING), f"certificate {warning}"
    return Level.GOOD, f"certificate until {life.ends:%Y-%m-%d}"
