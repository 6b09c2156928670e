"""The class of `ProvisionerPreflight` in the graph."""

from providers.provisioner_preflight.model import ProvisionerPreflightSpec
from providers.provisioner_preflight.provider import ProvisionerPreflightProvider
from providers.pulumi.dynamic import BaremetalResource


class ProvisionerPreflight(BaremetalResource[ProvisionerPreflightSpec], provider=ProvisionerPreflightProvider):
    """Findings on the provisioner; everything that works on it runs later."""
