"""The class of `ProvisionerPreflight` in the graph."""

from providers.base.dynamic import BaremetalResource
from providers.provisioner_preflight.model import ProvisionerPreflightSpec
from providers.provisioner_preflight.provider import ProvisionerPreflightProvider


class ProvisionerPreflight(BaremetalResource[ProvisionerPreflightSpec], provider=ProvisionerPreflightProvider):
    """Findings on the provisioner; everything that works on it runs later."""
