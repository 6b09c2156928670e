"""The type of a BMC's address, as the parser of metal3 finds it that every openshift-install from 4.16 to 5.1 has.

Source: openshift/installer 5f2b0d3dc3, vendor/github.com/metal3-io/baremetal-operator/pkg/hardwareutils/bmc. It is
older than the one that `bmc_url` follows: it knows types that metal3 has removed since, and not `redfish-uefihttp`.
"""

import re

from cluster.values.address import parse_address
from cluster.values.go_url import GoUrl, parse_go_url

VIRTUAL_MEDIA = ("redfish-virtualmedia", "idrac-virtualmedia", "ilo5-virtualmedia", "ilo4-virtualmedia")
"""The types that need no provisioning network."""
NO_SECURE_BOOT = ("ipmi", "libvirt", "ibmc", "idrac")
_TRANSPORTS = {
    **dict.fromkeys(
        ("redfish", "ilo5-redfish", "idrac-redfish", *VIRTUAL_MEDIA[:3], "ibmc", "idrac"), ("http", "https")
    ),
    **dict.fromkeys(("ilo4", "ilo4-virtualmedia", "ilo5"), ("https",)),
    **dict.fromkeys(("ipmi", "libvirt", "irmc"), ()),
}
_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_NAME = re.compile(rf"(?:{_LABEL}\.)*{_LABEL}", re.ASCII)
_HOST_AND_PORT = re.compile(r"(?:\[[^\[\]]*\]|[^:\[\]]*):[^:\[\]]*")


def installer_type(address: str) -> str | None:
    """Return the type of an address without its transport; None if openshift-install refuses the address."""
    url = _parsed(address) if address else None
    if url is None or (url.hostname and not _NAME.fullmatch(url.hostname) and parse_address(url.hostname) is None):
        return None
    kind, plus, transport = url.scheme.partition("+")
    known = kind in _TRANSPORTS and (transport in _TRANSPORTS[kind] if plus else True)
    return kind if known else None


def _parsed(address: str) -> GoUrl | None:
    url = parse_go_url(address)
    if url is None:  # perhaps host:port
        is_host = ":" not in address or _HOST_AND_PORT.fullmatch(address)
        return GoUrl("ipmi", address, "", is_opaque=False) if is_host else None
    if url.is_opaque:
        url = parse_go_url(address.replace(":", "://", 1))
    if url and not url.scheme and not url.hostname:
        return parse_go_url(f"ipmi://{address}")
    return url
