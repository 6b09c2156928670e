"""`VipHandoff`: it owns nothing, and stands for who holds the API VIP."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi.dynamic import Resource

from providers.vip_handoff.provider import VipHandoffProvider


@dataclass(frozen=True, kw_only=True)
class VipHandoffArgs:
    """Inputs of `VipHandoff`; between the phases they differ in `phase` alone. Times are in seconds."""

    phase: str
    import_production: bool
    vips: tuple[str, ...]
    """One, or one of each family."""
    domain: str
    bootstrap_name: str
    bootstrap_mac: str
    nodes: Mapping[str, str]
    """Address of each control-plane node, by name."""
    min_ready: int
    """How many of them must be ready before the VIPs are let go."""
    libvirt_uri: str
    stack: str
    payload_sha256: str
    """Of master.ign, which carries the CA of the API."""
    stable_s: float
    soak_s: float
    deadline_s: float
    bootstrap_s: float
    shutdown_s: float
    urn: pulumi.Input[str]


OUTPUTS = (
    "holder",
    "mac",
    "macs",
    "unproven",
    "completion",
    "gap_ms",
    "gap_at_s",
    "probes_sent",
    "probes_failed",
    "seconds",
    "timeline",
    "holders",
    "felt",
)
FOR_PEOPLE = tuple(name for name in OUTPUTS if name != "macs")


class VipHandoff(Resource, module="baremetal", name="VipHandoff"):
    """The API VIPs' holder. What tells of the move is empty in phase `bootstrap`, and stays after it."""

    holder: pulumi.Output[str | None]
    """Name of the one machine that answers all VIPs; None: nobody, several, or a stranger (seen by a refresh)."""
    mac: pulumi.Output[str | None]
    """Its MAC."""
    macs: pulumi.Output[list[str]]
    """Every MAC that answers them."""
    unproven: pulumi.Output[str | None]
    """What could not be seen of who answers them, and why; None: all was seen."""
    completion: pulumi.Output[str | None]
    """What the payload itself said before the VM was let go: `complete`, or why it was not asked."""
    gap_ms: pulumi.Output[int | None]
    """Longest time between two successive connects through a VIP during the move, in ms."""
    gap_at_s: pulumi.Output[float | None]
    """The second that it began at."""
    probes_sent: pulumi.Output[int]
    """TCP connects and HTTPS requests through the VIPs during the move."""
    probes_failed: pulumi.Output[int]
    """Those that failed, after one immediate retry where the connection was broken in flight."""
    seconds: pulumi.Output[dict[str, float]]
    """How long each state took."""
    timeline: pulumi.Output[list[dict[str, Any]]]
    """States of the last move: `state`, and `at_s`, the second it began at."""
    holders: pulumi.Output[list[dict[str, Any]]]
    """Who was seen to hold the VIPs meanwhile: `holder`, and `at_s`, the second it was first seen at."""
    felt: pulumi.Output[dict[str, Any]]
    """What clients of the VIPs met during the move, counted; `problems` has the first few in words."""

    def __init__(self, name: str, args: VipHandoffArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(VipHandoffProvider(), name, {**vars(args), **dict.fromkeys(OUTPUTS)}, opts)

    def summary(self) -> dict[str, pulumi.Output[Any]]:
        """What people want to know of the move."""
        return {name: getattr(self, name) for name in FOR_PEOPLE}
