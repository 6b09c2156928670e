"""What each change of a `ClusterUpgrade` may write: the rows by which a write plan lists it beforehand."""

from collections.abc import Iterator

from base.writes import Write
from cluster.values.snapshots import store_of
from providers.cluster_upgrade.model import ClusterUpgradeOuts, ClusterUpgradeSpec
from wires.api.resources import VERSION
from wires.api.writes import to_api
from wires.etcd.writes import to_store


def planned(
    _old: ClusterUpgradeSpec | None, _outs: ClusterUpgradeOuts, new: ClusterUpgradeSpec | None
) -> Iterator[Write]:
    """Yield what a creation, an update or a deletion may write.

    Args:
        new: The inputs to come; None for a deletion, which leaves the cluster at its release.
    """
    if new is None:
        return
    if new.snapshots:
        yield to_store(store_of(new.stack, new.snapshots))
    yield to_api(new.api_name, VERSION, release=f"{new.version} {new.image}")
