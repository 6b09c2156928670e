"""`BootstrapVm`: domain, overlay disk and Ignition volume of the machine that starts a cluster."""

from typing import Any

import pulumi

from providers.base.dynamic import BaremetalResource
from providers.bootstrap_vm.model import BootstrapVmSpec
from providers.bootstrap_vm.provider import BootstrapVmProvider


class BootstrapVm(BaremetalResource, module="baremetal", name="BootstrapVm"):
    """The bootstrap VM, started and running."""

    running: pulumi.Output[bool]
    """False after `pulumi refresh` when somebody turned it off."""

    def __init__(
        self, name: str, spec: BootstrapVmSpec, opts: pulumi.ResourceOptions | None = None, **later: pulumi.Input[Any]
    ) -> None:
        super().__init__(BootstrapVmProvider(), name, spec, opts, **later)
