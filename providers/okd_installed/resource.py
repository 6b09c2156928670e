"""The class of `OkdInstalled` in the graph."""

from providers.base.dynamic import BaremetalResource
from providers.okd_installed.model import OkdInstalledSpec
from providers.okd_installed.provider import OkdInstalledProvider


class OkdInstalled(BaremetalResource[OkdInstalledSpec], provider=OkdInstalledProvider):
    """OKD's own report that its installation is complete."""
