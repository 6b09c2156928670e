"""The class of `Machines` in the graph."""

from providers.machines.model import MachinesSpec
from providers.machines.provider import MachinesProvider
from providers.pulumi.dynamic import BaremetalResource


class Machines(BaremetalResource[MachinesSpec], provider=MachinesProvider):
    """Which machine each host is; every other resource that touches a machine runs later."""
