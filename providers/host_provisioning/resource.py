"""The class of `HostProvisioning` in the graph."""

from typing import Any

import pulumi

from providers.base.dynamic import BaremetalResource
from providers.host_provisioning.model import HostProvisioningSpec
from providers.host_provisioning.provider import HostProvisioningProvider


class HostProvisioning(BaremetalResource, module="baremetal", name="HostProvisioning"):
    """The installation of one role's hosts. A changed input applies only to hosts that are installed later."""

    installed: pulumi.Output[dict[str, dict[str, str]]]
    """By host: `uuid`, `iso_sha256` (empty if found installed and adopted) and `at`, in UTC."""
    disks: pulumi.Output[dict[str, str]]
    """By host: the disk that its live system chose."""
    steps: pulumi.Output[dict[str, dict[str, Any]]]
    """By host: seconds spent in each step."""
    requests: pulumi.Output[dict[str, int]]
    """By host: number of requests sent to its BMC."""
    approved: pulumi.Output[dict[str, list[dict[str, str]]]]
    """By host: `request`, `signer` and `at` of each certificate request that was approved."""

    def __init__(
        self,
        name: str,
        spec: HostProvisioningSpec,
        opts: pulumi.ResourceOptions | None = None,
        **later: pulumi.Input[Any],
    ) -> None:
        super().__init__(HostProvisioningProvider(), name, spec, opts, **later)
