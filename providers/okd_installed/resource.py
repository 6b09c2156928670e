"""The class of `OkdInstalled` in the graph."""

from providers.okd_installed.model import OkdInstalledSpec
from providers.okd_installed.provider import OkdInstalledProvider
from providers.pulumi.dynamic import BaremetalResource


class OkdInstalled(BaremetalResource[OkdInstalledSpec], provider=OkdInstalledProvider):
    """OKD's own report that its installation is complete."""
