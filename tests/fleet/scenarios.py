"""What the scenarios of rollouts are made of."""

from collections.abc import Awaitable, Callable

from fleet.messages import Approval, Order, Wave
from fleet.workflows import IN_PRODUCTION
from testing.rollouts import Rollouts

Scenario = Callable[[Rollouts], Awaitable[None]]
Play = Callable[[str, Scenario], None]
CHECK, PREVIEW, UP, GATE = "check", "bootstrap: preview", "bootstrap: up", "bootstrap: waits for approval"
TOO_MANY = "not started: too many of its wave have ended before production"


def order(cluster: str, *gates: str, approvals: tuple[Approval, ...] = (), notifies: bool = False) -> Order:
    """Return the order of a cluster whose site is the first word of its name."""
    return Order(cluster, cluster.partition("-")[0], "c0ffee", list(gates), list(approvals), notifies)


def wave(*orders: Order, at_a_time: int = 1, hold_at: int = 1) -> Wave:
    return Wave(list(orders), at_a_time, hold_at)


def in_production(*clusters: str) -> dict[str, str]:
    return dict.fromkeys(clusters, IN_PRODUCTION)


async def has_begun(fleet: Rollouts, cluster: str, step: str) -> bool:
    return fleet.site.begun[cluster, step] > 0
