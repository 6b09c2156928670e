"""The class of `VipHandoff` in the graph."""

from typing import Any

import pulumi

from providers.base.dynamic import BaremetalResource
from providers.vip_handoff.model import VipHandoffOuts, VipHandoffSpec
from providers.vip_handoff.provider import VipHandoffProvider

FOR_PEOPLE = tuple(name for name in VipHandoffOuts.model_fields if name not in ("macs", "kubeconfig"))


class VipHandoff(BaremetalResource, module="baremetal", name="VipHandoff"):
    """The holder of the API VIPs, and how they moved; `VipHandoffOuts` documents each output."""

    holder: pulumi.Output[str | None]
    mac: pulumi.Output[str | None]
    macs: pulumi.Output[list[str]]
    unproven: pulumi.Output[str | None]
    completion: pulumi.Output[str | None]
    gap_ms: pulumi.Output[int | None]
    gap_at_s: pulumi.Output[float | None]
    probes_sent: pulumi.Output[int]
    probes_failed: pulumi.Output[int]
    seconds: pulumi.Output[dict[str, float]]
    timeline: pulumi.Output[list[dict[str, Any]]]
    holders: pulumi.Output[list[dict[str, Any]]]
    clients: pulumi.Output[dict[str, Any]]
    kubeconfig: pulumi.Output[str | None]

    def __init__(
        self, name: str, spec: VipHandoffSpec, opts: pulumi.ResourceOptions | None = None, **later: pulumi.Input[Any]
    ) -> None:
        secret = pulumi.ResourceOptions(additional_secret_outputs=["kubeconfig"])
        super().__init__(VipHandoffProvider(), name, spec, pulumi.ResourceOptions.merge(opts, secret), **later)

    def summary(self) -> dict[str, pulumi.Output[Any]]:
        """Return the outputs that an operator wants to read."""
        return {name: getattr(self, name) for name in FOR_PEOPLE}
