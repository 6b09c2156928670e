"""`ProvisionerPreflight`: the provisioner has what `up` needs; everything that works on it comes later."""

from typing import Any

import pulumi

from providers.base.dynamic import BaremetalResource
from providers.provisioner_preflight.model import ProvisionerPreflightSpec
from providers.provisioner_preflight.provider import ProvisionerPreflightProvider


class ProvisionerPreflight(BaremetalResource, module="baremetal", name="ProvisionerPreflight"):
    """What was found of the provisioner."""

    libvirt_version: pulumi.Output[str | None]
    """None where the phase needs no libvirt."""
    kvm: pulumi.Output[bool | None]
    """Whether the bootstrap VM's host has KVM."""
    warnings: pulumi.Output[list[str]]
    unseen: pulumi.Output[list[str]]
    """What could not be probed, and why."""

    def __init__(
        self,
        name: str,
        spec: ProvisionerPreflightSpec,
        opts: pulumi.ResourceOptions | None = None,
        **later: pulumi.Input[Any],
    ) -> None:
        super().__init__(ProvisionerPreflightProvider(), name, spec, opts, **later)
