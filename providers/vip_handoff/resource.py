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
    vip: str
    domain: str
    bootstrap_name: str
    bootstrap_mac: str
    nodes: Mapping[str, str]
    """Address of each control-plane node, by name."""
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


class VipHandoff(Resource, module="baremetal", name="VipHandoff"):
    """The API VIP's holder."""

    holder: pulumi.Output[str]
    """Name of the one machine that answers the VIP."""
    macs: pulumi.Output[list[str]]
    """Every MAC that answers it."""
    timeline: pulumi.Output[list[dict[str, Any]]]
    """States of the last move, each with the second it began at."""
    felt: pulumi.Output[dict[str, Any]]
    """What a client of the VIP met during the move: attempts, failures, longest gap in ms."""

    def __init__(self, name: str, args: VipHandoffArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        outs = {"holder": None, "macs": None, "timeline": None, "felt": None}
        super().__init__(VipHandoffProvider(), name, {**vars(args), **outs}, opts)
