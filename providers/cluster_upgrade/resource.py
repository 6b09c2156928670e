"""The class of `ClusterUpgrade` in the graph."""

from providers.cluster_upgrade.model import ClusterUpgradeSpec
from providers.cluster_upgrade.provider import ClusterUpgradeProvider
from providers.pulumi.dynamic import BaremetalResource


class ClusterUpgrade(BaremetalResource[ClusterUpgradeSpec], provider=ClusterUpgradeProvider):
    """The release of OKD that a cluster in production runs."""
