"""The class of `ProvisionerPreflight` in the graph."""

from typing import Any

import pulumi

from providers.base.dynamic import BaremetalResource
from providers.provisioner_preflight.model import ProvisionerPreflightSpec
from providers.provisioner_preflight.provider import ProvisionerPreflightProvider


class ProvisionerPreflight(BaremetalResource, module="baremetal", name="ProvisionerPreflight"):
    """Findings on the provisioner; everything that works on it runs later."""

    libvirt_version: pulumi.Output[str | None]
    """None if the phase needs no libvirt."""
    kvm: pulumi.Output[bool | None]
    """Whether the bootstrap VM's host has KVM; None if the phase needs no libvirt."""
    warnings: pulumi.Output[list[str]]
    """Findings that did not stop `up`, one line each."""
    unseen: pulumi.Output[list[str]]
    """Things that the preflight could not probe, and why."""

    def __init__(
        self,
        name: str,
        spec: ProvisionerPreflightSpec,
        opts: pulumi.ResourceOptions | None = None,
        **later: pulumi.Input[Any],
    ) -> None:
        super().__init__(ProvisionerPreflightProvider(), name, spec, opts, **later)
