"""The class of `BootstrapVm` in the graph."""

from providers.bootstrap_vm.model import BootstrapVmSpec
from providers.bootstrap_vm.provider import BootstrapVmProvider
from providers.pulumi.dynamic import BaremetalResource


class BootstrapVm(BaremetalResource[BootstrapVmSpec], provider=BootstrapVmProvider):
    """The running bootstrap VM: its domain, overlay disk and Ignition volume."""
