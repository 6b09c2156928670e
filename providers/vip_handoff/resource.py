"""The class of `VipHandoff` in the graph."""

from typing import Any

import pulumi

from providers.pulumi.dynamic import BaremetalResource
from providers.vip_handoff.model import VipHandoffOuts, VipHandoffSpec
from providers.vip_handoff.provider import VipHandoffProvider

SUMMARY_OUTPUTS = tuple(name for name in VipHandoffOuts.model_fields if name not in ("macs", "kubeconfig"))


class VipHandoff(BaremetalResource[VipHandoffSpec], provider=VipHandoffProvider):
    """The holder of the API VIPs, and how they moved."""

    holder: pulumi.Output[str | None]
    kubeconfig: pulumi.Output[str | None]

    def summary(self) -> dict[str, pulumi.Output[Any]]:
        """Return the outputs that an operator wants to read."""
        return {name: getattr(self, name) for name in SUMMARY_OUTPUTS}
