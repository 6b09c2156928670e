"""The class of `VipHeld` in the graph."""

from typing import Any

import pulumi

from providers.base.dynamic import BaremetalResource
from providers.vip_held.model import VipHeldSpec
from providers.vip_held.provider import VipHeldProvider


class VipHeld(BaremetalResource, module="baremetal", name="VipHeld"):
    """The holder of a VIP."""

    holder: pulumi.Output[str]
    """Name of the one machine that answers the VIP."""
    macs: pulumi.Output[list[str]]
    """Every MAC that answers it."""
    unproven: pulumi.Output[str | None]
    """What this machine could not see of the machines that answer the VIP, and why; None if it saw all."""

    def __init__(
        self, name: str, spec: VipHeldSpec, opts: pulumi.ResourceOptions | None = None, **later: pulumi.Input[Any]
    ) -> None:
        super().__init__(VipHeldProvider(), name, spec, opts, **later)
