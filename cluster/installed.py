"""What a new install-config or option cannot change of a cluster that is installed."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from base.errors import Fault
from cluster.values.address import parse_cidr

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
    was, wanted = ({path: _canonical(json.loads(text)) for path, text in values.items()} for values in (old, new))
    for path in FIXED:
        if path in was:
            yield from fixed(path, json.dumps(was[path]), json.dumps(wanted[path]), OKD)
    machines = "networking.machineNetwork"
    before, now = (values.get(machines, []) for values in (was, wanted))
    if lost := [network for network in before if network not in now]:
        what = f"{', '.join(lost)} is gone, but nodes have addresses in it"
        yield Fault(machines, what, "write it again, before those that you add")


def _canonical(value: Any) -> Any:
    """Return a value of `topology_of` with each network in the one spelling that all of its spellings have."""
    if isinstance(value, list):
        return [_canonical(part) for part in value]
    if isinstance(value, dict):
        return {key: _canonical(part) for key, part in value.items()}
    network = parse_cidr(value) if isinstance(value, str) else None
    return str(network) if network else value
