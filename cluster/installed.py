"""What a new install-config or option cannot change of a cluster that is installed."""

import json
from collections.abc import Iterator, Mapping

from base.errors import Fault

NODES = "every node has it, and `up` writes to no installed node"
VRRP = "installed nodes would not hear a node with another one, and two would hold the VIP"
CERTIFICATES = "the cluster's certificates and every node have it"
OKD = "OKD has it, and changes it itself where that is possible"
PLATFORM = "no cluster ever changes it, and the bootstrap VM was made for it"
FIXED = ("networking.clusterNetwork", "networking.serviceNetwork", "fips")
"""Values of `topology_of`."""


def fixed(where: str, old: object, new: object, why: str) -> Iterator[Fault]:
    """Yield the fault of a value that differs from that with which the cluster was installed.

    Args:
        where: Path in install-config.yaml, or the option.
        old: The value in the state.
        new: The value of this run.
        why: What has the old value.
    """
    if old != new:
        yield Fault(where, f"{new}, but the cluster was installed with {old}: {why}", f"write {old} again")


def network_faults(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Fault]:
    """Yield the faults of changed networks and of `fips`; a machine network may be added.

    Args:
        old: Values of `topology_of` in the state; an older one may lack some.
        new: Those of this run.
    """
    for path in FIXED:
        if path in old:
            yield from fixed(path, old[path], new.get(path), OKD)
    machines = "networking.machineNetwork"
    before, now = (json.loads(values.get(machines, "[]")) for values in (old, new))
    if lost := [network for network in before if network not in now]:
        what = f"{', '.join(lost)} is gone, but nodes have addresses in it"
        yield Fault(machines, what, "write it again, before those that you add")
