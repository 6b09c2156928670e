"""The class of `NetworkPreflight` in the graph."""

from providers.network_preflight.model import NetworkPreflightSpec
from providers.network_preflight.provider import NetworkPreflightProvider
from providers.pulumi.dynamic import BaremetalResource


class NetworkPreflight(BaremetalResource[NetworkPreflightSpec], provider=NetworkPreflightProvider):
    """Findings on the network; everything that claims or moves a VIP runs later."""
