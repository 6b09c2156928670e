"""The class of `BootstrapVm` in the graph."""

from typing import Any

import pulumi

from providers.base.dynamic import BaremetalResource
from providers.bootstrap_vm.model import BootstrapVmSpec
from providers.bootstrap_vm.provider import BootstrapVmProvider


class BootstrapVm(BaremetalResource, module="baremetal", name="BootstrapVm"):
    """The running bootstrap VM: its domain, overlay disk and Ignition volume."""

    running: pulumi.Output[bool]
    """False if `pulumi refresh` found it switched off."""

    def __init__(
        self, name: str, spec: BootstrapVmSpec, opts: pulumi.ResourceOptions | None = None, **later: pulumi.Input[Any]
    ) -> None:
        super().__init__(BootstrapVmProvider(), name, spec, opts, **later)
