"""`VipHeld`: the Ingress VIP is held by exactly one server."""

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
    """What could not be seen of who answers it, and why; None: all was seen."""

    def __init__(
        self, name: str, spec: VipHeldSpec, opts: pulumi.ResourceOptions | None = None, **later: pulumi.Input[Any]
    ) -> None:
        super().__init__(VipHeldProvider(), name, spec, opts, **later)
