"""VRRP numbers: the router ids that a cluster's name gives, and who outranks whom."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, NamedTuple

HIGHEST_ROUTER_ID = 255


class RouterIds(NamedTuple):
    """virtual_router_id of each VIP, 1 to 239."""

    api: int
    ingress: int


Policy = Literal["release", "preempt"]
"""What moves the API VIP to the control plane: the bootstrap's word, or a node that is ready."""


@dataclass(frozen=True)
class ApiPriorities:
    """Priorities (1-254) and check weights of the API instance; the control plane's are those of every policy."""

    bootstrap: int
    release: int
    """Added once the bootstrap was told to let go."""
    bootstrap_api_down: int
    """Added while the bootstrap's own API, once ready, is ready no more."""
    control_plane: int = 40
    load_balancer: int = 20
    api: int = 5
    config_server: int = 3


@dataclass(frozen=True)
class IngressPriorities:
    """Priority and check weights of the Ingress instance, as machine-config-operator d89efd5c2 has them.

    A node whose router is dead takes no part; 30 with a ready router, 80 when that is one of the default router.
    """

    node: int = 20
    router_ready: int = 10
    default_router: int = 50


API: dict[Policy, ApiPriorities] = {
    "release": ApiPriorities(bootstrap=70, release=-20, bootstrap_api_down=-20),
    "preempt": ApiPriorities(bootstrap=51, release=-1, bootstrap_api_down=-1),
}
"""A healthy control-plane node has 68, one with a balanced API to offer 58 and more, one without 48 and less.

`release`: the bootstrap has 70 (machine-config-operator 1537a2234 and 2aae23b81) until it lets go or its API is gone,
then 50: below every node that serves, above every one that does not. So the VIP goes where it is served, and comes
back by itself if the control plane dies right after the release. `preempt`: it is between the two from the start, and
the first node that serves takes the VIP (as up to OpenShift 4.5, with 50; with 51 both steps down stay between).
"""

INGRESS = IngressPriorities()


def _checksum(text: str) -> int:
    """Fletcher checksum over two 4-bit sums modulo 15, as baremetal-runtimecfg computes it since 4b33d949 (2019)."""
    low = high = 0
    for byte in text.encode("ascii"):
        low = (low + byte) % 15
        high = (high + low) % 15
    return high << 4 | low


def router_ids(cluster_name: str) -> RouterIds:
    """Router ids of a cluster; the plus one keeps 0 out, which keepalived rejects.

    The two of one cluster always differ (the suffixes differ modulo 15); two clusters on one segment may clash.
    """
    return RouterIds(_checksum(f"{cluster_name}-api") + 1, _checksum(f"{cluster_name}-ingress") + 1)


def free_router_ids(taken: Collection[int]) -> list[int]:
    """Router ids that nobody has, lowest first."""
    return [each for each in range(1, HIGHEST_ROUTER_ID + 1) if each not in taken]
