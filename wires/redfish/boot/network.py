"""How else than by a virtual CD a BMC says that its server can get to a boot ISO."""

from collections.abc import Mapping
from typing import Any

from cluster.values.bmc_url import UEFI_HTTP
from wires.bmc.client import HTTP, PXE

ALLOWED = "BootSourceOverrideTarget@Redfish.AllowableValues"
HTTP_BOOT_URI = "HttpBootUri"
OVER_PXE = "redfish, if the cluster has a provisioning network and the host no Secure Boot"


def network_types(boot: Mapping[str, Any]) -> list[str]:
    """Return the types of bmc.address with which a server of this `Boot` boots from the network."""
    targets = boot.get(ALLOWED) or ()
    types = [UEFI_HTTP] if HTTP in targets and HTTP_BOOT_URI in boot else []
    return types + ([OVER_PXE] if PXE in targets else [])


def or_by(fix: str, types: list[str], *, joint: str = ", or") -> str:
    """Return a fix with the types of bmc.address that do, too; as it is if there are none."""
    return f"{fix}{joint} begin bmc.address with {', or '.join(types)}" if types else fix
