"""Decides from inputs and outputs what an update of a cluster's power does, or why it must not be made."""

from collections.abc import Iterator

from base.errors import Fault, word
from providers.asleep import WAKE
from providers.cluster_power.model import ClusterPowerOuts, ClusterPowerSpec

UNKNOWN = "run `pulumi up` with `power` on first, which records the cluster as it runs"


def faults(old: ClusterPowerSpec | None, new: ClusterPowerSpec) -> Iterator[Fault]:
    """Yield what cannot be done to a cluster that sleeps, or is about to."""
    if not new.is_off:
        return
    if old is None:
        yield Fault("power", "off, for a cluster of which the state does not know that it runs", UNKNOWN)
        return
    when = "while the cluster sleeps" if old.is_off else "in the same `up` that puts the cluster to sleep"
    for name in sorted({*old.hosts, *new.hosts}):
        if what := _change_of(name, old, new):
            yield Fault(f"hosts.{name}", f"{what} {when}", WAKE)


def _change_of(name: str, old: ClusterPowerSpec, new: ClusterPowerSpec) -> str:
    """Return what changes of a server; empty if nothing does. Only how its BMC is reached may change."""
    before, now = old.hosts.get(name), new.hosts.get(name)
    if before is None or now is None:
        return "it is removed" if now is None else "it is added"
    if before.consent != now.consent:
        return "it is to be another machine"
    if (before.role, before.addresses) != (now.role, now.addresses):
        return "its role or its addresses change"
    return "it is to be installed again" if old.reinstall.get(name) != new.reinstall.get(name) else ""


def goes_off(old: ClusterPowerSpec, new: ClusterPowerSpec) -> bool:
    """Return whether an update puts the cluster to sleep."""
    return new.is_off and not old.is_off


def wakes(old: ClusterPowerSpec, outs: ClusterPowerOuts, new: ClusterPowerSpec) -> bool:
    """Return whether an update wakes the cluster."""
    return not new.is_off and (old.is_off or bool(outs.unfinished))


def notes(old: ClusterPowerSpec, outs: ClusterPowerOuts, new: ClusterPowerSpec) -> Iterator[str]:
    """Yield a line on each group of servers that an update switches, in their order; and what to expect."""
    compute, with_etcd = map(sorted, new.groups)
    if goes_off(old, new):
        if compute:
            yield f"will be shut down first, all at once: {', '.join(compute)}"
        yield f"will be shut down last, since they have etcd: {', '.join(with_etcd)}"
        yield (
            "no API and no VIP answers until `power` is on again; "
            f"`okd-baremetal status {word(new.stack)}` tells when the "
            "certificates of kubelets expire: after that, waking approves new ones"
        )
    if wakes(old, outs, new):
        compute, with_etcd = map(sorted, new.waking(old).groups)
        yield f"will be switched on first: {', '.join(with_etcd)}"
        if compute:
            yield f"will be switched on once these are ready: {', '.join(compute)}"
    yield from outs.unfinished
