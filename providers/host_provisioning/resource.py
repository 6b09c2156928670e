"""Face of `HostProvisioning`."""

from typing import Any

import pulumi

from providers.base.dynamic import BaremetalResource
from providers.host_provisioning.model import HostProvisioningSpec
from providers.host_provisioning.provider import HostProvisioningProvider


class HostProvisioning(BaremetalResource, module="baremetal", name="HostProvisioning"):
    """The installation of one role's hosts. Installed once: a changed input applies to hosts installed later."""

    installed: pulumi.Output[dict[str, dict[str, str]]]
    """By host: `uuid`, `iso_sha256` (empty: found installed, adopted) and `at`, in UTC."""
    steps: pulumi.Output[dict[str, dict[str, Any]]]
    """By host: seconds spent in each step."""
    requests: pulumi.Output[dict[str, int]]
    """By host: requests sent to its BMC."""

    def __init__(
        self,
        name: str,
        spec: HostProvisioningSpec,
        opts: pulumi.ResourceOptions | None = None,
        **later: pulumi.Input[Any],
    ) -> None:
        super().__init__(HostProvisioningProvider(), name, spec, opts, **later)
