"""The class of `ClusterPower` in the graph."""

from providers.cluster_power.model import ClusterPowerSpec
from providers.cluster_power.provider import ClusterPowerProvider
from providers.pulumi.dynamic import BaremetalResource


class ClusterPower(BaremetalResource[ClusterPowerSpec], provider=ClusterPowerProvider):
    """Whether the cluster runs or sleeps. Its update switches servers off, or on, before any other asks them."""
