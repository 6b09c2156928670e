"""The class of `HostProvisioning` in the graph."""

import pulumi

from providers.host_provisioning.model import HostProvisioningSpec
from providers.host_provisioning.provider import HostProvisioningProvider
from providers.pulumi.dynamic import BaremetalResource


class HostProvisioning(BaremetalResource[HostProvisioningSpec], provider=HostProvisioningProvider):
    """The installation of one role's hosts. A changed input applies only to hosts that are installed later."""

    installed: pulumi.Output[dict[str, dict[str, str]]]
    disks: pulumi.Output[dict[str, str]]
    steps: pulumi.Output[dict[str, dict[str, float]]]
    approved: pulumi.Output[dict[str, list[dict[str, str]]]]
