"""The class of `BootstrapVm` in the graph."""

from providers.base.dynamic import BaremetalResource
from providers.bootstrap_vm.model import BootstrapVmSpec
from providers.bootstrap_vm.provider import BootstrapVmProvider


class BootstrapVm(BaremetalResource[BootstrapVmSpec], provider=BootstrapVmProvider):
    """The running bootstrap VM: its domain, overlay disk and Ignition volume."""
