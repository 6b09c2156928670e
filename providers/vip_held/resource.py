"""The class of `VipHeld` in the graph."""

from providers.pulumi.dynamic import BaremetalResource
from providers.vip_held.model import VipHeldSpec
from providers.vip_held.provider import VipHeldProvider


class VipHeld(BaremetalResource[VipHeldSpec], provider=VipHeldProvider):
    """The holder of a VIP."""
