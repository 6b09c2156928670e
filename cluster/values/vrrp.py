"""VRRP numbers: the VRIDs that follow from a cluster's name, and the priorities of the machines."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, NamedTuple

HIGHEST_VRID = 255


class DerivedVrids(NamedTuple):
    """virtual_router_id of each VIP, 1 to 239."""

    api: int
    ingress: int
    provisioning: int


Policy = Literal["release", "preempt"]
"""What moves the API VIP to the control plane: the bootstrap VM's release, or the first node that serves."""


@dataclass(frozen=True)
class ApiPriorities:
    """Priorities (1-254) and check weights of the API instance. The control plane's are those of every policy."""

    bootstrap: int
    release: int
    """Added after the release of the VIP."""
    bootstrap_api_down: int
    """Added while the bootstrap VM's own API is not ready, as after each of its starts."""
    control_plane: int = 40
    load_balancer: int = 20
    api: int = 5
    config_server: int = 3


@dataclass(frozen=True)
class IngressPriorities:
    """Priority and check weights of the Ingress instance, as in machine-config-operator d89efd5c2.

    A node whose router is dead does not claim the VIP. A node has 30 with a ready router, and 80 if that is one of
    the default router.
    """

    node: int = 20
    router_ready: int = 10
    default_router: int = 50


API: dict[Policy, ApiPriorities] = {
    "release": ApiPriorities(bootstrap=70, release=-20, bootstrap_api_down=-20),
    "preempt": ApiPriorities(bootstrap=51, release=-1, bootstrap_api_down=-1),
}
"""A healthy control-plane node has 68; one that balances the API at least 58, of five nodes 56; any other at most 48.

`release`: the bootstrap VM has 70 (machine-config operator 1537a2234 and 2aae23b81) while its API is ready, until it
releases the VIP. Without one of both it has 50: less than every node that serves, more than every node that does not.
Without both it has 30. So the VIP moves to a node that serves, and returns by itself if the control plane dies right
after the release. `preempt`: the bootstrap VM has 51 at most, and the first node that serves takes the VIP (as up to
OpenShift 4.5, with 50). With 51, it stays between the two groups of nodes after both decrements.
"""

INGRESS = IngressPriorities()

GIVES_UP = -254
"""In place of `release`: keepalived claims no VIP while this number is in its track file (keepalived.conf(5))."""


def _checksum(text: str) -> int:
    """Return the Fletcher checksum (two 4-bit sums modulo 15), as baremetal-runtimecfg does since 4b33d949 (2019)."""
    low = high = 0
    for byte in text.encode("ascii"):
        low = (low + byte) % 15
        high = (high + low) % 15
    return high << 4 | low


def derived_vrids(cluster_name: str) -> DerivedVrids:
    """Return the VRIDs of a cluster. They begin at 1, because keepalived rejects 0.

    baremetal-runtimecfg knows those of API and Ingress. The third is this program's, by the same checksum.
    The ids of a cluster always differ, because the suffixes differ modulo 15. Those of two clusters may clash.
    """
    return DerivedVrids(*(_checksum(f"{cluster_name}-{what}") + 1 for what in ("api", "ingress", "provision")))


def free_vrids(taken: Collection[int]) -> list[int]:
    """Return the VRIDs that are not taken, lowest first."""
    return [vrid for vrid in range(1, HIGHEST_VRID + 1) if vrid not in taken]
