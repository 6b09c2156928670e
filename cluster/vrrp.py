"""VRRP numbers: the router ids that a cluster's name gives, and who outranks whom."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, NamedTuple

HIGHEST_ROUTER_ID = 255
AUTH_PASS_LENGTH = 8
"""keepalived reads no more of it (VRRP version 2, RFC 2338)."""


class RouterIds(NamedTuple):
    """virtual_router_id of each VIP, 1 to 239."""

    api: int
    ingress: int


@dataclass(frozen=True)
class ApiPriorities:
    """Priorities (1-254) and check weights of the API instance under policy `release`.

    The bootstrap outranks a healthy control-plane node until it lets go: 70 against 40 + 20 + 5 + 3 = 68
    (machine-config-operator 1537a2234 and 2aae23b81). `release`, or a dead API of its own, takes it to 50:
    below every node that has a balanced API to offer (58 and more), above every node that has none (48 and less).
    So the VIP goes where it is served, and comes back by itself if the control plane dies right after the release.
    """

    bootstrap: int = 70
    release: int = -20
    bootstrap_api_down: int = -20
    control_plane: int = 40
    load_balancer: int = 20
    api: int = 5
    config_server: int = 3


@dataclass(frozen=True)
class IngressPriorities:
    """Priority and check weight of the Ingress instance: a node with a ready router outranks one without."""

    compute: int = 20
    router_ready: int = 10


API = ApiPriorities()
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


def auth_pass(cluster_name: str, vip: Literal["api", "ingress"]) -> str:
    """What keepalived reads of `<cluster>_<vip>_vip`, by which upstream's clusters tell their adverts apart.

    Two names of 8 and more characters that begin alike have the same. What this program renders sets none: there the
    router id alone tells clusters apart.
    """
    return f"{cluster_name}_{vip}_vip"[:AUTH_PASS_LENGTH]
