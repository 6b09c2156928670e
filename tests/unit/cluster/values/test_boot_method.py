"""The boot method of a server, for each type of address and each boot mode."""

import pytest

from cluster.values.bmc_url import KINDS, parse_bmc_url
from cluster.values.boot_method import BootMethod

CD, IPXE, HTTP = BootMethod.VIRTUAL_CD, BootMethod.IPXE, BootMethod.UEFI_HTTP
NETWORK, DISC = (IPXE, IPXE, HTTP), (CD, CD, CD)
METHODS = {
    "redfish": NETWORK,
    "redfish-virtualmedia": DISC,
    "redfish-uefihttp": (HTTP, HTTP, HTTP),
    "idrac-redfish": NETWORK,
    "idrac-virtualmedia": DISC,
    "ilo5-redfish": NETWORK,
    "ilo5-virtualmedia": DISC,
    "ipmi": NETWORK,
    "libvirt": NETWORK,
}
"""By type: with `legacy`, which UEFI HTTP refuses later, `UEFI`, and `UEFISecureBoot`, which IPMI refuses."""


@pytest.mark.parametrize("kind", KINDS)
def test_address_and_boot_mode_decide_how_a_server_gets_its_boot_iso(kind: str) -> None:
    url = parse_bmc_url(f"{kind}://192.0.2.1")
    assert tuple(BootMethod.of(url, mode) for mode in ("legacy", "UEFI", "UEFISecureBoot")) == METHODS[kind]
