"""The class of `NetworkPreflight` in the graph."""

from typing import Any

import pulumi

from providers.base.dynamic import BaremetalResource
from providers.network_preflight.model import NetworkPreflightSpec
from providers.network_preflight.provider import NetworkPreflightProvider


class NetworkPreflight(BaremetalResource, module="baremetal", name="NetworkPreflight"):
    """Findings on the network; everything that claims or moves a VIP runs later."""

    warnings: pulumi.Output[list[str]]
    """Findings that did not stop `up`, one line each."""
    unseen: pulumi.Output[list[str]]
    """Things that the preflight could not probe, and why."""

    def __init__(
        self,
        name: str,
        spec: NetworkPreflightSpec,
        opts: pulumi.ResourceOptions | None = None,
        **later: pulumi.Input[Any],
    ) -> None:
        super().__init__(NetworkPreflightProvider(), name, spec, opts, **later)
