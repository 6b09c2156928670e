"""`NetworkPreflight`: no VIP of ours is anybody else's."""

from typing import Any

import pulumi

from providers.base.dynamic import BaremetalResource
from providers.network_preflight.model import NetworkPreflightSpec
from providers.network_preflight.provider import NetworkPreflightProvider


class NetworkPreflight(BaremetalResource, module="baremetal", name="NetworkPreflight"):
    """What was found of the network; everything that claims or moves a VIP comes later."""

    warnings: pulumi.Output[list[str]]
    unseen: pulumi.Output[list[str]]
    """What could not be probed, and why."""

    def __init__(
        self,
        name: str,
        spec: NetworkPreflightSpec,
        opts: pulumi.ResourceOptions | None = None,
        **later: pulumi.Input[Any],
    ) -> None:
        super().__init__(NetworkPreflightProvider(), name, spec, opts, **later)
