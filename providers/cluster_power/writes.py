"""What each change of a `ClusterPower` may write: the rows by which a write plan lists it beforehand."""

from collections.abc import Iterator

from base.writes import Write
from cluster.values.snapshots import store_of
from providers.cluster_power.model import ClusterPowerOuts, ClusterPowerSpec
from providers.cluster_power.rules import goes_off, wakes
from providers.joining.certificates import APPROVAL
from wires.api.resources import NODE_LIST
from wires.api.writes import to_api
from wires.bmc import writes
from wires.bmc.client import Power
from wires.etcd.writes import to_store


def planned(old: ClusterPowerSpec | None, outs: ClusterPowerOuts, new: ClusterPowerSpec | None) -> Iterator[Write]:
    """Yield what a creation, an update or a deletion may write; only an update writes anything.

    Args:
        old: The inputs in the state; None for a creation.
        outs: The outputs in the state.
        new: The inputs to come; None for a deletion.
    """
    if old is None or new is None:
        return
    if goes_off(old, new):
        if new.snapshots:
            yield to_store(store_of(new.stack, new.snapshots))
        yield from _to_all(new, writes.SHUT_DOWN)
    elif wakes(old, outs, new):
        yield from _to_all(new.waking(old), writes.power(Power.ON))
        if new.approve_certificates:
            yield to_api(new.api_name, APPROVAL.format(""))


def _to_all(spec: ClusterPowerSpec, action: str) -> Iterator[Write]:
    for name, host in spec.hosts.items():
        yield writes.to_bmc(host.bmc.address, action)
        yield to_api(spec.api_name, f"{NODE_LIST}/{name}")
