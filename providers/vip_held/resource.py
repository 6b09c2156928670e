"""`VipHeld`: the Ingress VIP is held by exactly one compute server."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi.dynamic import Resource

from providers.vip_held.provider import VipHeldProvider


@dataclass(frozen=True, kw_only=True)
class VipHeldArgs:
    """Inputs of `VipHeld`."""

    vip: str
    nodes: Mapping[str, str]
    """Address of each machine that may hold it, by name."""
    deadline_s: float
    urn: pulumi.Input[str]


OUTPUTS = ("holder", "macs", "unproven")


class VipHeld(Resource, module="baremetal", name="VipHeld"):
    """The holder of a VIP."""

    holder: pulumi.Output[str]
    """Name of the one machine that answers the VIP."""
    macs: pulumi.Output[list[str]]
    """Every MAC that answers it."""
    unproven: pulumi.Output[str | None]
    """What could not be seen of who answers it, and why; None: all was seen."""

    def __init__(self, name: str, args: VipHeldArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(VipHeldProvider(), name, {**vars(args), **dict.fromkeys(OUTPUTS)}, opts)
